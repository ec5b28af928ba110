import LedgerCore
import Reporting
import Storage
import Threading
import Vocabulary

/// `status [JOB]`: what is known now.
struct StatusCommand {
  let call: Invocation

  func execute() async throws -> ExitCode {
    let ledger = try await call.site.ledgerToRead()
    let now = Timestamp(milliseconds: WallClock.system.milliseconds())
    var status =
      try await ledger?.status(at: now)
      ?? LedgerStatus(
        jobs: [], objectCount: 0, objectBytes: 0, queuePending: 0, queueLeased: 0, queueDead: 0,
        nextExpiry: nil)
    await ledger?.close()
    if let job = call.parsed.operands.first {
      status.jobs.removeAll { $0.name != job }
      guard !status.jobs.isEmpty else {
        throw call.site.noJob(job)
      }
    }
    let report = StatusReport(status, root: call.site.layout.root, at: now)
    call.console.print(call.parsed.has("--json") ? [report.json] : report.lines)
    return .well
  }
}
