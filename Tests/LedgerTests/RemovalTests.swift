import ForeignSQLite
import Hashing
import LedgerCore
import TestSupport
import Testing
import Vocabulary

@testable import LedgerSQLite

@Suite struct `A purge` {
  private static let thumbOfOne = Digest(of: "thumb of \(Digest(of: "one"))")

  /// Purges the entry of the first item, whatever is due.
  private func purge(_ scene: inout Scene, _ id: String) async throws {
    try await scene.beginRun()
    let rule = DueRule(horizon: scene.clock.now, takesAll: true)
    for claim in try await scene.claim(rule: rule).claims {
      let isIt = claim.items.contains { $0.id.text == id }
      if isIt {
        try await scene.settle(scene.purged(claim))
      } else {
        try await scene.ledger.release([claim.lease])
      }
    }
  }

  @Test(arguments: LedgerKind.all)
  func `lets the original and its variants go`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    try await scene.read(items(2))
    try await scene.runOnce()
    let key = try #require(try await scene.view("sku-0").key)
    let original = try #require(try await scene.ledger.entry(key)?.original?.digest)
    try await purge(&scene, "sku-0")
    let pending = try await scene.ledger.pendingRemovals(limit: 10)
    #expect(Set(pending) == [original, Digest(of: "thumb of \(original)")])
    #expect(try await scene.ledger.variants(of: original).isEmpty)
    #expect(try await scene.ledger.objectsKnown(among: pending).isEmpty)
    let status = try await scene.ledger.status(at: scene.clock.now)
    #expect(status.objectCount == 2 && status.objectBytes == 1100)
    try await scene.ledger.confirmRemoval(pending)
    #expect(try await scene.ledger.pendingRemovals(limit: 10).isEmpty)
  }

  @Test(arguments: LedgerKind.all)
  func `keeps what another entry has as well`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    try await scene.read(items(2))
    try await scene.runOnce { $0.fetched($1, body: "one") }
    try await purge(&scene, "sku-0")
    #expect(try await scene.ledger.pendingRemovals(limit: 10).isEmpty)
    #expect(try await scene.ledger.variants(of: Digest(of: "one")).count == 1)
    try await purge(&scene, "sku-1")
    #expect(
      Set(try await scene.ledger.pendingRemovals(limit: 10)) == [
        Digest(of: "one"), Self.thumbOfOne,
      ])
  }

  @Test(arguments: LedgerKind.all)
  func `keeps what a name still stands for`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    let url = "https://h.example/a.jpg"
    try await scene.read([item("a", url), item("b", url)])
    try await scene.runOnce { $0.fetched($1, body: "one") }
    // It leaves the job, and its name stays.
    try await scene.read([item("a", url)], prune: false)
    try await purge(&scene, "a")
    #expect(try await scene.ledger.pendingRemovals(limit: 10) == [Digest(of: "one")])
    #expect(try await scene.ledger.objectsKnown(among: [Self.thumbOfOne]) == [Self.thumbOfOne])
  }

  @Test(arguments: LedgerKind.all)
  func `is overtaken by whoever stores the same bytes again`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    try await scene.read(items(1))
    try await scene.runOnce { $0.fetched($1, body: "one") }
    try await purge(&scene, "sku-0")
    scene.clock.advance(by: Scene.dayLong)
    try await scene.runOnce { $0.fetched($1, body: "one") }
    #expect(try await scene.ledger.pendingRemovals(limit: 10).isEmpty)
    let known: Set<Digest> = [Digest(of: "one"), Self.thumbOfOne]
    #expect(try await scene.ledger.objectsKnown(among: Array(known)) == known)
  }

  @Test(arguments: LedgerKind.all)
  func `refuses what others settle on what has gone, and lets them claim it again`(
    _ kind: LedgerKind
  ) async throws {
    var one = try await Scene(kind)
    try await one.read([item("a", "https://h.example/a.jpg")], name: "one")
    try await one.runOnce { $0.fetched($1, body: "one") }
    var two = Scene(beside: one)
    try await two.read([item("b", "https://h.example/b.jpg")], name: "two")
    try await two.beginRun()
    // The other entry got the same bytes, and its worker found the variant there.
    let claim = try await two.claim().claims[0]
    var settlement = two.fetched(claim, body: "one")
    settlement.variants = []
    settlement.objects.removeLast()
    try await purge(&one, "a")
    #expect(try await two.settle(settlement) == nil)
    #expect(try await one.ledger.entry(claim.lease.entry) == nil)
    let again = try #require(try await two.claim().claims.first)
    #expect(again.entry.key == claim.entry.key)
    #expect(try await two.settle(two.fetched(again, body: "one")) != nil)
  }
}

@Suite struct `A ledger of the first schema` {
  /// As its program left it: an entry, a variant and a name.
  @Test func `is brought to the newest with all that its objects are held by`() async throws {
    let folder = LedgerFolder()
    let clock = TestClock()
    let path = folder.file("ledger.sqlite")
    let one = Digest(of: "one")
    let thumb = Digest(of: "thumb")
    try {
      let old = try ForeignProgram(path)
      try old.execute(Schema.migrations[0])
      _ = try old.query("PRAGMA application_id = \(Schema.applicationID)")
      _ = try old.query("PRAGMA user_version = 1")
      let name = String(repeating: "0", count: 32)
      _ = try old.query("INSERT INTO meta VALUES (1, '\(name)', 0, 2, 1100)")
      let key = EntryKey(try ItemURL("https://h.example/a.jpg"))
      _ = try old.query(
        """
        INSERT INTO entries (key, url, original, original_bytes)
        VALUES (x'\(key)', 'https://h.example/a.jpg', x'\(one)', 1000)
        """)
      _ = try old.query("INSERT INTO objects VALUES (x'\(one)', 1000), (x'\(thumb)', 100)")
      _ = try old.query(
        """
        INSERT INTO variants (original, recipe, digest, bytes, format, width, height)
        VALUES (x'\(one)', x'\(RecipeKey.sample)', x'\(thumb)', 100, 'webp', 1, 1)
        """)
      _ = try old.query(
        "INSERT INTO published VALUES (1, 'thumb/a.webp', NULL, 'thumb', x'\(thumb)', NULL)")
    }()
    let ledger = try await LedgerSQLite.open(path: path, clock: clock.wall, owner: "test")
    let counts = try ForeignProgram(path).query(
      "SELECT bytes, entries, uses FROM objects ORDER BY bytes")
    #expect(counts == [["100", "0", "2"], ["1000", "1", "0"]])
    #expect(try await ledger.status(at: clock.now).objectCount == 2)
    await ledger.close()
  }
}
