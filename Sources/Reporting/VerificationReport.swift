import LedgerCore
import Pipeline
import Vocabulary

/// What `verify` found, in words and for scripts.
package struct VerificationReport: Sendable {
  private let summary: VerificationSummary
  private let rule: VerificationRule

  package init(_ summary: VerificationSummary, rule: VerificationRule) {
    self.summary = summary
    self.rule = rule
  }

  package static func line(_ finding: Finding) -> String {
    switch finding {
    case .damaged(let digest, nil): "object \(digest) is damaged"
    case .damaged(let digest, let place?): "object \(digest) is damaged: moved to \(place)"
    case .missing(let digest): "object \(digest) is missing"
    case .name(let job, let path): "public/\(job)/\(path) is not the link that it should be"
    case .stranger(let path): "public/\(path) is not thumbworker's"
    case .counter(let wrong):
      "counter of \(wrong.kind), \(wrong.place): kept as \(wrong.kept), counted \(wrong.counted)"
    }
  }

  package var json: String {
    JSONText.object([
      ("objects", .number(summary.objects)), ("bytes", .number(summary.bytes)),
      ("names", .number(summary.names)), ("damaged", .number(summary.damaged)),
      ("missing", .number(summary.missing)), ("broken_names", .number(summary.brokenNames)),
      ("strangers", .number(summary.strangers)),
      ("wrong_counters", .number(summary.wrongCounters)), ("repaired", .bool(rule.repairs)),
      ("items_made_due", .number(summary.itemsMadeDue)),
      ("names_linked", .number(summary.namesLinked)),
      ("counter_kinds_mended", .number(summary.counterKindsMended)),
      ("continued", .bool(summary.isContinued)),
    ]).text
  }

  package var lines: [String] {
    var lines = [
      "\(counted(summary.objects, "object")), \(ByteSizeText.format(summary.bytes)) read"
        + (summary.isContinued ? ", going on where an earlier look had stopped" : "")
        + "; \(counted(summary.names, "published name"))"
    ]
    if summary.faults == 0 {
      lines.append("nothing is wrong")
    } else if rule.repairs {
      lines.append("\(counted(summary.faults, "fault")); \(repairs)")
    } else {
      lines.append("\(counted(summary.faults, "fault")): verify --repair mends them")
    }
    if summary.counterKindsLeft > 0 {
      lines.append(
        "\(counted(summary.counterKindsLeft, "kind")) of counters could not be put right: "
          + "what they stand in is missing")
    }
    if summary.wrongCounters > 0 {
      lines.append("wrong counters are a fault of thumbworker's: please report it")
    }
    return lines
  }

  /// A run has nothing left to do about counters.
  private var repairs: String {
    var parts: [String] = []
    if summary.faults > summary.wrongCounters {
      parts.append(
        "\(counted(summary.itemsMadeDue, "item")) made due, "
          + "\(counted(summary.namesLinked, "name")) linked again: the next run does the rest")
    }
    if summary.wrongCounters > 0 {
      parts.append("\(counted(summary.counterKindsMended, "kind")) of counters put right")
    }
    return parts.joined(separator: "; ")
  }
}
