import Glibc
import Synchronization
import TestSupport
import Threading

/// Reads a file again and again on a thread of its own, as visitors of a site do.
final class ReaderLoop: Sendable {
  private struct State {
    var reads = 0
    var faults = 0
    var isStopped = false
  }

  private let state = Mutex(State())
  private let thread = Mutex<OwnedThread?>(nil)

  /// - Parameter isGood: of a read's bytes; a file that cannot be opened is a fault.
  init(of path: String, isGood: @escaping @Sendable ([UInt8]) -> Bool) {
    thread.withLock {
      $0 = OwnedThread(name: "test-reader") { [self] in
        while !state.withLock(\.isStopped) {
          let isFault = bytes(of: path).map { !isGood($0) } ?? true
          state.withLock { state in
            state.reads += 1
            if isFault { state.faults += 1 }
          }
          sched_yield()
        }
      }
    }
  }

  func stop() -> (reads: Int, faults: Int) {
    state.withLock { $0.isStopped = true }
    thread.withLock { $0 }?.join()
    return state.withLock { ($0.reads, $0.faults) }
  }
}
