import Vocabulary

/// A source that could not be read to its end: what it had before is right, what comes after is not
/// known, and nothing may be taken to have left it.
package struct SourceFailure: WorkerFailure, Hashable {
  package let code = "source"
  package let message: String
  package let hint: String
  package let disposition = Disposition.giveUp

  /// - Parameters:
  ///   - source: as `SourceAddress.shown`.
  ///   - line: where it shows; nil: nowhere in particular.
  package init(
    _ source: String, line: Int? = nil, _ reason: String,
    hint: String = "its items stay as they were; correct the source, then run again"
  ) {
    message = "\(source)\(line.map { ", line \($0)" } ?? ""): \(reason)"
    self.hint = hint
  }
}

/// Why a source's text cannot be read on.
struct SourceFault: Error {
  /// Counted from 1.
  var line: Int?
  /// A sentence without its place.
  var reason: String

  /// Of a last line that is no item and has no end: the rest of it, and of the text, is rather missing.
  static func cutOff(line: Int, _ reason: String) -> SourceFault {
    SourceFault(line: line, reason: "the text ends within this line: \(reason)")
  }
}
