import HTTPCaching
import Hashing
import LedgerCore
import LedgerSQLite
import TestSupport
import Testing
import Threading
import Vocabulary

/// What a claim says of its items' names spares the worker to look them up: so it must go when they do.
@Suite("What an item's names were made from")
struct PublicationKeyTests {
  private static let key = PublicationKey(rawValue: -42)

  private struct Known {
    var scene: Scene
    let ledger: LedgerSQLite
    let folder: LedgerFolder

    /// A job of `a` and `b`, both fetched and their names noted with a key.
    static func make() async throws -> Known {
      let folder = LedgerFolder()
      let clock = TestClock()
      let ledger = try await LedgerSQLite.open(
        path: folder.file("ledger.sqlite"), clock: clock.wall, owner: "test")
      var scene = Scene(ledger: ledger, clock: clock)
      try await scene.read([item("a", "http://x.example/a"), item("b", "http://x.example/b")])
      try await scene.runOnce { $0.keyed($1) }
      clock.advance(by: Scene.dayLong)
      return Known(scene: scene, ledger: ledger, folder: folder)
    }

    /// - Returns: the key of `a` as the next claim says it.
    mutating func claimedKey() async throws -> PublicationKey? {
      try await scene.beginRun()
      let claims = try await scene.claim().claims
      return try #require(claims.flatMap(\.items).first { $0.id.text == "a" }).published
    }
  }

  @Test func `comes with the next claim, which may rest on it`() async throws {
    var known = try await Known.make()
    try await known.scene.beginRun()
    let claims = try await known.scene.claim().claims
    #expect(claims.flatMap(\.items).map(\.published) == [Self.key, Self.key])
    for claim in claims {
      let links = try await known.scene.settle(known.scene.resting(claim))
      #expect(links == [])
    }
    #expect(try await known.scene.view("a").state == .well)
    #expect(try await known.ledger.wrongCounters() == [])
    let names = try await known.ledger.names(of: known.scene.job, after: "", limit: 10)
    #expect(names.isEmpty, "their links were never confirmed")
    #expect(try await known.ledger.pendingLinks(limit: 10).map(\.path).count == 2)
  }

  struct Change: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var make: @Sendable (inout Scene, LedgerSQLite) async throws -> Void
  }

  private static let changes = [
    Change(testDescription: "its URL was purged") { _, ledger in
      _ = try await ledger.purge([EntryKey(try ItemURL("http://x.example/a"))])
    },
    Change(testDescription: "its link could not be made") { _, ledger in
      let link = try #require(
        try await ledger.pendingLinks(limit: 10).first { $0.path == "thumb/a.webp" })
      try await ledger.refuse([RefusedLink(link: link, failure: .sample)])
    },
    Change(testDescription: "a file that it rests on is missing") { _, ledger in
      let original = Digest(of: "http://x.example/a")
      _ = try await ledger.makeDue(restingOn: [original], withdrawing: [])
    },
    Change(testDescription: "everything was made due, as for a store that was emptied") {
      _, ledger in try await ledger.makeAllDue()
    },
    Change(testDescription: "it asks for other variants") { scene, _ in
      try await scene.read([
        item("a", "http://x.example/a", variants: ["thumb"]), item("b", "http://x.example/b"),
      ])
    },
    Change(testDescription: "it names another URL") { scene, _ in
      try await scene.read([item("a", "http://x.example/c"), item("b", "http://x.example/b")])
    },
    Change(testDescription: "its name has become a folder of another's") { scene, _ in
      try await scene.read([
        item("a", "http://x.example/a"), item("b", "http://x.example/b"),
        item("a.webp/c", "http://x.example/c"),
      ])
      try await scene.beginRun()
      let claim = try #require(
        try await scene.claim().claims.first { $0.items[0].id.text == "a.webp/c" })
      try await scene.settle(scene.fetched(claim))
      try await scene.ledger.release(try await scene.claim().claims.map(\.lease))
    },
  ]

  @Test(arguments: changes)
  func `is forgotten where`(_ change: Change) async throws {
    var known = try await Known.make()
    try await change.make(&known.scene, known.ledger)
    known.scene.clock.advance(by: .seconds(300))  // past any lease
    #expect(try await known.claimedKey() == nil)
  }

  @Test(arguments: changes.prefix(4))
  func `is not rested on where between claim and settlement`(_ change: Change) async throws {
    var known = try await Known.make()
    try await known.scene.beginRun()
    let claim = try #require(
      try await known.scene.claim().claims.first { $0.items[0].id.text == "a" })
    try await change.make(&known.scene, known.ledger)
    let links = try await known.scene.settle(known.scene.resting(claim))
    #expect(links == nil, "it is claimed and looked at again")
  }
}

extension Scene {
  /// As `fetched`, with the key of what the names were made from.
  func keyed(_ claim: Claim) -> Settlement {
    var settlement = fetched(claim)
    for i in settlement.items.indices {
      settlement.items[i].published = PublicationKey(rawValue: -42)
    }
    return settlement
  }

  /// As if the server had answered 304: the names stand.
  func resting(_ claim: Claim) -> Settlement {
    var settlement = fetched(claim)
    (settlement.variants, settlement.objects) = ([], [])
    if let since = claim.entry.response?.responseTime {
      settlement.entries = [.confirmed(settlement.entry, since: since)]
    }
    for i in settlement.items.indices {
      settlement.items[i].before = claim.items[i].before
      settlement.items[i].outcome = .revalidated
      settlement.items[i].publications = nil
      settlement.items[i].published = claim.items[i].published
    }
    return settlement
  }
}
