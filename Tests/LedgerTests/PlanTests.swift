import ForeignSQLite
import Hashing
import LedgerCore
import TestSupport
import Testing
import Vocabulary

@testable import LedgerSQLite

extension ForeignProgram {
  /// With what a writing connection has of its own.
  fileprivate static func planning(_ path: String) throws -> ForeignProgram {
    let program = try ForeignProgram(path)
    try program.execute(Claiming.view)
    return program
  }

  fileprivate func plan(of query: some CustomStringConvertible) throws -> [String] {
    try self.query("EXPLAIN QUERY PLAN \(query)").map { $0[3] }
  }
}

@Suite struct `Queries` {
  /// Tables that grow with the items.
  private static let large = [
    "items", "item_ids", "entries", "variants", "objects", "published", "due_by_minute",
    "host_counts", "host_failures",
  ]

  @Test func `never scan a table that grows with the items`() async throws {
    let folder = LedgerFolder()
    let texts = try await everyQuery(on: folder)
    let foreign = try ForeignProgram.planning(folder.file("ledger.sqlite"))
    #expect(texts.count > 50)
    for text in texts.sorted() where !text.hasPrefix("PRAGMA") {
      for step in try foreign.plan(of: text) {
        for table in Self.large {
          #expect(
            !step.scans(table, of: text) || step.contains("published_pending"),
            "\(step) in: \(text)")
        }
        // All of a job's items, or all that failed; those whose URL cannot be used are few.
        #expect(
          !(step.hasPrefix("SEARCH items ") && step.hasSuffix("(job=?)"))
            || step.contains("items_unusable"), "\(step) in: \(text)")
        #expect(!step.contains("USE TEMP B-TREE FOR ORDER BY"), "\(step) in: \(text)")
        #expect(!step.contains("AUTOMATIC"), "\(step) in: \(text)")
      }
    }
  }

  @Test func `that scan a large table are told, whatever they call it`() async throws {
    let folder = LedgerFolder()
    _ = try await everyQuery(on: folder)
    let foreign = try ForeignProgram.planning(folder.file("ledger.sqlite"))
    for text in ["SELECT url FROM items", "SELECT i.url FROM items AS i"] {
      #expect(try foreign.plan(of: text).contains { $0.scans("items", of: text) })
    }
    let other = "SELECT * FROM jobs AS i JOIN items ON items.number = i.number"
    #expect(try !foreign.plan(of: other).contains { $0.scans("items", of: other) })
  }

  @Test func `go straight to their place in the index of what is due`() async throws {
    let folder = LedgerFolder()
    _ = try await everyQuery(on: folder)
    let foreign = try ForeignProgram.planning(folder.file("ledger.sqlite"))
    for (queries, index) in [
      (Claiming.atOnce, "items_due"), (Claiming.expired, "items_due"),
      (Claiming.failed, "items_failed"),
    ] {
      let start = "SEARCH items USING INDEX \(index) (job=? AND host=? AND due_at"
      #expect(try foreign.plan(of: queries.sameTime).first == "\(start)=? AND rowid>?)")
      guard let later = queries.later else { continue }
      #expect(try foreign.plan(of: later).first == "\(start)>?)")
    }
  }

  @Test func `of the status go straight to the failures that they tell`() async throws {
    let folder = LedgerFolder()
    let texts = try await everyQuery(on: folder)
    let foreign = try ForeignProgram.planning(folder.file("ledger.sqlite"))
    let index = "SEARCH host_failures USING COVERING INDEX host_failures_most (job=? AND n"
    #expect(try foreign.plan(of: StatusReading.fewerFailuresQuery) == ["\(index)<?)"])
    #expect(
      try foreign.plan(of: StatusReading.hostsFailingQuery) == [
        "\(index)=? AND next_try>?)", "SEARCH hosts USING INTEGER PRIMARY KEY (rowid=?)",
      ])
    // Where they are kept, too, the first of a host's is one search.
    let keeping = texts.filter {
      $0.hasPrefix("INSERT INTO host_failures") || $0.hasPrefix("UPDATE host_failures")
    }
    #expect(keeping.count == 2)
    for text in keeping {
      #expect(
        try foreign.plan(of: text).contains(
          "SEARCH items USING INDEX items_mendable (job=? AND host=?)"), "\(text)")
    }
  }

  /// Goes through all that a ledger does.
  private func everyQuery(on folder: LedgerFolder) async throws -> Set<String> {
    let clock = TestClock()
    let ledger = try await LedgerSQLite.open(
      path: folder.file("ledger.sqlite"), clock: clock.wall, owner: "test")
    var scene = Scene(ledger: ledger, clock: clock)
    try await scene.read(items(20), bad: [badItem("bad")])
    try await scene.beginRun()
    var claims = try await scene.claim(limit: 10).claims
    _ = try await ledger.renew(claims.map(\.lease), until: clock.now + .seconds(60))
    try await ledger.release([claims.removeLast().lease])
    try await scene.settle(scene.purged(claims.removeLast()))
    try await scene.settle(scene.failed(claims.removeLast()))
    let target = try await ledger.lease(
      EntryKey(try ItemURL("https://t.example/")), for: [claims[0].lease], run: scene.run,
      until: clock.now + .seconds(60), at: clock.now)
    for claim in claims {
      var settlement = scene.fetched(claim)
      if case .granted(let lease) = target, claim == claims[0] { settlement.targets = [lease] }
      settlement.items[0].publications?[0].folderOfIDs = "sku-1/"
      try await scene.settle(settlement)
    }
    var standing = HostStanding()
    standing.failuresInARow = 5
    standing.brokenUntil = clock.now + .seconds(60)
    try await ledger.note(["h.example": standing], at: clock.now)
    _ = try await ledger.standings(after: 0)
    _ = try await ledger.beginProbe(
      of: "h.example", by: scene.run, until: clock.now + .seconds(60), at: clock.now)
    let links = try await ledger.pendingLinks(limit: 1)
    _ = try await ledger.makeDue(named: links, withdrawing: [])
    _ = try await ledger.makeDue(restingOn: Set(links.compactMap(\.object)), withdrawing: [])
    try await ledger.refuse(links.map { RefusedLink(link: $0, failure: .sample) })
    _ = try await ledger.due(job: scene.job, run: scene.run, by: DueRule(horizon: clock.now))
    try await scene.drain()
    try await ledger.confirm(try await ledger.pendingLinks(limit: 5))
    try await scene.runOnce(rule: DueRule(horizon: clock.now, takesFailed: true)) {
      $0.fetched($1, body: "other", publishing: false)
    }
    let changed = [
      item("sku-1", "https://h.example/changed.jpg"),
      item("sku-2", "https://h2.example/2.jpg", variants: ["thumb"]),
      item("sku-3", "https://h0.example/3.jpg", meta: "{}"),
    ]
    try await scene.read(items(1) + changed, settings: "{\"a\":1}")
    try await scene.read(items(1), settings: "{\"a\":1}", prune: false)
    let view = try await scene.view("sku-0")
    let entry = try #require(try await ledger.entry(view.key!))
    _ = try await ledger.items(naming: view.key!)
    _ = try await ledger.variants(of: entry.original!.digest)
    _ = try await ledger.job(named: "catalog")
    _ = try await ledger.unsettled(job: scene.job, run: scene.run)
    _ = try await ledger.storeID()
    _ = try await ledger.status(at: clock.now)
    clock.advance(by: .seconds(1))
    _ = try await ledger.status(at: clock.now)
    return Set(try await ledger.reader.preparedTexts())
      .union(try await ledger.writer!.preparedTexts())
  }
}

extension String {
  /// Whether a step of a query's plan goes through all of a table, whatever the query calls it.
  fileprivate func scans(_ table: String, of query: String) -> Bool {
    guard hasPrefix("SCAN ") else { return false }
    let name = String(dropFirst(5).prefix { $0 != " " })
    return name == table || query.contains("\(table) AS \(name)")
  }
}
