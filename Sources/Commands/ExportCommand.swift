import LedgerCore
import Pipeline
import Reporting
import Storage
import Threading
import Vocabulary

/// `export JOB`: one line for each item, for the site that uses the thumbnails.
struct ExportCommand {
  let call: Invocation

  func execute() async throws -> ExitCode {
    let name = call.parsed.operands[0]
    let ledger = try await call.site.ledgerToRead()
    guard let ledger, let job = try await ledger.job(named: name) else {
      await ledger?.close()
      throw call.site.noJob(name)
    }
    let export = try await Export(of: job, ledger: ledger, environment: call.environment)
    let report = ExportReport(
      folder: call.parsed.has("--absolute") ? "\(call.site.layout.published)/\(name)" : nil,
      variantNames: export.variantNames)
    let now = Timestamp(milliseconds: WallClock.system.milliseconds())
    let isCSV = call.parsed.has("--csv")
    if isCSV { call.console.print([report.csvHead]) }
    try await export.run(at: now) { items in
      call.console.print(items.map(isCSV ? report.csv : report.json))
    }
    await ledger.close()
    return .well
  }
}
