import ForeignSQLite
import LedgerCore
import TestSupport
import Testing
import Vocabulary

@testable import LedgerSQLite

@Suite struct `Status` {
  @Test(arguments: LedgerKind.all)
  func `of an empty ledger is empty`(_ kind: LedgerKind) async throws {
    let scene = try await Scene(kind)
    #expect(
      try await scene.ledger.status(at: scene.clock.now)
        == LedgerStatus(
          jobs: [], objectCount: 0, objectBytes: 0, queuePending: 0, queueLeased: 0, queueDead: 0,
          nextExpiry: nil))
    #expect(try await scene.ledger.storeID().count == 32)
  }

  @Test(arguments: LedgerKind.all)
  func `tells fresh from stale to the millisecond`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    try await scene.read(items(10))
    let start = scene.clock.now
    try await scene.runOnce { scene, claim in
      let number = Int(claim.items[0].id.text.dropFirst(4))!
      return scene.fetched(claim, lifetime: .milliseconds(20_000 * (number + 1)))
    }
    for stale in 0...10 {
      for (offset, count) in [(-1, max(0, stale - 1)), (0, stale)] {
        let now = start + .milliseconds(20_000 * stale + offset)
        let status = try await scene.ledger.status(at: now)
        #expect(status.jobs[0].stale == count && status.jobs[0].fresh == 10 - count)
        #expect(status.queuePending == count)
        let next = count == 10 ? nil : start + .milliseconds(20_000 * (count + 1))
        #expect(status.nextExpiry == next)
      }
    }
  }

  struct Crowd: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var statement: String
    var isToTheMinute: Bool
  }

  static let crowds = [
    Crowd(
      testDescription: "as many hosts as are looked at",
      statement: "INSERT INTO host_counts SELECT 1, value + 10, 1 FROM numbers LIMIT 19998",
      isToTheMinute: false),
    Crowd(
      testDescription: "one host more",
      statement: "INSERT INTO host_counts SELECT 1, value + 10, 1 FROM numbers LIMIT 19999",
      isToTheMinute: true),
    Crowd(
      testDescription: "as many items in the minute as are looked at",
      statement: "UPDATE due_by_minute SET n = 20000 WHERE minute > 0", isToTheMinute: false),
    Crowd(
      testDescription: "one item more",
      statement: "UPDATE due_by_minute SET n = 20001 WHERE minute > 0", isToTheMinute: true),
  ]

  @Test(arguments: crowds)
  func `tells fresh from stale to the minute where there is too much to look at`(
    _ crowd: Crowd
  ) async throws {
    let (folder, clock) = (LedgerFolder(), TestClock())
    let ledger = try await LedgerSQLite.open(
      path: folder.file("ledger.sqlite"), clock: clock.wall, owner: "test")
    var scene = Scene(ledger: ledger, clock: clock)
    try await scene.read(items(2, hosts: 2))
    // The clock begins with a minute.
    try await scene.runOnce { $0.fetched($1, lifetime: .seconds(90)) }
    try ForeignProgram(folder.file("ledger.sqlite")).query(
      """
      WITH RECURSIVE numbers (value) AS (
        VALUES (1) UNION ALL SELECT value + 1 FROM numbers LIMIT 20000)
      \(crowd.statement)
      """)
    let due = crowd.isToTheMinute ? Duration.seconds(120) : .seconds(90)
    let start = clock.now
    var status = try await ledger.status(at: start + due - .milliseconds(1))
    #expect(status.queuePending == 0 && status.jobs[0].stale == 0)
    #expect(status.nextExpiry == start + due)
    status = try await ledger.status(at: start + due)
    #expect(status.queuePending >= 2 && status.jobs[0].stale == status.queuePending)
    #expect(status.nextExpiry == nil)
  }

  @Test(arguments: LedgerKind.all)
  func `counts each job's items by how they stand`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    try await scene.read(items(8), bad: [badItem("bad")])
    try await scene.beginRun()
    let claims = try await scene.claim().claims
    for claim in claims[..<2] { try await scene.settle(scene.fetched(claim)) }
    for claim in claims[2..<4] { try await scene.settle(scene.failed(claim)) }
    try await scene.settle(scene.purged(claims[4]))
    try await scene.settle(scene.failed(claims[5], coolDown: DurationText.never))
    try await scene.ledger.finishRun(
      scene.run, job: scene.job, counts: [.fetched: 2], at: scene.clock.now)
    let status = try await scene.ledger.status(at: scene.clock.now)
    var expected = LedgerStatus.Job(
      name: "catalog", items: 9, fresh: 2, stale: 0, failed: 4, pending: 2, notStored: 1,
      lastRun: scene.clock.now)
    expected.dead = 1
    #expect(status.jobs == [expected])
    #expect(status.queueLeased == 2 && status.queuePending == 0 && status.queueDead == 1)
  }

  @Test(arguments: LedgerKind.all)
  func `of a host is not troubled by what no other try would mend`(_ kind: LedgerKind) async throws
  {
    var scene = try await Scene(kind)
    try await scene.read(items(2, hosts: 2))
    try await scene.runOnce { scene, claim in
      var settlement = scene.failed(claim)
      if claim.items[0].id.text == "sku-0" {
        settlement.items[0].failure?.disposition = .giveUp
      }
      return settlement
    }
    let hosts = try await scene.ledger.status(at: scene.clock.now).hosts
    #expect(hosts.map(\.host) == ["h1.example"])
  }

  @Test(arguments: LedgerKind.all)
  func `of a run tells what it has not settled`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    try await scene.read(items(9), bad: [badItem("bad")])
    try await scene.runOnce { scene, claim in
      claim.items[0].id.text == "sku-4" ? scene.failed(claim) : scene.fetched(claim)
    }
    #expect(
      try await scene.ledger.unsettled(job: scene.job, run: scene.run) == [.unusable: 1])
    try await scene.beginRun()
    #expect(
      try await scene.ledger.unsettled(job: scene.job, run: scene.run)
        == [.well: 8, .failed: 1, .unusable: 1])
    scene.clock.advance(by: .hours(1))
    #expect(try await scene.drain() == 1)
    #expect(
      try await scene.ledger.unsettled(job: scene.job, run: scene.run)
        == [.well: 8, .unusable: 1])
    try await scene.read(items(5), bad: [badItem("bad")])
    #expect(
      try await scene.ledger.unsettled(job: scene.job, run: scene.run)
        == [.well: 4, .unusable: 1])
  }
}

@Suite struct `What is due next` {
  private func dueAt(_ scene: Scene) async throws -> Timestamp? {
    try await scene.ledger.nextDue().first { $0.number == scene.job }?.dueAt
  }

  @Test(arguments: LedgerKind.all)
  func `is told by the minute, and at once for what is new`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    try await scene.read(items(2), bad: [badItem("bad")])
    #expect(try await dueAt(scene) == Timestamp(milliseconds: 0))
    try await scene.runOnce { $0.fetched($1, lifetime: .hours(1)) }
    let due = try #require(try await dueAt(scene))
    #expect(due > scene.clock.now + .hours(1) && due <= scene.clock.now + .hours(1) + .seconds(60))
    try await scene.read(items(3))
    #expect(try await dueAt(scene) == Timestamp(milliseconds: 0))
    try await scene.runOnce { $0.failed($1, coolDown: .seconds(120)) }
    #expect(try #require(try await dueAt(scene)) <= scene.clock.now + .seconds(180))
  }

  @Test(arguments: LedgerKind.all)
  func `leaves out jobs without items`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    try await scene.read([], bad: [badItem("bad")])
    #expect(try await scene.ledger.nextDue().isEmpty)
  }
}

@Suite struct `What waits` {
  /// Of a minute with very many items none counts before it is over, but those that are leased are known.
  @Test func `is never less than nothing`() async throws {
    let folder = LedgerFolder()
    let clock = TestClock()
    let path = folder.file("ledger.sqlite")
    let ledger = try await LedgerSQLite.open(path: path, clock: clock.wall, owner: "test")
    var scene = Scene(ledger: ledger, clock: clock)
    try await scene.read(items(9))
    try await scene.runOnce { $0.fetched($1, lifetime: .milliseconds(1)) }
    clock.advance(by: .milliseconds(2))
    try await scene.beginRun()
    #expect(try await scene.claim(limit: 5).claims.count == 5)
    let status = try await ledger.status(at: clock.now)
    #expect(status.queuePending == 4 && status.queueLeased == 5)

    let connection = try Connection.openForReading(path: path, patience: .seconds(10))
    let coarse = try StatusReading(connection: connection, now: clock.now, mostLookedAt: 0).status()
    #expect(coarse.queuePending == 0 && coarse.queueLeased == 5)
  }
}
