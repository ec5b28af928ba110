import LedgerCore
import Pipeline
import Reporting
import Threading
import Vocabulary

/// `verify`: checks every object against its digest and the ledger against the disk.
struct VerifyCommand {
  private let parsed: ParsedArguments
  private let site: Site
  private let console: Console
  private var rule = VerificationRule()

  init(_ parsed: ParsedArguments, _ environment: [String: String], _ console: Console)
    throws(UsageError)
  {
    self.parsed = parsed
    self.console = console
    site = try Site(parsed, environment)
    rule.repairs = parsed.has("--repair")
    rule.bytesPerSecond = try parsed.byteSize("--max-rate")
  }

  func execute() async throws -> ExitCode {
    let keeper = try await site.openToKeep()
    let (console, isJSON) = (console, parsed.has("--json"))
    let summary = try await Verification(
      keeper: keeper, rule: rule, sleeper: SystemSleeper()
    ) { finding in
      if !isJSON { console.print([VerificationReport.line(finding)]) }
    }.run()
    await keeper.ledger.close()
    let report = VerificationReport(summary, rule: rule)
    console.print(isJSON ? [report.json] : report.lines)
    let isLeft = rule.repairs ? summary.counterKindsLeft > 0 : summary.faults > 0
    return isLeft ? .someFailed : .well
  }
}
