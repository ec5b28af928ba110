import LedgerCore
import Vocabulary

extension FailureRecord {
  /// Why a run claims nothing more.
  static func calledOff(_ reason: CallOff, job: String) -> FailureRecord {
    switch reason {
    case .paused:
      FailureRecord(
        code: "paused", message: "job \(job) is paused",
        hint: "thumbworker jobs resume \(job) lets it go on", disposition: .stopRun)
    case .cancelled:
      FailureRecord(
        code: "cancelled", message: "this run of job \(job) was cancelled",
        hint: "run it again: it goes on where this one ended", disposition: .stopRun)
    }
  }
}
