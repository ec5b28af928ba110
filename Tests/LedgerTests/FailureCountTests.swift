import ForeignSQLite
import LedgerCore
import TestSupport
import Testing
import Vocabulary

@testable import LedgerSQLite

/// A job on a ledger whose file another program looks at.
struct FailureScene {
  let folder = LedgerFolder()
  let ledger: LedgerSQLite
  var scene: Scene
  let start: Timestamp

  init() async throws {
    let clock = TestClock()
    ledger = try await LedgerSQLite.open(
      path: folder.file("ledger.sqlite"), clock: clock.wall, owner: "test")
    scene = Scene(ledger: ledger, clock: clock)
    start = clock.now
  }

  var foreign: ForeignProgram { get throws { try ForeignProgram(folder.file("ledger.sqlite")) } }

  /// Two of each of two hosts that fail, one of a third that does not.
  static let items = [
    item("soon-a", "https://a.example/1.jpg"), item("hopeless-a", "https://a.example/2.jpg"),
    item("soon-b", "https://b.example/1.jpg"), item("never-b", "https://b.example/2.jpg"),
    item("well", "https://c.example/1.jpg"),
  ]

  mutating func fill() async throws {
    try await scene.read(Self.items, bad: [badItem("bad")])
    try await scene.runOnce { scene, claim in
      switch claim.items[0].id.text {
      case "well": return scene.fetched(claim)
      case "hopeless-a": return scene.failed(claim, coolDown: .days(7), .giveUp)
      case "never-b": return scene.failed(claim, coolDown: DurationText.never)
      default: return scene.failed(claim)
      }
    }
  }

  mutating func read(_ items: [ItemEntry], settings: String = "{}") async throws {
    try await scene.read(items, bad: [badItem("bad")], settings: settings)
  }

  /// Dead items, and hosts in trouble as "failures host hours-from-the-start".
  func told() async throws -> (dead: Int, hosts: [String]) {
    let status = try await ledger.status(at: scene.clock.now)
    #expect(status.queueDead == status.jobs.reduce(0) { $0 + $1.dead })
    return (status.queueDead, status.hosts.map { line($0.failures, $0.host, $0.coolingUntil) })
  }

  private func line(_ failures: Int, _ host: String, _ until: Timestamp) -> String {
    let hours = (until - start).wholeMilliseconds / 3_600_000
    return "\(failures) \(host) \(until >= .distantFuture ? "never" : "+\(hours)h")"
  }

  /// The same by a look at every failed item.
  func looked() throws -> (dead: Int, hosts: [String]) {
    let foreign = try foreign
    let dead = try foreign.query(
      """
      SELECT count(*) FROM items WHERE state = 2
        AND (failure_disposition = -1 OR due_at >= \(Timestamp.distantFuture.milliseconds))
      """)
    let hosts = try foreign.query(
      """
      SELECT count(*), name, min(due_at) FROM items JOIN hosts ON hosts.number = host
      WHERE state = 2 AND failure_disposition >= 0
      GROUP BY name HAVING min(due_at) > \(scene.clock.now.milliseconds)
      ORDER BY 1 DESC, 2 LIMIT 20
      """)
    return (
      Int(dead[0][0])!,
      hosts.map { line(Int($0[0])!, $0[1], Timestamp(milliseconds: Int64($0[2])!)) }
    )
  }
}

extension Scene {
  fileprivate func failed(
    _ claim: Claim, coolDown: Duration, _ disposition: Disposition
  ) -> Settlement {
    var settlement = failed(claim, coolDown: coolDown)
    for i in settlement.items.indices { settlement.items[i].failure?.disposition = disposition }
    return settlement
  }
}

@Suite struct `Failed items` {
  fileprivate struct Case: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var dead: Int
    var hosts: [String]
    var change: @Sendable (inout FailureScene) async throws -> Void

    init(
      _ description: String, dead: Int, hosts: [String],
      _ change: @Sendable @escaping (inout FailureScene) async throws -> Void
    ) {
      testDescription = description
      self.dead = dead
      self.hosts = hosts
      self.change = change
    }
  }

  fileprivate static let cases = [
    Case("as they failed", dead: 2, hosts: ["2 b.example +1h", "1 a.example +1h"]) { _ in },
    Case("a millisecond before their time", dead: 2, hosts: ["2 b.example +1h", "1 a.example +1h"])
    {
      $0.scene.clock.advance(by: .hours(1) - .milliseconds(1))
    },
    Case("when their time has come", dead: 2, hosts: []) {
      $0.scene.clock.advance(by: .hours(1))
    },
    Case("that fail again", dead: 2, hosts: ["2 b.example +3h", "1 a.example +3h"]) {
      $0.scene.clock.advance(by: .hours(1))
      let again = try await $0.scene.runOnce { $0.failed($1, coolDown: .hours(2)) }
      #expect(again == 2)
    },
    Case("that go well at last", dead: 2, hosts: ["1 b.example never"]) {
      $0.scene.clock.advance(by: .hours(1))
      try await $0.scene.runOnce()
    },
    Case("that fail for good", dead: 4, hosts: ["1 b.example never"]) {
      $0.scene.clock.advance(by: .hours(1))
      try await $0.scene.runOnce { $0.failed($1, coolDown: .days(7), .giveUp) }
    },
    Case("that stop a run", dead: 2, hosts: ["1 b.example never"]) {
      $0.scene.clock.advance(by: .hours(1))
      try await $0.scene.runOnce { $0.failed($1, coolDown: .hours(1), .stopRun) }
    },
    Case("that are to be tried at once", dead: 1, hosts: []) {
      let count = try await $0.ledger.retryFailed(job: $0.scene.job, codes: nil)
      #expect(count == 4)
    },
    Case("that were tried at once and are well", dead: 0, hosts: []) {
      _ = try await $0.ledger.retryFailed(job: $0.scene.job, codes: nil)
      try await $0.scene.runOnce()
    },
    Case("whose entry was purged", dead: 2, hosts: ["1 a.example +1h", "1 b.example never"]) {
      let key = try #require(try await $0.scene.view("soon-b").key)
      let result = try await $0.ledger.purge([key])
      #expect(result.items == 1)
    },
    Case("whose server forbids to store them", dead: 2, hosts: ["1 b.example never"]) {
      $0.scene.clock.advance(by: .hours(1))
      try await $0.scene.runOnce { $0.purged($1) }
    },
    Case("with another URL", dead: 1, hosts: ["1 a.example +1h", "1 b.example +1h"]) {
      var items = FailureScene.items
      items[3] = item("never-b", "https://other.example/2.jpg")
      try await $0.read(items)
    },
    Case("with a URL that cannot be used", dead: 1, hosts: ["2 b.example +1h", "1 a.example +1h"]) {
      var items = FailureScene.items
      items.remove(at: 1)
      try await $0.scene.read(items, bad: [badItem("hopeless-a"), badItem("bad")])
    },
    Case("with other variants", dead: 2, hosts: ["1 a.example +1h"]) {
      var items = FailureScene.items
      items[2] = item("soon-b", "https://b.example/1.jpg", variants: ["thumb"])
      try await $0.read(items)
    },
    Case("under other settings", dead: 1, hosts: []) {
      try await $0.read(FailureScene.items, settings: "{\"other\":1}")
    },
    Case("that left the manifest", dead: 1, hosts: ["1 b.example never"]) {
      try await $0.read([FailureScene.items[3], FailureScene.items[4]])
    },
    Case("whose name is refused", dead: 2, hosts: ["2 b.example +1h", "1 a.example +1h"]) {
      let links = try await $0.ledger.pendingLinks(limit: 10)
      #expect(links.count == 1)
      try await $0.ledger.refuse(links.map { RefusedLink(link: $0, failure: .sample) })
    },
    Case("whose name is refused for good", dead: 3, hosts: ["2 b.example +1h", "1 a.example +1h"]) {
      var failure = FailureRecord.sample
      failure.disposition = .giveUp
      let links = try await $0.ledger.pendingLinks(limit: 10)
      try await $0.ledger.refuse(links.map { RefusedLink(link: $0, failure: failure) })
    },
    Case("of a job beside", dead: 3, hosts: ["4 b.example +1h", "1 a.example +1h"]) {
      var other = Scene(beside: $0.scene)
      try await other.read(Array(FailureScene.items[2...3]), name: "other")
      try await other.runOnce { scene, claim in
        scene.failed(
          claim,
          coolDown: claim.items[0].id.text == "never-b" ? DurationText.never : .hours(1))
      }
    },
    Case("of a job that was removed", dead: 0, hosts: []) {
      let job = try await $0.ledger.emptyJob(named: "catalog", keepsNames: true)
      try await $0.ledger.confirm(try await $0.ledger.pendingLinks(limit: 10))
      let isGone = try await $0.ledger.forgetJob(try #require(job))
      #expect(isGone == true)
      let left = try $0.foreign.count("host_failures")
      #expect(left == 0)
    },
  ]

  @Test(arguments: cases)
  fileprivate func `are told by kept counters, as a look at each would tell`(
    _ row: Case
  ) async throws {
    var scene = try await FailureScene()
    try await scene.fill()
    try await row.change(&scene)
    let (told, looked) = (try await scene.told(), try scene.looked())
    #expect(told.dead == row.dead && told.hosts == row.hosts)
    #expect(looked.dead == row.dead && looked.hosts == row.hosts)
    #expect(try await scene.ledger.wrongCounters() == [])
  }

  @Test(arguments: 1...4)
  func `are told the same after any number of changes`(seed: UInt64) async throws {
    var luck = SeededGenerator(seed: seed)
    var scene = try await FailureScene()
    try await scene.read(items(60, hosts: 5))
    for _ in 1...30 {
      switch Int.random(in: 0..<8, using: &luck) {
      case 0:
        try await scene.read(items(Int.random(in: 20...60, using: &luck), hosts: 5))
      case 1: try await scene.read(items(60, hosts: Int.random(in: 4...6, using: &luck)))
      case 2: _ = try await scene.ledger.retryFailed(job: scene.scene.job, codes: nil)
      case 3:
        let key = try await scene.scene.view("sku-\(Int.random(in: 0..<20, using: &luck))").key
        _ = try await scene.ledger.purge([try #require(key)])
      default:
        scene.scene.clock.advance(by: .seconds(Int.random(in: 0...7200, using: &luck)))
        try await scene.scene.runOnce { scene, claim in
          let coolDown = Duration.seconds(Int.random(in: 0...7200, using: &luck))
          switch Int.random(in: 0..<4, using: &luck) {
          case 0: return scene.fetched(claim, lifetime: coolDown)
          case 1: return scene.failed(claim, coolDown: coolDown, .giveUp)
          default: return scene.failed(claim, coolDown: coolDown)
          }
        }
      }
      let (told, looked) = (try await scene.told(), try scene.looked())
      #expect(told.dead == looked.dead && told.hosts == looked.hosts)
    }
    #expect(try await scene.ledger.wrongCounters() == [])
  }

  @Test func `of the twenty hosts with most are told, those to be tried now left out`()
    async throws
  {
    var scene = try await FailureScene()
    let items = (1...25).flatMap { host in
      (1...host).map { item("\(host)-\($0)", "https://h\(host).example/\($0).jpg") }
    }
    try await scene.read(items)
    try await scene.scene.runOnce { scene, claim in
      let isToBeTried = claim.items[0].id.text.hasPrefix("24-")
      return scene.failed(claim, coolDown: isToBeTried ? .zero : .hours(1))
    }
    let expected = (1...25).reversed().filter { $0 != 24 }.prefix(20)
    #expect(try await scene.told().hosts == expected.map { "\($0) h\($0).example +1h" })
  }

  @Test func `of an older ledger are counted when it is brought up`() async throws {
    var scene = try await FailureScene()
    try await scene.fill()
    await scene.ledger.close()
    try scene.foreign.execute(
      """
      ALTER TABLE items DROP COLUMN entry_place; ALTER TABLE items DROP COLUMN has_twin;
      DROP TABLE host_failures; DROP INDEX items_mendable; ALTER TABLE jobs DROP COLUMN dead;
      ALTER TABLE due_by_minute RENAME TO due_counts;
      PRAGMA user_version = \(Schema.migrations.firstIndex(of: Schema.failureCounts)!);
      """)
    let ledger = try await LedgerSQLite.open(
      path: scene.folder.file("ledger.sqlite"), clock: scene.scene.clock.wall, owner: "test")
    let status = try await ledger.status(at: scene.scene.clock.now)
    #expect(status.queueDead == 2)
    #expect(status.hosts.map { "\($0.failures) \($0.host)" } == ["2 b.example", "1 a.example"])
    #expect(try await ledger.wrongCounters() == [])
  }
}
