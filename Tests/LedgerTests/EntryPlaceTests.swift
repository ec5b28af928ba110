import ForeignSQLite
import HTTPCaching
import Hashing
import LedgerCore
import TestSupport
import Testing
import Vocabulary

@testable import LedgerSQLite

/// Where an entry lies spares claims and confirmations an index; it is believed only where the entry is there.
@Suite("Where the entries of items lie")
struct EntryPlaceTests {
  private let folder = LedgerFolder()
  private let clock = TestClock()
  private var path: String { folder.file("ledger.sqlite") }

  private func open() async throws -> LedgerSQLite {
    try await LedgerSQLite.open(path: path, clock: clock.wall, owner: "test")
  }

  /// A job of thirty items, fetched, that are due again.
  private func fetchedScene() async throws -> Scene {
    var scene = Scene(ledger: try await open(), clock: clock)
    try await scene.read(items(30))
    try await scene.runOnce { $0.keyed($1) }
    clock.advance(by: Scene.dayLong)
    return scene
  }

  /// How many items have their entry where it is said to be.
  private func itemsInPlace() throws -> Int? {
    try ForeignProgram(path).count(
      "items JOIN entries ON entries.rowid = entry_place AND entries.key = items.entry")
  }

  struct Disorder: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var sql: String
  }

  private static let disorders = [
    Disorder(testDescription: "as they were fetched", sql: "SELECT 1"),
    Disorder(
      testDescription: "not known", sql: "UPDATE items SET entry_place = NULL"),
    Disorder(
      testDescription: "each the next one's",
      sql: "UPDATE items SET entry_place = entry_place % 30 + 1"),
    Disorder(
      testDescription: "where nothing is", sql: "UPDATE items SET entry_place = number + 1000"),
    Disorder(
      testDescription: "in rows with other numbers",
      sql: """
        CREATE TEMP TABLE kept AS SELECT * FROM entries ORDER BY key; DELETE FROM entries;
        INSERT INTO entries SELECT * FROM kept;
        UPDATE objects SET entries = 1 WHERE digest IN (SELECT original FROM entries);
        """),
  ]

  @Test(arguments: disorders, ["before the claims", "after them"])
  func `are found there or by their keys, and are written down`(
    _ disorder: Disorder, _ time: String
  ) async throws {
    var scene = try await fetchedScene()
    #expect(try itemsInPlace() == 30)
    if time == "before the claims" { try ForeignProgram(path).execute(disorder.sql) }
    try await scene.beginRun()
    let claims = try await scene.claim().claims
    #expect(claims.count == 30)
    if time == "after them" { try ForeignProgram(path).execute(disorder.sql) }
    for claim in claims {
      #expect(claim.entry.key == claim.lease.entry && claim.entry.original != nil)
      #expect(try await scene.ledger.entry(claim.lease.entry) == claim.entry)
      try #require(try await scene.settle(scene.resting(claim)) == [])
    }
    for claim in claims {
      let entry = try await scene.ledger.entry(claim.lease.entry)
      #expect(entry?.response?.responseTime == clock.now)
    }
    #expect(try itemsInPlace() == 30)
    #expect(try await (scene.ledger as? LedgerSQLite)?.wrongCounters() == [])
  }

  @Test func `are forgotten where an item's URL is another`() async throws {
    var scene = try await fetchedScene()
    try await scene.read(items(29) + [item("sku-29", "https://h0.example/new.jpg")])
    try await scene.runOnce { $0.keyed($1) }
    #expect(try itemsInPlace() == 30)
    #expect(try await scene.view("sku-29").key == EntryKey(ItemURL("https://h0.example/new.jpg")))
  }

  @Test(arguments: [true, false])
  func `do not part items of one URL, whichever came when`(_ isNew: Bool) async throws {
    var scene = try await fetchedScene()
    let shared = "https://h0.example/0.jpg"
    let list =
      isNew
      ? items(30) + [item("sku-30", shared)] : items(29) + [item("sku-29", shared)]
    try await scene.read(list)
    try await scene.beginRun()
    let claims = try await scene.claim().claims
    let together = claims.filter { $0.items.count > 1 }
    #expect(claims.count == (isNew ? 30 : 29))
    #expect(together.map { $0.items.map(\.id.text) } == [["sku-0", isNew ? "sku-30" : "sku-29"]])
    #expect(
      try ForeignProgram(path).query("SELECT id FROM items WHERE has_twin ORDER BY number")
        == [["sku-0"], [isNew ? "sku-30" : "sku-29"]])
  }

  @Test func `come with the next confirmation to a ledger that did not keep them`() async throws {
    let scene = try await fetchedScene()
    var (again, clock) = (scene, clock)
    try await again.read(items(30) + [item("twin", "https://h1.example/1.jpg")])
    await (scene.ledger as? LedgerSQLite)?.close()
    // As the former program has left it.
    try ForeignProgram(path).execute(
      """
      ALTER TABLE items DROP COLUMN entry_place; ALTER TABLE items DROP COLUMN has_twin;
      PRAGMA user_version = \(Schema.migrations.firstIndex(of: Schema.entryPlaces)!);
      """)
    clock.advance(by: Scene.dayLong)
    again = Scene(beside: again, ledger: try await open())
    again.job = scene.job
    try await again.beginRun()
    let claims = try await again.claim().claims
    #expect(claims.count == 30 && claims.contains { $0.items.count == 2 })
    for claim in claims { try #require(try await again.settle(again.keyed(claim)) != nil) }
    #expect(try itemsInPlace() == 31)
  }
}
