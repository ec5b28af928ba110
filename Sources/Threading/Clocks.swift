import Glibc
import Synchronization

/// Wall-clock time as milliseconds since 1970, for HTTP dates and the ledger.
///
/// A closure, so that a test can hold it still; pure code takes the time as an argument instead.
package struct WallClock: Sendable {
  package let milliseconds: @Sendable () -> Int64

  package init(milliseconds: @escaping @Sendable () -> Int64) { self.milliseconds = milliseconds }

  package static let system = WallClock {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }
}

/// Time that never goes back, for waits, deadlines and backoff.
///
/// `Sleeper` waits on it; a test's sleeper moves when it is told to.
package protocol Sleeper: Sendable {
  /// Since an arbitrary start.
  var now: Duration { get }
  func sleep(until deadline: Duration) async throws(CancellationError)
}

extension Sleeper {
  package func sleep(for duration: Duration) async throws(CancellationError) {
    try await sleep(until: now + duration)
  }
}

package struct SystemSleeper: Sleeper {
  private static let start = ContinuousClock.now

  /// Its first look at the time is zero or more: the start is taken here.
  package init() { _ = Self.start }

  package var now: Duration { ContinuousClock.now - Self.start }

  package func sleep(until deadline: Duration) async throws(CancellationError) {
    do {
      try await Task.sleep(until: Self.start + deadline, clock: .continuous)
    } catch {
      throw CancellationError()  // the only error that Task.sleep throws
    }
  }
}
