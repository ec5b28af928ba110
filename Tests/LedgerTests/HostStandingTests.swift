import LedgerCore
import Testing
import Vocabulary

private let start = Timestamp(milliseconds: 1_800_000_000_000)

private func standing(
  _ changedAt: Int64, limit: Int? = nil, failures: Int = 0, heldUntil: Int64? = nil
) -> HostStanding {
  var standing = HostStanding()
  standing.changedAt = start + .seconds(changedAt)
  standing.limit = limit
  standing.failuresInARow = failures
  standing.reason = failures > 0 ? "no connection" : ""
  standing.brokenUntil = failures >= 5 ? start + .seconds(changedAt + 30) : nil
  standing.heldUntil = heldUntil.map { start + .seconds($0) }
  return standing
}

@Suite struct `Two processes' knowledge of a host` {
  struct Row: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var first: HostStanding
    var second: HostStanding
    var together: HostStanding
  }

  static let rows = [
    Row(
      testDescription: "later trouble counts", first: standing(1, limit: 4),
      second: standing(2, limit: 2, failures: 5), together: standing(2, limit: 2, failures: 5)),
    Row(
      testDescription: "a later success counts", first: standing(1, limit: 1, failures: 7),
      second: standing(9), together: standing(9)),
    Row(
      testDescription: "of one instant, the longer row of failures",
      first: standing(1, failures: 6), second: standing(1, limit: 1, failures: 5),
      together: standing(1, failures: 6)),
    Row(
      testDescription: "of one instant, the lower limit", first: standing(1, limit: 3),
      second: standing(1), together: standing(1, limit: 3)),
    Row(
      testDescription: "the longer hold, whoever knows more", first: standing(1, heldUntil: 3600),
      second: standing(2, failures: 5, heldUntil: 60),
      together: standing(2, failures: 5, heldUntil: 3600)),
    Row(
      testDescription: "a hold outlasts a success", first: standing(1, heldUntil: 3600),
      second: standing(2), together: standing(2, heldUntil: 3600)),
  ]

  @Test(arguments: rows)
  func `is put together the same from either side`(_ row: Row) {
    #expect(row.first.merged(with: row.second) == row.together)
    #expect(row.second.merged(with: row.first) == row.together)
    #expect(row.together.merged(with: row.first) == row.together)
  }
}

@Suite struct `A host's standing in the ledger` {
  @Test(arguments: LedgerKind.all)
  func `is read by others once per change`(_ kind: LedgerKind) async throws {
    let scene = try await Scene(kind)
    let (ledger, now) = (scene.ledger, scene.clock.now)
    try await ledger.note(
      ["a": standing(0, failures: 5), "b": standing(0, limit: 2, heldUntil: 90)], at: now)
    let first = try await ledger.standings(after: 0)
    #expect(
      first.hosts == ["a": standing(0, failures: 5), "b": standing(0, limit: 2, heldUntil: 90)])
    try await ledger.note(["a": standing(0, failures: 5)], at: now)
    #expect(try await ledger.standings(after: first.revision).hosts == [:])
    try await ledger.note(["a": standing(-9), "b": standing(1, limit: 1)], at: now)
    let second = try await ledger.standings(after: first.revision)
    #expect(second.hosts == ["b": standing(1, limit: 1, heldUntil: 90)], "older news is no news")
    #expect(try await ledger.standings(after: second.revision).revision == second.revision)
  }

  @Test(arguments: LedgerKind.all)
  func `goes when the host is well again, after all have heard of it`(_ kind: LedgerKind)
    async throws
  {
    let scene = try await Scene(kind)
    let ledger = scene.ledger
    try await ledger.note(["well": standing(0)], at: scene.clock.now)
    #expect(try await ledger.standings(after: 0).hosts == [:], "there was no trouble to end")
    try await ledger.note(["a": standing(0, failures: 5)], at: scene.clock.now)
    try await ledger.note(["a": standing(1)], at: scene.clock.now)
    #expect(try await ledger.standings(after: 0).hosts == ["a": standing(1)])
    #expect(try await ledger.status(at: scene.clock.now).hosts == [])
    scene.clock.advance(by: .seconds(62))
    try await ledger.note([:], at: scene.clock.now)
    #expect(try await ledger.standings(after: 0).hosts == [:])
  }

  @Test(arguments: LedgerKind.all)
  func `is forgotten a week after the last word of it, but not while a hold lasts`(
    _ kind: LedgerKind
  ) async throws {
    let scene = try await Scene(kind)
    try await scene.ledger.note(
      ["old": standing(0, limit: 2), "held": standing(0, heldUntil: 10 * 86_400)],
      at: scene.clock.now)
    scene.clock.advance(by: .days(7))
    try await scene.ledger.note([:], at: scene.clock.now)
    #expect(try await scene.ledger.standings(after: 0).hosts.keys.sorted() == ["held", "old"])
    scene.clock.advance(by: .milliseconds(1))
    try await scene.ledger.note([:], at: scene.clock.now)
    #expect(try await scene.ledger.standings(after: 0).hosts.keys.sorted() == ["held"])
  }

  @Test(arguments: LedgerKind.all)
  func `holds no longer than it may where the clock went back`(_ kind: LedgerKind) async throws {
    let scene = try await Scene(kind)
    let ledger = scene.ledger
    try await ledger.note(
      ["a": standing(0, failures: 5, heldUntil: 60)], at: scene.clock.now)
    #expect(
      try await ledger.beginProbe(
        of: "a", by: RunNumber(1), until: scene.clock.now + .seconds(30), at: scene.clock.now)
        == nil)
    scene.clock.advance(by: .zero - .days(3650))
    let now = scene.clock.now
    let read = try #require(try await ledger.standings(after: 0).hosts["a"]).believed(at: now)
    #expect(read.heldUntil == now + .days(1) && read.changedAt == now)
    #expect(
      try await ledger.beginProbe(
        of: "a", by: RunNumber(2), until: now + .seconds(30), at: now) == nil)
    // Whoever reaches it now knows it better than what was told in the future.
    var well = HostStanding()
    well.changedAt = now + .seconds(1)
    try await ledger.note(["a": well], at: now)
    let after = try #require(try await ledger.standings(after: 0).hosts["a"])
    #expect(after.failuresInARow == 0 && after.heldUntil == now + .days(1))
  }

  @Test(arguments: LedgerKind.all)
  func `lets one run at a time try whether it is back`(_ kind: LedgerKind) async throws {
    let scene = try await Scene(kind)
    let (ledger, now) = (scene.ledger, scene.clock.now)
    try await ledger.note(["a": standing(0, failures: 5)], at: now)
    func probe(_ run: Int64, at now: Timestamp) async throws -> Timestamp? {
      try await ledger.beginProbe(
        of: "a", by: RunNumber(run), until: now + .seconds(30), at: now)
    }
    #expect(try await probe(1, at: now) == nil)
    #expect(try await probe(2, at: now) == now + .seconds(30))
    #expect(try await probe(1, at: now) == nil, "it goes on with its own")
    #expect(try await probe(2, at: now + .seconds(30)) == nil, "the first has brought no answer")
    try await ledger.note(["a": standing(5, failures: 6)], at: now)
    #expect(try await probe(1, at: now) == nil, "a change ends a probe")
  }

  @Test(arguments: LedgerKind.all)
  func `is told by the status, with what fails there`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    try await scene.read(items(6, hosts: 2))
    try await scene.runOnce { $0.failed($1, coolDown: .seconds(40)) }
    let now = scene.clock.now
    try await scene.ledger.note(
      [
        "h0.example": standing(0, limit: 2, heldUntil: 3600),
        "silent.example": standing(0, failures: 5), "slow.example": standing(0, limit: 1),
      ], at: now)
    let hosts = try await scene.ledger.status(at: now).hosts.sorted { $0.host < $1.host }
    #expect(hosts.map(\.host) == ["h0.example", "h1.example", "silent.example"])
    #expect(hosts.map(\.failures) == [3, 3, 0])
    #expect(hosts.map { $0.coolingUntil - now } == [.seconds(3600), .seconds(40), .seconds(30)])
    #expect(hosts[0].standing == standing(0, limit: 2, heldUntil: 3600))
    #expect(hosts[1].standing == HostStanding())
  }
}
