import LedgerCore
import Pipeline
import Reporting
import Storage
import Threading
import Vocabulary

/// `show URL|ID`: one entry's story.
struct ShowCommand {
  let call: Invocation

  func execute() async throws -> ExitCode {
    let subject = call.parsed.operands[0]
    guard let ledger = try await call.site.ledgerToRead() else { throw call.site.nothingKnown }
    let lookup = EntryLookup(ledger: ledger, environment: call.environment)
    let now = Timestamp(milliseconds: WallClock.system.milliseconds())
    let items = try await lookup.items(withID: subject)
    var urls = items.compactMap(\.url)
    if items.isEmpty, let url = try? ItemURL(subject) { urls = [url] }  // else it is an unknown id
    guard !urls.isEmpty || !items.isEmpty else {
      throw UsageError(
        message: "\"\(subject)\" is neither a URL nor an item's id in \(call.site.layout.root)",
        hint: ""
      )
    }
    var seen: Set<ItemURL> = []
    for url in urls where seen.insert(url).inserted {
      let report = ShowReport(try await lookup.story(of: url, at: now))
      call.console.print(call.parsed.has("--json") ? [report.json] : report.lines)
    }
    for item in items where item.url == nil {
      let report = UnusableItemReport(item)
      call.console.print(call.parsed.has("--json") ? [report.json] : report.lines)
    }
    await ledger.close()
    return .well
  }
}
