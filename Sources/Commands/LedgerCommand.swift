import LedgerCore
import LedgerSQLite
import Reporting
import Storage

/// `ledger backup FILE`: a consistent copy while workers run.
struct LedgerCommand {
  private let site: Site
  private let console: Console
  private let file: String

  init(_ parsed: ParsedArguments, _ environment: [String: String], _ console: Console)
    throws(UsageError)
  {
    self.console = console
    site = try Site(parsed, environment)
    guard parsed.operands[0] == "backup" else {
      throw UsageError(
        message: "ledger cannot \"\(parsed.operands[0])\"",
        hint: "usage: thumbworker ledger backup FILE")
    }
    file = try Site.absolute(parsed.operands[1])
  }

  func execute() async throws -> ExitCode {
    guard let ledger = try await site.ledgerToCopy() else { throw site.nothingKnown }
    try await ledger.backup(to: file)
    await ledger.close()
    console.print(["\(site.layout.ledger) is copied to \(file)"])
    return .well
  }
}
