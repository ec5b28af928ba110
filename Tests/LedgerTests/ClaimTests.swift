import LedgerCore
import Testing
import Vocabulary

@Suite struct `A claim` {
  @Test(arguments: LedgerKind.all)
  func `takes a few of each host in turn`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    let byHost = (0..<4).flatMap { host in
      (0..<20).map { item("\(host)-\($0)", "https://h\(host).example/\($0).jpg") }
    }
    try await scene.read(byHost)
    try await scene.beginRun()
    let first = try await scene.claim(limit: 8).claims
    #expect(Set(first.map(\.entry.url.host)).count == 4)
    #expect(Set(first.prefix(4).map(\.items[0].id.text)).count == 4)
    var hosts: [String: Int] = [:]
    for claim in first { hosts[claim.entry.url.host, default: 0] += 1 }
    #expect(hosts.values.allSatisfy { $0 == 2 })
    // A limit below the number of hosts goes on where it stopped.
    var next: [String] = []
    for _ in 1...4 { next += try await scene.claim(limit: 1).claims.map(\.entry.url.host) }
    #expect(Set(next).count == 4)
  }

  @Test(arguments: LedgerKind.all)
  func `honours each host's room and says what it held back`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    try await scene.read(items(30))
    try await scene.beginRun()
    let result = try await scene.claim(
      perHost: 2, room: ["h0.example": 0, "h1.example": 5])
    let hosts = result.claims.map(\.entry.url.host)
    #expect(hosts.count { $0 == "h0.example" } == 0)
    #expect(hosts.count { $0 == "h1.example" } == 5)
    #expect(hosts.count { $0 == "h2.example" } == 2)
    #expect(result.heldBack && result.leasedElsewhere == 0)
    #expect(try await scene.claim(room: ["h0.example": 0]).claims.count == 13)
    let held = try await scene.claim(room: ["h0.example": 0])
    #expect(held.claims.isEmpty && held.heldBack)
    #expect(try await scene.claim().claims.count == 10)
    let nothing = try await scene.claim(room: ["h0.example": 0])
    #expect(nothing.claims.isEmpty && !nothing.heldBack)
  }

  @Test(arguments: LedgerKind.all)
  func `brings the due items of one entry together`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    let same = "https://h.example/same.jpg"
    try await scene.read([
      item("a", same, variants: ["thumb"]), item("b", same), item("c", "https://h.example/c.jpg"),
    ])
    try await scene.beginRun()
    let claims = try await scene.claim().claims
    #expect(claims.map { $0.items.map(\.id.text) } == [["a", "b"], ["c"]])
    #expect(claims[0].items.map(\.variants) == [["thumb"], nil])
    #expect(claims[0].entry == Entry(key: claims[0].lease.entry, url: try ItemURL(same)))
  }

  @Test(arguments: LedgerKind.all)
  func `never hands out an item twice in one run`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    try await scene.read(items(40))
    try await scene.beginRun()
    // Settled items look due still: `--force`, and responses that are stale at once.
    let all = DueRule(horizon: scene.clock.now, takesAll: true)
    #expect(try await scene.drain(rule: all) { $0.fetched($1, lifetime: .zero) } == 40)
    #expect(try await scene.claim(rule: all).claims.isEmpty)
    #expect(try await scene.claim().claims.isEmpty)
    #expect(try await scene.runOnce() == 40)
  }

  struct Case: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var later: Duration
    var rule: @Sendable (Timestamp) -> DueRule
    var taken: Set<String>
  }

  static let rules = [
    Case(
      testDescription: "nothing is due", later: .zero, rule: { DueRule(horizon: $0) }, taken: []),
    Case(
      testDescription: "a lifetime ended", later: .hours(2), rule: { DueRule(horizon: $0) },
      taken: ["short"]),
    Case(
      testDescription: "at its very end", later: .hours(1), rule: { DueRule(horizon: $0) },
      taken: ["short"]),
    Case(
      testDescription: "--refresh-ahead", later: .zero,
      rule: { DueRule(horizon: $0 + .hours(3)) }, taken: ["short"]),
    Case(
      testDescription: "--retry-failed", later: .zero,
      rule: { DueRule(horizon: $0, takesFailed: true) }, taken: ["failed"]),
    Case(
      testDescription: "--force", later: .zero,
      rule: { DueRule(horizon: $0, takesAll: true) }, taken: ["short", "long", "failed"]),
    Case(
      testDescription: "all at once", later: .hours(200), rule: { DueRule(horizon: $0) },
      taken: ["short", "long", "failed"]),
  ]

  @Test(arguments: LedgerKind.all, rules)
  func `takes what the rule calls due`(_ kind: LedgerKind, _ row: Case) async throws {
    var scene = try await Scene(kind)
    try await scene.read(
      ["short", "long", "failed"].map { item($0, "https://\($0).example/a.jpg") })
    try await scene.runOnce { scene, claim in
      switch claim.items[0].id.text {
      case "short": scene.fetched(claim, lifetime: .hours(1))
      case "long": scene.fetched(claim, lifetime: .hours(100))
      default: scene.failed(claim, coolDown: .hours(100))
      }
    }
    scene.clock.advance(by: row.later)
    try await scene.beginRun()
    let claims = try await scene.claim(rule: row.rule(scene.clock.now)).claims
    #expect(Set(claims.flatMap { $0.items.map(\.id.text) }) == row.taken)
  }

  @Test(arguments: LedgerKind.all)
  func `sees items that arrive while a run is under way`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    try await scene.read(items(6))
    try await scene.beginRun()
    #expect(try await scene.drain() == 6)
    try await scene.read(items(6) + items(4, hosts: 7, from: 6))
    #expect(try await scene.drain() == 4)
  }

  @Test(arguments: LedgerKind.all)
  func `passes a picture that thousands of items name on in parts`(
    _ kind: LedgerKind
  ) async throws {
    var scene = try await Scene(kind)
    try await scene.read((0..<2500).map { item("sku-\($0)", "https://h.example/same.jpg") })
    try await scene.beginRun()
    #expect(try await scene.drain() == 2500)
    #expect(try await scene.statusOfJob().fresh == 2500)
  }

  @Test(arguments: LedgerKind.all)
  func `is not slowed by thousands of items that wait for a host`(
    _ kind: LedgerKind
  ) async throws {
    var scene = try await Scene(kind)
    try await scene.read(
      (0..<20_000).map { item("a-\($0)", "https://slow.example/\($0).jpg") }
        + (0..<100).map { item("z-\($0)", "https://ready.example/\($0).jpg") })
    try await scene.beginRun()
    let result = try await scene.claim(room: ["slow.example": 0])
    #expect(result.claims.count == 100 && result.heldBack)
  }
}

@Suite struct `A lease` {
  @Test(arguments: LedgerKind.all)
  func `keeps an entry from other runs until it ends`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    try await scene.read(items(3))
    try await scene.beginRun()
    let mine = try await scene.claim().claims
    var other = Scene(beside: scene)
    other.job = scene.job
    try await other.beginRun()
    var result = try await other.claim()
    #expect(result.claims.isEmpty && result.leasedElsewhere == 3)
    #expect(result.nextLeaseEnd == scene.clock.now + .seconds(30))
    // To the run that holds them they are not elsewhere.
    #expect(try await scene.claim().leasedElsewhere == 0)

    scene.clock.advance(by: .seconds(31))
    result = try await other.claim()
    #expect(result.claims.count == 3 && result.leasedElsewhere == 0)
    for (old, new) in zip(
      mine.sorted { $0.lease.entry < $1.lease.entry },
      result.claims.sorted { $0.lease.entry < $1.lease.entry })
    {
      #expect(new.lease.token > old.lease.token)
    }
  }

  @Test(arguments: LedgerKind.all)
  func `that was lost cannot write`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    try await scene.read(items(1))
    try await scene.beginRun()
    let frozen = try await scene.claim().claims[0]
    scene.clock.advance(by: .seconds(31))
    var other = Scene(beside: scene)
    other.job = scene.job
    try await other.beginRun()
    let taken = try await other.claim().claims[0]
    #expect(try await scene.settle(scene.fetched(frozen, body: "old")) == nil)
    #expect(try await scene.ledger.entry(frozen.lease.entry) == nil)
    #expect(try await scene.ledger.renew([frozen.lease], until: scene.clock.now).isEmpty)
    #expect(try await other.settle(other.fetched(taken, body: "new")) != nil)
    // Neither then nor after the winner has settled.
    #expect(try await scene.settle(scene.fetched(frozen, body: "old")) == nil)
    let entry = try await scene.ledger.entry(frozen.lease.entry)
    #expect(entry?.original?.digest == other.fetched(taken, body: "new").entry.original?.digest)
    #expect(try await scene.ledger.status(at: scene.clock.now).objectCount == 2)
  }

  @Test(arguments: LedgerKind.all)
  func `that ended but was not taken over still holds`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    try await scene.read(items(1))
    try await scene.beginRun()
    let claim = try await scene.claim().claims[0]
    scene.clock.advance(by: .seconds(90))
    #expect(try await scene.settle(scene.fetched(claim)) != nil)
  }

  @Test(arguments: LedgerKind.all)
  func `is lengthened by renewal`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    try await scene.read(items(2))
    try await scene.beginRun()
    let leases = try await scene.claim().claims.map(\.lease)
    scene.clock.advance(by: .seconds(20))
    let until = scene.clock.now + .seconds(30)
    var lost = leases[1]
    lost.token += 7
    let renewed = try await scene.ledger.renew([leases[0], lost], until: until)
    #expect(renewed == [Lease(entry: leases[0].entry, token: leases[0].token, expires: until)])
    scene.clock.advance(by: .seconds(20))
    var other = Scene(beside: scene)
    other.job = scene.job
    try await other.beginRun()
    let result = try await other.claim()
    #expect(result.claims.map(\.lease.entry) == [leases[1].entry])
    #expect(result.leasedElsewhere == 1 && result.nextLeaseEnd == until)
  }

  @Test(arguments: LedgerKind.all)
  func `that is given back is claimed anew with a greater token`(
    _ kind: LedgerKind
  ) async throws {
    var scene = try await Scene(kind)
    try await scene.read(items(4))
    try await scene.beginRun()
    let claims = try await scene.claim().claims
    try await scene.ledger.release(claims.map(\.lease))
    #expect(try await scene.settle(scene.fetched(claims[0])) == nil)
    let again = try await scene.claim().claims
    #expect(again.count == 4)
    #expect(again.map(\.lease.token).min()! > claims.map(\.lease.token).max()!)
    #expect(try await scene.ledger.status(at: scene.clock.now).queueLeased == 4)
  }

  @Test(arguments: LedgerKind.all)
  func `of another job passes the entry on when it is settled`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    try await scene.read(items(1), name: "one")
    var other = Scene(beside: scene)
    try await other.read(items(1), name: "two")
    try await scene.beginRun()
    try await other.beginRun()
    let claim = try await scene.claim().claims[0]
    #expect(try await other.claim().leasedElsewhere == 1)
    try await scene.settle(scene.fetched(claim))
    let passedOn = try await other.claim().claims
    #expect(passedOn.count == 1 && passedOn[0].entry.original != nil)
  }
}
