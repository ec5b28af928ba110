import LedgerCore
import Pipeline
import Reporting

/// `retry [JOB]`: makes what failed due now.
struct RetryCommand {
  private let site: Site
  private let console: Console
  private let job: String?
  private let codes: Set<String>?

  init(_ parsed: ParsedArguments, _ environment: [String: String], _ console: Console)
    throws(UsageError)
  {
    self.console = console
    site = try Site(parsed, environment)
    job = parsed.operands.first
    codes = parsed.value("--code").map { text in
      Set(text.split(separator: ",").map { String($0.trimmingPrefix(" ")) })
    }
  }

  func execute() async throws -> ExitCode {
    let keeper = try await site.openToKeep()
    let all = try await keeper.ledger.jobs()
    let chosen = all.filter { job == nil || $0.name == job }
    if let job, chosen.isEmpty { throw site.noJob(job) }
    var count = 0
    for job in chosen {
      count += try await keeper.ledger.retryFailed(job: job.number, codes: codes)
    }
    await keeper.ledger.close()
    console.print(["\(counted(count, "failed item")) due now"])
    return .well
  }
}
