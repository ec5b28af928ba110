import LedgerCore
import Pipeline
import Vocabulary

/// What `gc` did, in words and for scripts.
package struct CollectionReport: Sendable {
  private let summary: CollectionSummary
  private let rule: CollectionRule

  package init(_ summary: CollectionSummary, rule: CollectionRule) {
    self.summary = summary
    self.rule = rule
  }

  package static func line(_ entry: EntryOverview, _ reason: GarbageCollection.Reason) -> String {
    let size = ByteSizeText.format(entry.bytes)
    switch reason {
    case .unneeded(let since): return "\(entry.url): \(size), in no job since \(since)"
    case .overLimit(isNeeded: false): return "\(entry.url): \(size), over the limit, in no job"
    case .overLimit(isNeeded: true): return "\(entry.url): \(size), over the limit; a job needs it"
    }
  }

  package var json: String {
    JSONText.object([
      ("dry_run", .bool(rule.isDryRun)),
      ("unneeded", .number(summary.unneeded)),
      ("expired", .number(summary.expired)),
      ("evicted", .number(summary.evicted)),
      ("evicted_needed", .number(summary.evictedNeeded)),
      ("unwanted_variants", .number(summary.unwantedVariants)),
      ("expired_variants", .number(summary.expiredVariants)),
      ("orphans", .number(summary.orphans)),
      ("orphan_bytes", .number(summary.orphanBytes)),
      (
        "objects",
        .object([("count", .number(summary.objects)), ("bytes", .number(summary.bytes))])
      ),
    ]).text
  }

  package var lines: [String] {
    let verb = rule.isDryRun ? "would go" : "gone"
    var lines: [String] = []
    if summary.unneeded > 0 {
      lines.append(
        "\(counted(summary.unneeded, "entry", "entries")) in no job; \(summary.expired) of them "
          + "for \(DurationText.format(rule.retain)) or longer: \(verb)")
    }
    if summary.unwantedVariants > 0 {
      lines.append(
        "\(counted(summary.unwantedVariants, "variant")) that no job asks for; "
          + "\(summary.expiredVariants) of them for \(DurationText.format(rule.retain)) or longer: "
          + verb)
    }
    if summary.evicted > 0 {
      lines.append("\(counted(summary.evicted, "entry", "entries")) over the limit: \(verb)")
    }
    if summary.evictedNeeded > 0 {
      lines.append(
        "  \(summary.evictedNeeded) of them a job needs: raise the limit, or the next run fetches "
          + "them again")
    }
    if summary.orphans > 0 {
      lines.append(
        "\(counted(summary.orphans, "object")) that nothing referred to, "
          + "\(ByteSizeText.format(summary.orphanBytes)): \(verb)")
    }
    lines.append(
      "the store holds \(counted(summary.objects, "object")), "
        + ByteSizeText.format(summary.bytes))
    return lines
  }
}
