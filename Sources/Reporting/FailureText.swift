import Vocabulary

/// An item's failure as people see it: what, why, and what to do.
package struct FailureText: Sendable {
  package let lines: [String]

  /// - Parameter subject: the item's id, or the file or option that is at fault.
  package init(_ failure: some WorkerFailure, of subject: String? = nil) {
    let start = subject.map { "\($0): " } ?? ""
    lines =
      ["\(start)\(failure.code): \(failure.message)"]
      + (failure.hint.isEmpty ? [] : ["  \(failure.hint)"])
  }
}
