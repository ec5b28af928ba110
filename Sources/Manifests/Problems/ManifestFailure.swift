import Vocabulary

/// Something wrong in a manifest, and where.
package struct Problem: Sendable, Hashable, CustomStringConvertible {
  /// As one would reach it in the document: `items[3].ulr`, or `line 3, column 14`; empty for the
  /// whole document.
  package var place: String
  /// What is wrong there, as a sentence without its place and without secrets.
  package var message: String

  package init(place: String, message: String) {
    self.place = place
    self.message = message
  }

  package var description: String { place.isEmpty ? message : "\(place): \(message)" }
}

/// A manifest that cannot be used: everything that is wrong with it at once.
package struct ManifestFailure: WorkerFailure, Hashable {
  /// How the reader knows the manifest: its path.
  package var source: String
  /// At most `Problems.most` of them, one or more.
  package var problems: [Problem]
  /// How many more there are.
  package var omitted: Int
  package var hint: String

  package init(source: String, problems: [Problem], omitted: Int = 0, hint: String = correctIt) {
    self.source = source
    self.problems = problems
    self.omitted = omitted
    self.hint = hint
  }

  package static let correctIt = "nothing was done: correct the manifest, then run again"

  package var code: String { "manifest" }

  /// A line for each problem, each with the manifest's name in front.
  package var message: String {
    var lines = problems.map { "\(source): \($0)" }
    if omitted > 0 {
      lines.append("\(source): and \(omitted) more \(omitted == 1 ? "problem" : "problems")")
    }
    return lines.joined(separator: "\n")
  }

  package var disposition: Disposition { .giveUp }

  func followed(by others: Problems) -> ManifestFailure {
    var all = self
    all.problems += others.kept
    all.omitted += others.count - others.kept.count
    return all
  }
}
