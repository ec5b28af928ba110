import Glibc
import Testing
import Threading

@Suite struct `Batch scheduling` {
  @Test(arguments: [(SCHED_OTHER, BatchScheduling.policy), (5, 5)])  // SCHED_IDLE
  func `is begun by a thread that is scheduled like most, and by no other`(
    _ before: CInt, _ expected: CInt
  ) async {
    let after = await withCheckedContinuation { continuation in
      _ = OwnedThread(name: "test-schedule") {
        var parameter = sched_param()
        _ = sched_setscheduler(0, before, &parameter)
        BatchScheduling.begin()
        continuation.resume(returning: sched_getscheduler(0))
      }
    }
    #expect(after == expected)
  }
}
