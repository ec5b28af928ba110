import Pipeline
import Vocabulary

/// The end of a run in words, and for scripts.
package struct SummaryReport: Sendable {
  private let summary: RunSummary

  package init(_ summary: RunSummary) { self.summary = summary }

  /// One line, as `run --json` prints it.
  package var json: String {
    JSONText.object([
      ("run", summary.run.map { .number($0) } ?? .null),
      ("job", .string(summary.job)),
      ("started", .time(summary.started)),
      ("finished", .time(summary.finished)),
      ("items", .number(summary.items)),
      (
        "outcomes",
        .object(
          Outcome.allCases.map { ($0.rawValue, .number(summary.outcomes[$0, default: 0])) })
      ),
      ("pending", .number(summary.pending)),
      ("stale_kept", .number(summary.staleKept)),
      ("requests", .number(summary.traffic.requests)),
      ("retries", .number(summary.traffic.retries)),
      ("bytes_in", .number(summary.traffic.bytesIn)),
      ("bytes_stored", .number(summary.bytesStored)),
      ("variants_made", .number(summary.variantsMade)),
      ("warnings", .number(summary.warnings)),
      ("errors", .object(sortedErrors.map { ($0.key, .number($0.value.count)) })),
      ("error_details", .array(sortedErrors.map { errorDetails($0.key, $0.value) })),
      ("failed_sources", .array(summary.sourceFailures.map { .string($0.message) })),
      ("stopped_by", .string((summary.stoppedBy ?? summary.calledOff)?.code)),
      ("interrupted", .bool(summary.isInterrupted)),
    ]).text
  }

  /// Some lines for people.
  package var lines: [String] {
    var lines = [headline]
    lines.append(
      "  \(counted(summary.traffic.requests, "request"))"
        + (summary.traffic.retries > 0
          ? " (\(counted(summary.traffic.retries, "retry", "retries")))" : "")
        + ", \(ByteSizeText.format(summary.traffic.bytesIn)) received,"
        + " \(counted(summary.variantsMade, "variant")) made,"
        + " \(ByteSizeText.format(summary.bytesStored)) stored"
        + (summary.warnings > 0 ? ", \(counted(summary.warnings, "warning"))" : ""))
    lines += remarks
    if summary.staleKept > 0 {
      let copies = counted(summary.staleKept, "stale copy", "stale copies")
      lines.append("  \(copies) of what failed \(summary.staleKept == 1 ? "serves" : "serve") on")
    }
    for (code, error) in sortedErrors { lines += errorLines(code, error) }
    for failure in summary.sourceFailures {
      lines += FailureText(failure).lines.map { "  \($0)" }
    }
    if let stop = summary.stoppedBy ?? summary.calledOff {
      lines.append("stopped: \(stop.code): \(stop.message)")
      if !stop.hint.isEmpty { lines.append("  \(stop.hint)") }
    }
    if summary.isInterrupted {
      lines.append("interrupted: what was done is kept, run again to go on")
    }
    return lines
  }

  private static let mostRemarks = 10

  /// What the warnings are about, the frequent ones first.
  private var remarks: [String] {
    let sorted = summary.remarks.sorted { ($1.value.count, $0.key) < ($0.value.count, $1.key) }
    var lines = sorted.prefix(Self.mostRemarks).map { text, remark in
      "  warning: \(text): \(counted(remark.count, "item")), such as \(remark.exampleItem)"
    }
    if sorted.count > Self.mostRemarks {
      lines.append("  and \(sorted.count - Self.mostRemarks) other kinds of warnings")
    }
    return lines
  }

  private var headline: String {
    let counts = Outcome.allCases.compactMap { outcome -> String? in
      let count = summary.outcomes[outcome, default: 0]
      return count == 0 ? nil : "\(count) \(outcome.words)"
    }
    let pending = summary.pending > 0 ? ["\(summary.pending) not reached"] : []
    let what = (counts + pending).joined(separator: ", ")
    return "\(summary.job): \(counted(summary.items, "item")) in "
      + "\(Self.words(summary.finished - summary.started))\(what.isEmpty ? "" : ": ")\(what)"
  }

  var items: Int { summary.items }

  private var sortedErrors: [(key: String, value: RunSummary.ErrorCount)] {
    summary.errors.sorted { ($1.value.count, $0.key) < ($0.value.count, $1.key) }
  }

  /// `0.4 s`, `12.3 s`, `4 min 12 s`, `2 h 5 min`.
  package static func words(_ duration: Duration) -> String {
    let ms = duration.wholeMilliseconds
    if ms < 60_000 { return "\(ms / 1000).\(ms % 1000 / 100) s" }
    if ms < 3_600_000 { return "\(ms / 60_000) min \(ms / 1000 % 60) s" }
    return "\(ms / 3_600_000) h \(ms / 60_000 % 60) min"
  }
}

extension Outcome {
  /// As a summary names it.
  package var words: String {
    switch self {
    case .notStored: "not stored"
    default: rawValue
    }
  }
}

/// "1 item", "2 items".
package func counted(_ count: Int, _ noun: String, _ plural: String? = nil) -> String {
  "\(count) \(count == 1 ? noun : plural ?? noun + "s")"
}
