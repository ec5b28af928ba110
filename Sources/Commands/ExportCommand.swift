import LedgerCore
import Pipeline
import Reporting
import Storage
import Threading
import Vocabulary

/// `export JOB`: one line for each item, for the site that uses the thumbnails.
struct ExportCommand {
  private let parsed: ParsedArguments
  private let environment: [String: String]
  private let site: Site
  private let console: Console

  init(_ parsed: ParsedArguments, _ environment: [String: String], _ console: Console)
    throws(UsageError)
  {
    self.parsed = parsed
    self.environment = environment
    self.console = console
    site = try Site(parsed, environment)
  }

  func execute() async throws -> ExitCode {
    let name = parsed.operands[0]
    let ledger = try await site.ledgerToRead()
    guard let ledger, let job = try await ledger.job(named: name) else {
      await ledger?.close()
      throw UsageError(
        message: "there is no job \"\(name)\" in \(site.layout.root)",
        hint: "thumbworker status lists the jobs")
    }
    let export = try await Export(of: job, ledger: ledger, environment: environment)
    let report = ExportReport(
      folder: parsed.has("--absolute") ? "\(site.layout.published)/\(name)" : nil,
      variantNames: export.variantNames)
    let now = Timestamp(milliseconds: WallClock.system.milliseconds())
    let isCSV = parsed.has("--csv")
    if isCSV { console.print([report.csvHead]) }
    try await export.run(at: now) { items in
      console.print(items.map(isCSV ? report.csv : report.json))
    }
    await ledger.close()
    return .well
  }
}
