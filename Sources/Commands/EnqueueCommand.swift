import LedgerCore
import Pipeline
import Reporting
import Vocabulary

/// `enqueue MANIFEST…`: puts jobs on the queue and returns.
struct EnqueueCommand {
  private let parsed: ParsedArguments
  private let environment: [String: String]
  private let console: Console
  private let site: Site

  init(_ parsed: ParsedArguments, _ environment: [String: String], _ console: Console)
    throws(UsageError)
  {
    self.parsed = parsed
    self.environment = environment
    self.console = console
    site = try Site(parsed, environment)
  }

  func execute() async throws -> ExitCode {
    let reread = parsed.has("--reread")
    guard
      let sources = await jobSources(parsed.operands, site, reread: reread, environment, console)
    else { return .usage }
    let keeper = try await site.openToEnqueue()
    for source in sources {
      try await keeper.enqueue(source, reread: reread)
      let job = try await keeper.ledger.job(named: source.settings.name)
      console.print(["\(source.settings.name): \(counted(job?.items ?? 0, "item")) on the queue"])
    }
    await keeper.ledger.close()
    return .well
  }
}
