import Vocabulary

/// Why a run cannot go on.
package struct RunStop: WorkerFailure {
  package var failure: FailureRecord

  package var code: String { failure.code }
  package var message: String { failure.message }
  package var hint: String { failure.hint }
  package var disposition: Disposition { failure.disposition }

  init(_ error: any Error) {
    if let stop = error as? RunStop {
      self = stop
    } else if let failure = error as? any WorkerFailure {
      self.failure = FailureRecord(failure)
    } else {
      self.failure = .unexpected(error)
    }
  }
}

extension FailureRecord {
  /// An error that no stage declares: a fault of ours, shown rather than swallowed.
  static func unexpected(_ error: any Error) -> FailureRecord {
    FailureRecord(
      code: "internal", message: "unexpected \(type(of: error)): \(error)",
      hint: "this is a fault of thumbworker's: please report it", disposition: .giveUp)
  }
}
