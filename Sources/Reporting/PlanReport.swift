import Pipeline
import Vocabulary

/// What a run would do.
package struct PlanReport: Sendable {
  private let job: String
  private let counts: [DryRun.Plan: Int]

  package init(job: String, counts: [DryRun.Plan: Int]) {
    self.job = job
    self.counts = counts
  }

  private var items: Int { counts.values.reduce(0, +) }

  package var json: String {
    JSONText.object([
      ("job", .string(job)), ("items", .number(items)),
      (
        "plan",
        .object(DryRun.Plan.allCases.map { ($0.rawValue, .number(counts[$0, default: 0])) })
      ),
    ]).text
  }

  package var lines: [String] {
    ["\(job): \(counted(items, "item")); a run would"]
      + DryRun.Plan.allCases.compactMap { plan in
        counts[plan].map { "  \(plan.words) \($0)" }
      }
  }
}

extension DryRun.Plan {
  fileprivate var words: String {
    switch self {
    case .fresh: "leave alone, as fresh:"
    case .revalidate: "ask with validators:"
    case .fetch: "download:"
    case .rebuild: "rebuild without a request:"
    case .cooling: "leave alone, as cooling:"
    case .unusable: "refuse, for a bad URL:"
    }
  }
}
