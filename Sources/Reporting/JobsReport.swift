import LedgerCore

/// The jobs of a root, in words and for scripts.
package struct JobsReport: Sendable {
  private let jobs: [JobOverview]

  package init(_ jobs: [JobOverview]) { self.jobs = jobs }

  package var json: String {
    JSONText.array(
      jobs.map { job in
        .object([
          ("name", .string(job.name)), ("items", .number(job.items)),
          ("paused", .bool(job.isPaused)), ("last_run", .time(job.lastRun)),
        ])
      }
    ).text
  }

  package var lines: [String] {
    if jobs.isEmpty { return ["there are no jobs"] }
    return jobs.map { job in
      "\(job.name): \(counted(job.items, "item"))"
        + (job.lastRun.map { "; last run \($0)" } ?? "; never run to its end")
        + (job.isPaused ? "; paused" : "")
    }
  }
}
