import LedgerCore
import Pipeline
import Reporting

/// `jobs`: lists them; `jobs pause|resume|cancel|remove JOB`.
struct JobsCommand {
  private let site: Site
  private let console: Console
  private let isJSON: Bool
  private let keepsNames: Bool
  private let order: Order

  private enum Order {
    case list
    case pause(String)
    case resume(String)
    case cancel(String)
    case remove(String)
  }

  init(_ parsed: ParsedArguments, _ environment: [String: String], _ console: Console)
    throws(UsageError)
  {
    self.console = console
    site = try Site(parsed, environment)
    isJSON = parsed.has("--json")
    keepsNames = parsed.has("--keep-names")
    order = try Self.order(parsed.operands)
  }

  private static func order(_ operands: [String]) throws(UsageError) -> Order {
    guard let verb = operands.first else { return .list }
    guard let job = operands.dropFirst().first else {
      throw UsageError(
        message: "jobs \(verb) needs a job's name", hint: "usage: thumbworker jobs \(verb) JOB")
    }
    switch verb {
    case "pause": return .pause(job)
    case "resume": return .resume(job)
    case "cancel": return .cancel(job)
    case "remove": return .remove(job)
    default:
      throw UsageError(
        message: "jobs cannot \"\(verb)\"",
        hint: nearest(to: verb, among: ["pause", "resume", "cancel", "remove"])
          .map { "did you mean \"\($0)\"?" } ?? "it can pause, resume, cancel and remove")
    }
  }

  func execute() async throws -> ExitCode {
    let keeper = try await site.openToKeep()
    switch order {
    case .list:
      let report = JobsReport(try await keeper.ledger.jobs())
      console.print(isJSON ? [report.json] : report.lines)
    case .pause(let job):
      try await expect(job, try await keeper.ledger.setPaused(true, job: job))
      console.print(["\(job) is paused: nothing of it is worked on until it is resumed"])
    case .resume(let job):
      try await expect(job, try await keeper.ledger.setPaused(false, job: job))
      console.print(["\(job) goes on"])
    case .cancel(let job):
      try await expect(job, try await keeper.ledger.cancelRuns(ofJob: job))
      console.print(["runs of \(job) begin nothing more; what is under way ends"])
    case .remove(let job):
      try await expect(job, try await keeper.removeJob(named: job, keepsNames: keepsNames))
      console.print(["\(job) is removed; gc collects its files when nothing else needs them"])
    }
    await keeper.ledger.close()
    return .well
  }

  private func expect(_ job: String, _ isKnown: Bool) async throws {
    guard isKnown else { throw site.noJob(job) }
  }
}
