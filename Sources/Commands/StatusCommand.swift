import LedgerCore
import Reporting
import Storage
import Threading
import Vocabulary

/// `status [JOB]`: what is known now.
struct StatusCommand {
  private let parsed: ParsedArguments
  private let site: Site
  private let console: Console

  init(_ parsed: ParsedArguments, _ environment: [String: String], _ console: Console)
    throws(UsageError)
  {
    self.parsed = parsed
    self.console = console
    site = try Site(parsed, environment)
  }

  func execute() async throws -> ExitCode {
    let ledger = try await site.ledgerToRead()
    var status =
      try await ledger?.status(at: Timestamp(milliseconds: WallClock.system.milliseconds()))
      ?? LedgerStatus(
        jobs: [], objectCount: 0, objectBytes: 0, queuePending: 0, queueLeased: 0, queueDead: 0,
        nextExpiry: nil)
    await ledger?.close()
    if let job = parsed.operands.first {
      status.jobs.removeAll { $0.name != job }
      guard !status.jobs.isEmpty else {
        throw site.noJob(job)
      }
    }
    let report = StatusReport(status, root: site.layout.root)
    console.print(parsed.has("--json") ? [report.json] : report.lines)
    return .well
  }
}
