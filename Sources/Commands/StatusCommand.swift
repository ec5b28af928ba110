import Glibc
import LedgerCore
import Reporting
import Storage
import Threading
import Vocabulary

/// `status [JOB]`: what is known now; `--watch`: again and again, until it is stopped.
struct StatusCommand {
  let call: Invocation

  /// Between two looks.
  private static let interval: Duration = .seconds(2)

  func execute() async throws -> ExitCode {
    try await show()
    guard call.parsed.has("--watch") else { return .well }
    // A signal ends it as well: nothing is under way here.
    while !call.console.isReaderGone {
      try await SystemSleeper().sleep(for: Self.interval)
      try await show()
    }
    return .well
  }

  private func show() async throws {
    // Opened anew for each look: the root may be emptied or replaced meanwhile.
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
    call.console.print(call.parsed.has("--json") ? [report.json] : page(report.lines))
  }

  /// On a terminal each look takes the place of the one before; elsewhere an empty line parts them.
  private func page(_ lines: [String]) -> [String] {
    guard call.parsed.has("--watch") else { return lines }
    guard isatty(STDOUT_FILENO) == 1 else { return lines + [""] }
    return ["\u{1B}[H\u{1B}[J" + (lines.first ?? "")] + lines.dropFirst()
  }
}
