import HTTPCaching
import Hashing
import LedgerCore
import LedgerSQLite
import Threading
import Vocabulary

/// Items into a new ledger, once more the same, then claims and settlements of some.
struct LedgerWork: Work {
  private let path: String
  private let items: Int
  private let claims: Int

  /// Of a manifest's page.
  private static let page = 16_384

  init(_ values: WorkValues) throws {
    path = try values.text("ledger")
    items = try values.count("items")
    claims = try values.count("claims")
  }

  func run() async throws {
    let ledger = try await LedgerSQLite.open(path: path, clock: .system, owner: "bench")
    let job = try await read(into: ledger, part: "ingest")
    _ = try await read(into: ledger, part: "reread")
    try await LedgerClaims(ledger: ledger, job: job, count: claims).work(DueRule(horizon: .now))
    await ledger.close()
  }

  private func read(into ledger: LedgerSQLite, part: String) async throws -> JobNumber {
    let ticket = try await ledger.beginIngest(
      name: "bench", settings: "{}", settingsDigest: Digest(of: ""), at: .now)
    var meter = Meter()
    for start in stride(from: 0, to: items, by: Self.page) {
      let page = try (start..<min(start + Self.page, items)).map(item)
      try await meter.run { _ = try await ledger.ingest(page, bad: [], ticket: ticket) }
    }
    try await meter.run {
      _ = try await ledger.finishIngest(ticket, identity: nil, prune: true)
    }
    try meter.report(part, items: items)
    return ticket.job
  }

  private func item(_ number: Int) throws -> ItemEntry {
    let url = try ItemURL(ManifestText.catalogURL(number))
    return ItemEntry(
      id: try ItemID("item-\(number)"), url: url, key: EntryKey(url), variants: nil, meta: nil)
  }
}
