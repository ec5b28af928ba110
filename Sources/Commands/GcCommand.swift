import LedgerCore
import Pipeline
import Reporting
import Vocabulary

/// `gc`: deletes what nothing refers to, what no job needs any more and what is over the limits.
struct GcCommand {
  private let parsed: ParsedArguments
  private let site: Site
  private let console: Console
  private let environment: [String: String]
  private var rule = CollectionRule()

  init(_ parsed: ParsedArguments, _ environment: [String: String], _ console: Console)
    throws(UsageError)
  {
    self.parsed = parsed
    self.console = console
    self.environment = environment
    site = try Site(parsed, environment)
    rule.isDryRun = parsed.has("--dry-run")
    rule.maxBytes = try parsed.byteSize("--max-bytes")
    rule.minFree = site.minFree
    rule.maxCount = try parsed.count("--max-count", in: 0...Int.max)
    if let age = try parsed.duration("--max-age") { rule.retain = age }
  }

  func execute() async throws -> ExitCode {
    let keeper = try await site.openToKeep()
    let (console, rule) = (console, rule)
    let isVerbose = rule.isDryRun && !parsed.has("--json")
    let wanted = try await keeper.wantedRecipes(environment: environment)
    let collection = GarbageCollection(keeper: keeper, rule: rule, wanted: wanted) {
      if isVerbose { console.print([CollectionReport.line($0, $1)]) }
    }
    let summary = try await collection.run()
    await keeper.ledger.close()
    let report = CollectionReport(summary, rule: rule)
    console.print(parsed.has("--json") ? [report.json] : report.lines)
    return .well
  }
}
