import LedgerCore
import Synchronization
import Vocabulary

/// Which jobs a worker has under way, and which it leaves alone for a while. Times are the sleeper's.
final class WorkState: Sendable {
  private struct Held {
    var active: Set<JobNumber> = []
    var pausedUntil: [JobNumber: Duration] = [:]
    var failures: [JobNumber: FailureRecord] = [:]
  }

  private let held = Mutex(Held())

  var isIdle: Bool { held.withLock { $0.active.isEmpty } }
  var failures: [FailureRecord] { held.withLock { Array($0.failures.values) } }

  func mayBegin(_ job: JobNumber, at now: Duration) -> Bool {
    held.withLock { held in
      !held.active.contains(job) && held.pausedUntil[job].map { now >= $0 } ?? true
    }
  }

  func begin(_ job: JobNumber) -> Bool {
    held.withLock { $0.active.insert(job).inserted }
  }

  /// - Parameter failure: why it could not be worked on to its end.
  func end(_ job: JobNumber, _ failure: FailureRecord?, pausedUntil time: Duration) {
    held.withLock { held in
      held.active.remove(job)
      held.failures[job] = failure
      held.pausedUntil[job] = failure == nil ? nil : time
    }
  }

  /// Whether the job did not fail for that reason the last time.
  func isNews(_ job: JobNumber, _ failure: FailureRecord) -> Bool {
    held.withLock { $0.failures[job] != failure }
  }
}
