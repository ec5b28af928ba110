import LedgerCore
import Pipeline
import Reporting
import Vocabulary

/// `gc`: deletes what nothing refers to, what no job needs any more and what is over the limits.
struct GcCommand {
  private let call: Invocation
  private var rule = CollectionRule()

  init(_ call: Invocation) throws(UsageError) {
    self.call = call
    let parsed = call.parsed
    rule.isDryRun = parsed.has("--dry-run")
    rule.maxBytes = try parsed.byteSize("--max-bytes")
    rule.minFree = call.site.minFree
    rule.maxCount = try parsed.count("--max-count", in: 0...Int.max)
    if let age = try parsed.duration("--max-age") { rule.retain = age }
  }

  func execute() async throws -> ExitCode {
    let keeper = try await call.site.openToKeep()
    let (console, rule, isJSON) = (call.console, rule, call.parsed.has("--json"))
    let isVerbose = rule.isDryRun && !isJSON
    let wanted = try await keeper.wantedRecipes(environment: call.environment)
    let collection = GarbageCollection(keeper: keeper, rule: rule, wanted: wanted) {
      if isVerbose { console.print([CollectionReport.line($0, $1)]) }
    }
    let summary = try await collection.run()
    await keeper.ledger.close()
    let report = CollectionReport(summary, rule: rule)
    console.print(isJSON ? [report.json] : report.lines)
    return .well
  }
}
