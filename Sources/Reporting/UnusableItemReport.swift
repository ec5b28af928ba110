import LedgerCore
import Pipeline
import Vocabulary

/// What is known of an item that cannot be worked on: why. No entry stands behind it.
package struct UnusableItemReport: Sendable {
  private let item: ItemView

  package init(_ item: ItemView) { self.item = item }

  private var nextRun: String { "no request, until the manifest is corrected" }

  /// With the fields of `ShowReport.json`.
  package var json: String {
    let none: [JSONText] = []
    return JSONText.object([
      ("url", .string(item.shownURL)),
      ("state", .string(EntryStory.State.failed.rawValue)),
      ("status", .null), ("response_time", .null), ("fresh_until", .null), ("usable_until", .null),
      ("decided_by", .null), ("etag", .null), ("last_modified", .null), ("validated", .null),
      ("kept_until", .null), ("last_answer", .null), ("redirects", .array(none)),
      ("original", .null),
      ("placeholder", .null), ("warnings", .array(none)),
      ("variants", .array(none)), ("published", .array(none)),
      (
        "last_error",
        item.failure.map { ShowReport.lastError($0, at: nil, nextTry: nil) } ?? .null
      ),
      ("next_run", .string(nextRun)), ("jobs", .array(none)),
    ]).text
  }

  package var lines: [String] {
    var lines = ["\(item.shownURL): failed"]
    if let failure = item.failure {
      lines.append("  failed: \(failure.code): \(failure.message)")
      if !failure.hint.isEmpty { lines.append("    \(failure.hint)") }
    }
    return lines + ["  job \(item.job):", "    next run: \(nextRun)"]
  }
}
