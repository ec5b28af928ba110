import ForeignSQLite
import LedgerCore
import LedgerSQLite
import TestSupport
import Testing
import Vocabulary

@Suite struct `What a dead worker held` {
  private let folder = LedgerFolder()
  private let clock = TestClock()
  private var path: String { folder.file("ledger.sqlite") }

  /// A worker of its own; all have the same name, as in containers, where each is process 1.
  private func worker(beside other: Scene? = nil) async throws -> Scene {
    let ledger = try await LedgerSQLite.open(path: path, clock: clock.wall, owner: "box:1")
    var scene = Scene(ledger: ledger, clock: clock)
    if let other {
      scene.job = other.job
      try await scene.beginRun()
    }
    return scene
  }

  /// One that has claimed three entries and is no more.
  private func dead() async throws -> (scene: Scene, claims: [Claim]) {
    var scene = try await worker()
    try await scene.read(items(3))
    try await scene.beginRun()
    let claims = try await scene.claim().claims
    try #require(claims.count == 3)
    await scene.ledger.close()
    return (scene, claims)
  }

  @Test func `is gone on with when its lease is over, by one of the same name too`() async throws {
    let (before, claims) = try await dead()
    let next = try await worker(beside: before)
    var result = try await next.claim()
    #expect(result.claims.isEmpty && result.leasedElsewhere == 3)
    #expect(result.nextLeaseEnd == clock.now + .seconds(30))
    clock.advance(by: .seconds(30) - .milliseconds(1))
    #expect(try await next.claim().claims.isEmpty)
    clock.advance(by: .milliseconds(1))
    #expect(try await next.ledger.status(at: clock.now).queueExpired == 3)
    result = try await next.claim()
    #expect(result.claims.count == 3 && result.leasedElsewhere == 0)
    #expect(try await next.settle(before.fetched(claims[0])) == nil, "the dead one writes nothing")
    for claim in result.claims { #expect(try await next.settle(next.fetched(claim)) != nil) }
    #expect(try await next.statusOfJob().fresh == 3)
  }

  @Test func `months ago is taken as soon as anybody claims`() async throws {
    let (before, claims) = try await dead()
    let foreign = try ForeignProgram(path)
    for number in 0..<5000 {
      try foreign.query(
        """
        INSERT INTO leases VALUES (CAST(printf('%016d', \(number)) AS BLOB), 1, 'nobody', 1, 5, NULL)
        """)
    }
    try foreign.query("UPDATE leases SET expires = 1000 WHERE owner = 'box:1'")
    #expect(foreign.count("leases") == 5003)
    let next = try await worker(beside: before)
    #expect(try await next.claim().claims.count == claims.count)
    let status = try await next.ledger.status(at: clock.now)
    #expect(status.queueLeased == claims.count && status.queueExpired == 0)
    #expect(foreign.count("leases") == claims.count, "what nobody will claim is gone")
  }

  @Test(arguments: [Duration.seconds(1), .hours(5), .days(3650)])
  func `is held for one lease at most where the clock went back`(_ back: Duration) async throws {
    let (before, claims) = try await dead()
    clock.advance(by: .zero - back)
    let next = try await worker(beside: before)
    let result = try await next.claim()
    #expect(result.leasedElsewhere == 3)
    #expect(try #require(result.nextLeaseEnd) <= clock.now + .seconds(30))
    let target = try await next.ledger.lease(
      claims[0].lease.entry, for: [], run: next.run, until: clock.now + .seconds(30),
      at: clock.now)
    #expect(target == .held(until: try #require(result.nextLeaseEnd)))
    clock.advance(by: .seconds(30))
    #expect(try await next.claim().claims.count == 3)
  }

  @Test func `and what a living one holds are two things where the clock went back`() async throws {
    var living = try await worker()
    try await living.read(items(2))
    try await living.beginRun()
    let claims = try await living.claim().claims
    clock.advance(by: .zero - .hours(5))
    let other = try await worker(beside: living)
    #expect(try await other.claim().leasedElsewhere == 2)
    for _ in 1...5 {
      clock.advance(by: .seconds(10))
      let renewed = try await living.ledger.renew(
        claims.map(\.lease), until: clock.now + .seconds(30))
      #expect(renewed.count == 2)
      #expect(try await other.claim().claims.isEmpty)
    }
    #expect(try await living.settle(living.fetched(claims[0])) != nil)
  }
}

@Suite struct `A dead item` {
  /// What a decoder says of bytes that no other decoder will like better.
  private static let hopeless = FailureRecord(
    code: "corrupt-image", message: "it ends early", hint: "export it again", disposition: .giveUp)

  @Test func `is counted as such, and revived by retry`() async throws {
    let (folder, clock) = (LedgerFolder(), TestClock())
    let ledger = try await LedgerSQLite.open(
      path: folder.file("ledger.sqlite"), clock: clock.wall, owner: "test")
    var scene = Scene(ledger: ledger, clock: clock)
    try await scene.read(items(4), bad: [badItem("bad")])
    try await scene.runOnce { scene, claim in
      switch claim.items[0].id.text {
      case "sku-0": return scene.fetched(claim)
      case "sku-1": return scene.failed(claim)
      default:
        var settlement = scene.fetched(claim, lifetime: .days(7))
        settlement.items[0].state = .failed
        settlement.items[0].outcome = .failed
        settlement.items[0].failure = Self.hopeless
        return settlement
      }
    }
    var status = try await scene.ledger.status(at: scene.clock.now)
    #expect(status.jobs[0].failed == 4 && status.jobs[0].dead == 2 && status.queueDead == 2)
    #expect(status.queuePending == 0)
    #expect(try await ledger.retryFailed(job: scene.job, codes: ["corrupt-image"]) == 2)
    status = try await scene.ledger.status(at: scene.clock.now)
    #expect(status.queuePending == 2)
    #expect(try await scene.runOnce() == 2)
    status = try await scene.ledger.status(at: scene.clock.now)
    #expect(status.jobs[0].dead == 0 && status.jobs[0].fresh == 3)
  }
}

@Suite struct `A job of more names than one transaction changes` {
  @Test func `has all of them linked again, and is forgotten with all of them`() async throws {
    let (folder, clock, count) = (LedgerFolder(), TestClock(), 1300)
    let path = folder.file("ledger.sqlite")
    let ledger = try await LedgerSQLite.open(path: path, clock: clock.wall, owner: "test")
    var scene = Scene(ledger: ledger, clock: clock)
    try await scene.read(items(count))
    try await scene.runOnce()
    try await ledger.confirm(try await ledger.pendingLinks(limit: 2 * count))
    #expect(try await ledger.pendingLinks(limit: 1).isEmpty)
    try await ledger.forgetLinks(of: scene.job, at: clock.now)
    let pending = try await ledger.pendingLinks(limit: 2 * count)
    #expect(pending.count == count && pending.allSatisfy { $0.object != nil })

    try await ledger.confirm(pending)
    #expect(try await ledger.emptyJob(named: "catalog", keepsNames: true) == scene.job)
    #expect(try await ledger.forgetJob(scene.job))
    let foreign = try ForeignProgram(path)
    #expect(foreign.count("published") == 0 && foreign.count("jobs") == 0)
    #expect(try await ledger.wrongCounters() == [])
  }
}
