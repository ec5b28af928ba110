import LedgerCore
import Vocabulary

/// What a root knows now, in words and for scripts.
package struct StatusReport: Sendable {
  private let status: LedgerStatus
  private let root: String
  private let now: Timestamp

  package init(_ status: LedgerStatus, root: String, at now: Timestamp) {
    self.status = status
    self.root = root
    self.now = now
  }

  package var json: String {
    JSONText.object([
      ("schema", .number(1)),
      ("root", .string(root)),
      ("jobs", .array(status.jobs.map(Self.json))),
      (
        "objects",
        .object([
          ("count", .number(status.objectCount)), ("bytes", .number(status.objectBytes)),
        ])
      ),
      (
        "queue",
        .object([
          ("pending", .number(status.queuePending)), ("leased", .number(status.queueLeased)),
          ("expired", .number(status.queueExpired)), ("dead", .number(status.queueDead)),
        ])
      ),
      ("hosts", .array(status.hosts.map(\.json))),
      ("next_expiry", .time(status.nextExpiry)),
    ]).text
  }

  private static func json(_ job: LedgerStatus.Job) -> JSONText {
    .object([
      ("name", .string(job.name)), ("items", .number(job.items)), ("fresh", .number(job.fresh)),
      ("stale", .number(job.stale)), ("failed", .number(job.failed)),
      ("dead", .number(job.dead)),
      ("not_stored", .number(job.notStored)), ("pending", .number(job.pending)),
      ("last_run", .time(job.lastRun)),
    ])
  }

  package var lines: [String] {
    var lines = [
      "\(root): \(counted(status.objectCount, "object")), "
        + "\(ByteSizeText.format(status.objectBytes))"
    ]
    if status.jobs.isEmpty { lines.append("no job was run here yet") }
    for job in status.jobs {
      var parts = ["\(job.fresh) fresh", "\(job.stale) stale", "\(job.failed) failed"]
      if job.pending > 0 { parts.append("\(job.pending) pending") }
      if job.notStored > 0 { parts.append("\(job.notStored) not stored") }
      lines.append(
        "\(job.name): \(counted(job.items, "item")): \(parts.joined(separator: ", "))"
          + (job.lastRun.map { "; last run \($0)" } ?? ""))
    }
    lines.append(
      "queue: \(status.queuePending) due, \(status.queueLeased) leased"
        + (status.queueExpired > 0 ? ", \(status.queueExpired) left by dead workers" : "")
        + (status.queueDead > 0 ? ", \(status.queueDead) dead" : ""))
    lines += status.hosts.map { $0.line(at: now) }
    if let next = status.nextExpiry { lines.append("next expiry: \(next)") }
    return lines
  }
}
