import HTTPTransfer
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
        call.parsed.operands, call.site, reread: reread,
        variants: call.parsed.values["--variant"] ?? [], call.environment, call.console)
    else { return .usage }
    let (keeper, engine, fetcher) = try await call.site.openToEnqueue()
    defer { engine.stop() }
    var code = ExitCode.well
    for source in sources {
      let failures = try await keeper.enqueue(source, reread: reread, fetcher: fetcher)
      let name = source.settings.name
      let job = try await keeper.ledger.job(named: name)
      call.console.print(["\(name): \(counted(job?.items ?? 0, "item")) on the queue"])
      for failure in failures { call.console.complain(FailureText(failure, of: name).lines) }
      if !failures.isEmpty { code = .environment }
    }
    await keeper.ledger.close()
    return code
  }
}
