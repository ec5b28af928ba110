import LedgerCore
import Pipeline
import Reporting
import Vocabulary

/// `enqueue MANIFEST…`: puts jobs on the queue and returns.
struct EnqueueCommand {
  let call: Invocation

  func execute() async throws -> ExitCode {
    let reread = call.parsed.has("--reread")
    guard
      let sources = await jobSources(
        call.parsed.operands, call.site, reread: reread, call.environment, call.console)
    else { return .usage }
    let keeper = try await call.site.openToEnqueue()
    for source in sources {
      try await keeper.enqueue(source, reread: reread)
      let job = try await keeper.ledger.job(named: source.settings.name)
      call.console.print([
        "\(source.settings.name): \(counted(job?.items ?? 0, "item")) on the queue"
      ])
    }
    await keeper.ledger.close()
    return .well
  }
}
