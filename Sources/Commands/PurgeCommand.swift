import Hashing
import LedgerCore
import Pipeline
import Reporting
import Storage
import Vocabulary

/// `purge URL…`: forgets entries and deletes their files, and what manifests' sources among them have sent.
struct PurgeCommand {
  private let site: Site
  private let console: Console
  private let choice: Choice

  private enum Choice {
    case urls([ItemURL])
    case job(String)
    case host(String)
    case all
  }

  init(_ parsed: ParsedArguments, _ environment: [String: String], _ console: Console)
    throws(UsageError)
  {
    self.console = console
    site = try Site(parsed, environment)
    var choices: [Choice] = []
    if let job = parsed.value("--job") { choices.append(.job(job)) }
    if let host = parsed.value("--host") { choices.append(.host(host.lowercased())) }
    if parsed.has("--all") { choices.append(.all) }
    if !parsed.operands.isEmpty { choices.append(.urls(try Self.urls(parsed.operands))) }
    guard let choice = choices.first, choices.count == 1 else {
      throw UsageError(
        message: choices.isEmpty
          ? "purge needs to know what: URL…, --job, --host or --all"
          : "purge takes one of URL…, --job, --host and --all",
        hint: "thumbworker purge --help tells more")
    }
    self.choice = choice
  }

  private static func urls(_ texts: [String]) throws(UsageError) -> [ItemURL] {
    var urls: [ItemURL] = []
    for text in texts {
      do {
        urls.append(try ItemURL(text))
      } catch {
        throw UsageError(message: "\"\(text)\" is no URL: \(error.message)", hint: error.hint)
      }
    }
    return urls
  }

  func execute() async throws -> ExitCode {
    let keeper = try await site.openToKeep()
    let result = try await purge(keeper)
    let sources = try await keeper.forgetSources(try await sourceKeys(keeper))
    await keeper.ledger.close()
    console.print([
      "\(counted(result.entries, "entry", "entries")) forgotten; "
        + "\(counted(result.items, "item")) to be fetched again"
        + (sources == 0 ? "" : "; \(counted(sources, "source")) to be asked for anew")
    ])
    return .well
  }

  /// - Returns: nil where all are to go, those too that no job has any more.
  private func sourceKeys(_ keeper: Housekeeper) async throws -> Set<EntryKey>? {
    switch choice {
    case .urls(let urls): return Set(urls.map { EntryKey($0) })
    case .host(let host): return try await keeper.sourceKeys { $1.host == host }
    case .all: return nil
    case .job(let name):
      let job = try await keeper.ledger.job(named: name)?.number
      return try await keeper.sourceKeys { number, _ in number == job }
    }
  }

  private func purge(_ keeper: Housekeeper) async throws -> PurgeResult {
    switch choice {
    case .urls(let urls): return try await keeper.purge(urls.map { EntryKey($0) })
    case .host(let host): return try await keeper.purge { $0.url.host == host }
    case .all: return try await keeper.purge { _ in true }
    case .job(let name):
      guard let job = try await keeper.ledger.job(named: name) else {
        throw site.noJob(name)
      }
      return try await keeper.purge { $0.jobs.contains(job.number) }
    }
  }
}

extension Site {
  func noJob(_ name: String) -> UsageError {
    UsageError(
      message: "there is no job \"\(name)\" in \(layout.root)",
      hint: "thumbworker jobs lists them")
  }
}
