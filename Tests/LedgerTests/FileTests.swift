import ForeignSQLite
import Glibc
import Hashing
import LedgerCore
import Synchronization
import TestSupport
import Testing
import Threading
import Vocabulary

@testable import LedgerSQLite

@Suite struct `The ledger's file` {
  private let folder = LedgerFolder(isOnDisk: true)
  private let clock = TestClock()
  private var path: String { folder.file("ledger.sqlite") }

  private func open(
    _ owner: String = "test", patience: Duration = .seconds(60)
  ) async throws(LedgerFailure) -> LedgerSQLite {
    try await LedgerSQLite.open(path: path, clock: clock.wall, owner: owner, patience: patience)
  }

  @Test func `is for its owner only, its WAL too`() async throws {
    let old = umask(0)
    defer { umask(old) }
    let ledger = try await open()
    var scene = Scene(ledger: ledger, clock: clock)
    try await scene.read(items(3))
    for name in ["ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm"] {
      var about = stat()
      #expect(stat(folder.file(name), &about) == 0)
      #expect(about.st_mode & 0o777 == 0o600, "\(name)")
    }
  }

  @Test func `keeps its name and everything else when it is opened again`() async throws {
    var ledger = try await open()
    var scene = Scene(ledger: ledger, clock: clock)
    try await scene.read(items(10))
    try await scene.runOnce()
    let name = try await ledger.storeID()
    let status = try await ledger.status(at: clock.now)
    await ledger.close()
    await #expect(throws: LedgerFailure.other(path: path, reason: "it was closed")) {
      try await ledger.storeID()
    }
    ledger = try await open()
    #expect(try await ledger.storeID() == name)
    #expect(try await ledger.status(at: clock.now) == status)
    #expect(try await ledger.job(named: "catalog")?.identity == .sample)
  }

  /// What has been said to be written is there, and nobody waits for ever.
  @Test func `is closed behind those in line, and refuses those who come later`() async throws {
    let ledger = try await open()
    var scene = Scene(ledger: ledger, clock: clock)
    try await scene.read(items(1))
    let job = try #require(try await ledger.job(named: "catalog")).number
    let now = clock.now
    let begun = try await withThrowingTaskGroup(of: RunNumber?.self) { group in
      for _ in 1...600 {
        group.addTask { [path] in
          do throws(LedgerFailure) {
            return try await ledger.beginRun(job: job, at: now)
          } catch {
            #expect(error == .other(path: path, reason: "it was closed"))
            return nil
          }
        }
      }
      group.addTask {
        await ledger.close()
        return nil
      }
      return try await group.compactMap { $0?.value }.reduce(into: []) { $0.append($1) }
    }
    #expect(begun.sorted() == (0..<begun.count).map { Int64($0) + 1 })
    let next = try await (try await open()).beginRun(job: job, at: now)
    #expect(next.value == Int64(begun.count) + 1)
  }

  @Test func `is no ledger: it is left as it is`() async throws {
    let text = Array(String(repeating: "this is no database at all. ", count: 200).utf8)
    folder.write(text, to: "ledger.sqlite")
    await #expect(throws: LedgerFailure.damaged(path: path, reason: "file is not a database")) {
      try await open()
    }
    await #expect(throws: LedgerFailure.damaged(path: path, reason: "file is not a database")) {
      try await LedgerSQLite.openReadOnly(path: path)
    }
    #expect(folder.contents("ledger.sqlite") == text)
  }

  @Test func `is another program's database: it is left as it is`() async throws {
    try ForeignProgram(path).query("CREATE TABLE theirs (a)")
    let before = folder.contents("ledger.sqlite")
    await #expect(
      throws: LedgerFailure.foreign(path: path)
    ) { try await open() }
    #expect(folder.contents("ledger.sqlite") == before)
  }

  @Test func `is newer than this program: it is left as it is`() async throws {
    await (try await open()).close()
    try ForeignProgram(path).query("PRAGMA user_version = 99")
    let before = folder.contents("ledger.sqlite")
    let newer = LedgerFailure.newer(path: path, version: 99, supported: Schema.version)
    await #expect(throws: newer) { try await open() }
    await #expect(throws: newer) { try await LedgerSQLite.openReadOnly(path: path) }
    #expect(folder.contents("ledger.sqlite") == before)
  }

  @Test
  func `is brought to a newer schema while it is open: what writes says so, and changes nothing`()
    async throws
  {
    let ledger = try await open()
    let token = try await ledger.beginIngest(
      name: "catalog", settings: "{}", settingsDigest: Digest(of: ""), at: clock.now)
    try ForeignProgram(path).query("PRAGMA user_version = 99")
    let newer = LedgerFailure.newer(path: path, version: 99, supported: Schema.version)
    await #expect(throws: newer) { try await ledger.beginRun(job: token.job, at: clock.now) }
    await #expect(throws: newer) {
      try await ledger.finishIngest(token, identity: nil, prune: true)
    }
    await ledger.close()
    #expect(try ForeignProgram(path).query("SELECT count(*) FROM runs") == [["0"]])
  }

  @Test func `is older than this program: who only reads leaves it, who writes brings it up`()
    async throws
  {
    let foreign = try ForeignProgram(path)
    for migration in Schema.migrations.dropLast() { try foreign.execute(migration) }
    try foreign.query("PRAGMA application_id = \(Schema.applicationID)")
    try foreign.query("PRAGMA user_version = \(Schema.version - 1)")
    let id = String(repeating: "0", count: 32)
    try foreign.query(
      "INSERT INTO meta (only_row, store_id, token, objects, object_bytes) VALUES (1, '\(id)', 0, 0, 0)"
    )
    let before = folder.contents("ledger.sqlite")
    let older = LedgerFailure.older(
      path: path, version: Schema.version - 1, supported: Schema.version)
    await #expect(throws: older) { try await LedgerSQLite.openReadOnly(path: path) }
    #expect(folder.contents("ledger.sqlite") == before)
    await (try await open()).close()
    let reader = try await LedgerSQLite.openReadOnly(path: path)
    #expect(try await reader.storeID() == id)
    await reader.close()
  }

  @Test func `is damaged inside: what meets it says so`() async throws {
    var ledger = try await open()
    var scene = Scene(ledger: ledger, clock: clock)
    try await scene.read(items(2000))
    await ledger.close()
    var bytes = try #require(folder.contents("ledger.sqlite"))
    // All pages but the first few, which hold the schema.
    for i in 40 * 4096..<bytes.count { bytes[i] = UInt8(truncatingIfNeeded: i &* 31) }
    folder.write(bytes, to: "ledger.sqlite")
    await #expect {
      ledger = try await open()
      scene = Scene(ledger: ledger, clock: clock)
      try await scene.read(items(2000), settings: "{\"other\":1}")
    } throws: { error in
      if case LedgerFailure.damaged = error { true } else { false }
    }
  }

  @Test func `is absent: reading says so, and makes none`() async throws {
    await #expect(throws: LedgerFailure.unreadable(path: path, reason: "no such file")) {
      try await LedgerSQLite.openReadOnly(path: path)
    }
    #expect(access(path, F_OK) != 0)
  }

  @Test func `cannot be made where its folder is missing`() async throws {
    let path = folder.file("missing/ledger.sqlite")
    await #expect(
      throws: LedgerFailure.unreadable(path: path, reason: "No such file or directory")
    ) { try await LedgerSQLite.open(path: path, clock: clock.wall, owner: "test") }
  }

  @Test func `can be read while others write, and not written`() async throws {
    let ledger = try await open()
    var scene = Scene(ledger: ledger, clock: clock)
    try await scene.read(items(4))
    let readOnly = try await LedgerSQLite.openReadOnly(path: path)
    #expect(try await readOnly.status(at: clock.now).queuePending == 4)
    try await scene.runOnce()
    #expect(try await readOnly.status(at: clock.now).jobs[0].fresh == 4)
    await #expect(throws: LedgerFailure.readOnly(path: path)) {
      try await readOnly.beginRun(job: scene.job, at: clock.now)
    }
    await ledger.close()
    #expect(try await readOnly.status(at: clock.now).jobs[0].fresh == 4)
  }

  @Test func `that may not be written is called read-only`() async throws {
    await (try await open()).close()
    let lock = try #require(UnwritableFile(path), "nothing here keeps root from writing")
    let before = folder.contents("ledger.sqlite")
    await #expect(throws: LedgerFailure.readOnly(path: path)) { try await open() }
    #expect(folder.contents("ledger.sqlite") == before)
    let readOnly = try await LedgerSQLite.openReadOnly(path: path)
    #expect(try await readOnly.status(at: clock.now).jobs.isEmpty)
    await readOnly.close()
    withExtendedLifetime(lock) {}
  }

  @Test(.enabled(if: geteuid() == 0, "mounting a small file system needs root"))
  func `survives a full disk and goes on when there is space again`() async throws {
    let disk = try #require(SmallDisk(bytes: 2 << 20))
    let path = disk.file("ledger.sqlite")
    let ledger = try await LedgerSQLite.open(path: path, clock: clock.wall, owner: "test")
    var scene = Scene(ledger: ledger, clock: clock)
    await #expect(throws: LedgerFailure.diskFull(path: path)) {
      for count in stride(from: 1000, to: 20_000, by: 1000) { try await scene.read(items(count)) }
    }
    #expect(try await scene.ledger.status(at: clock.now).jobs[0].items >= 1000)
    try disk.grow(to: 64 << 20)
    try await scene.read(items(20_000))
    #expect(try await scene.statusOfJob().items == 20_000)
    await ledger.close()
    #expect(try ForeignProgram(path).query("PRAGMA integrity_check") == [["ok"]])
  }
}

@Suite struct `Several programs` {
  private let folder = LedgerFolder()
  private let clock = TestClock()
  private var path: String { folder.file("ledger.sqlite") }

  private func open(patience: Duration = .seconds(60)) async throws -> LedgerSQLite {
    try await LedgerSQLite.open(path: path, clock: clock.wall, owner: "same", patience: patience)
  }

  @Test func `may make one ledger at the same time`() async throws {
    let names = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 1...6 { group.addTask { try await open().storeID() } }
      return try await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(names.count == 1)
  }

  @Test func `are waited for while they hold the lock`() async throws {
    let ledger = try await open()
    var scene = Scene(ledger: ledger, clock: clock)
    try await scene.read(items(20))
    try await scene.beginRun()
    let claims = try await scene.claim().claims
    try #require(await holdLock(path, for: .seconds(3)))
    try await withThrowingTaskGroup(of: Void.self) { [scene] group in
      for claim in claims[..<10] {
        group.addTask {
          let links = try await scene.settle(scene.fetched(claim))
          #expect(links?.count == 1)
        }
      }
      group.addTask {
        let renewed = try await ledger.renew(
          claims[10...].map(\.lease), until: scene.clock.now + .seconds(60))
        #expect(renewed.count == 10)
      }
      // Reading does not wait.
      group.addTask {
        let status = try await ledger.status(at: scene.clock.now)
        #expect(status.queueLeased == 20)
      }
      try await group.waitForAll()
    }
    #expect(try await scene.statusOfJob().fresh == 10)
  }

  @Test func `are named as the reason when they hold it for too long`() async throws {
    let ledger = try await open(patience: .milliseconds(100))
    var scene = Scene(ledger: ledger, clock: clock)
    try await scene.read(items(1))
    let foreign = try ForeignProgram(path)
    try foreign.query("BEGIN IMMEDIATE")
    await #expect {
      try await scene.beginRun()
    } throws: { error in
      guard case LedgerFailure.busy(path, let waited) = error else { return false }
      return waited >= .milliseconds(100)
    }
    try foreign.query("ROLLBACK")
    try await scene.beginRun()
  }

  @Test(arguments: 1...3)
  func `share a job: each item is settled once`(seed: Int) async throws {
    let ledgers = [try await open(), try await open(), try await open()]
    var scene = Scene(ledger: ledgers[0], clock: clock)
    let count = 600
    try await scene.read(items(count, hosts: 7))
    let settled = Settled()
    try await withThrowingTaskGroup(of: Void.self) { [scene] group in
      for worker in 0..<6 {
        group.addTask {
          var worker = Worker(
            Scene(beside: scene, ledger: ledgers[worker % 3]), seed: seed * 100 + worker)
          worker.scene.job = scene.job
          try await worker.work(settled)
        }
      }
      try await group.waitForAll()
    }
    let counts = settled.counts
    #expect(counts.count == count && counts.values.allSatisfy { $0 == 1 })
    #expect(try await scene.statusOfJob().fresh == count)
    #expect(try await ledgers[1].pendingLinks(limit: 1).isEmpty)
    try expectTrueCounters(path)
  }

  @Test func `may be killed at any moment: what is on disk opens and is whole`() async throws {
    let ledger = try await open()
    var scene = Scene(ledger: ledger, clock: clock)
    try await scene.read(items(3000))
    try await scene.beginRun()
    for round in 0..<6 {
      let working = scene
      async let work: Void = claimAndSettle(working)
      // What a power cut would leave: the WAL as it is at this moment, and the file before it.
      let copy = LedgerFolder()
      let database = try #require(folder.contents("ledger.sqlite"))
      let wal = try #require(folder.contents("ledger.sqlite-wal"))
      copy.write(database, to: "ledger.sqlite")
      copy.write(Array(wal.prefix(wal.count - (round * 997) % 4096)), to: "ledger.sqlite-wal")
      try await work
      let reopened = try await LedgerSQLite.open(
        path: copy.file("ledger.sqlite"), clock: clock.wall, owner: "next")
      let other = Scene(ledger: reopened, clock: clock)
      #expect(try await other.statusOfJob().items == 3000)
      await reopened.close()
      try expectTrueCounters(copy.file("ledger.sqlite"))
    }
  }

  private func claimAndSettle(_ scene: Scene) async throws {
    let claims = try await scene.claim(limit: 200, perHost: 200).claims
    try await withThrowingTaskGroup(of: Void.self) { group in
      for claim in claims {
        group.addTask { _ = try await scene.settle(scene.fetched(claim)) }
      }
      try await group.waitForAll()
    }
  }

  @Test func `do not make the WAL grow`() async throws {
    let ledger = try await open()
    var scene = Scene(ledger: ledger, clock: clock)
    try await scene.read(items(30_000))
    let readOnly = try await LedgerSQLite.openReadOnly(path: path)
    async let watching: Void = {
      for _ in 1...100 { _ = try await readOnly.status(at: clock.now) }
    }()
    var largest = 0
    for round in 1...3 {
      try await scene.read(items(30_000), settings: "{\"round\":\(round)}")
      largest = max(largest, folder.size("ledger.sqlite-wal"))
    }
    try await watching
    #expect(largest > 4 << 20 && largest <= 64 << 20)
  }
}

/// How often each item was settled.
private final class Settled: Sendable {
  private let byID = Mutex<[String: Int]>([:])

  var counts: [String: Int] { byID.withLock { $0 } }
  func add(_ id: ItemID) { byID.withLock { $0[id.text, default: 0] += 1 } }
}

/// One worker among several, whose luck is drawn from a seed.
private struct Worker {
  var scene: Scene
  private var luck: SeededGenerator

  init(_ scene: Scene, seed: Int) {
    self.scene = scene
    luck = SeededGenerator(seed: UInt64(seed))
  }

  /// Claims, settles, gives back, is frozen past its lease, until its run is drained.
  mutating func work(_ settled: Settled) async throws {
    try await scene.beginRun()
    while true {
      let result = try await scene.claim(limit: Int.random(in: 1...20, using: &luck), perHost: 4)
      if result.claims.isEmpty, !result.heldBack, result.leasedElsewhere == 0 { return }
      if result.claims.isEmpty { await Task.yield() }
      for claim in result.claims {
        switch Int.random(in: 0..<10, using: &luck) {
        case 0: try await scene.ledger.release([claim.lease])
        case 1:
          scene.clock.advance(by: .seconds(31))
          await Task.yield()
          fallthrough
        default:
          guard let links = try await scene.settle(scene.fetched(claim)) else { continue }
          for item in claim.items { settled.add(item.id) }
          try await scene.ledger.confirm(links)
        }
      }
    }
  }
}

/// Has another program take the write lock and keep it for a while, on a thread of its own.
///
/// - Returns: as soon as the lock is held; false where it could not be had.
private func holdLock(_ path: String, for duration: Duration) async -> Bool {
  await withCheckedContinuation { held in
    _ = OwnedThread(name: "foreign") {
      guard let foreign = try? ForeignProgram(path), (try? foreign.query("BEGIN IMMEDIATE")) != nil
      else { return held.resume(returning: false) }
      held.resume(returning: true)
      usleep(UInt32(duration.wholeMilliseconds) * 1000)
      _ = try? foreign.query("ROLLBACK")
    }
  }
}

/// Recounts what the ledger keeps counted, and has SQLite check the file.
private func expectTrueCounters(
  _ path: String, sourceLocation: SourceLocation = #_sourceLocation
) throws {
  let foreign = try ForeignProgram(path)
  for (kept, counted) in [
    (
      "SELECT job, state, n FROM job_counts WHERE n > 0 ORDER BY 1, 2",
      "SELECT job, state, count(*) FROM items GROUP BY 1, 2 ORDER BY 1, 2"
    ),
    (
      "SELECT job, state, minute, n FROM due_by_minute ORDER BY 1, 2, 3",
      """
      SELECT job, state, due_at / 60000, count(*) FROM items WHERE host IS NOT NULL
      GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
      """
    ),
    (
      "SELECT job, host, n FROM host_counts ORDER BY 1, 2",
      "SELECT job, host, count(*) FROM items WHERE host IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2"
    ),
    (
      "SELECT run, state, n FROM run_counts ORDER BY 1, 2",
      "SELECT run, state, count(*) FROM items WHERE run > 0 GROUP BY 1, 2 ORDER BY 1, 2"
    ),
    (
      "SELECT job, host, n, next_try FROM host_failures ORDER BY 1, 2",
      """
      SELECT job, host, count(*), min(due_at) FROM items
      WHERE state = 2 AND failure_disposition >= 0 GROUP BY 1, 2 ORDER BY 1, 2
      """
    ),
    (
      "SELECT objects, object_bytes FROM meta",
      "SELECT count(*), coalesce(sum(bytes), 0) FROM objects"
    ),
    ("SELECT count(*) FROM item_ids", "SELECT count(*) FROM items"),
  ] {
    let (keptRows, countedRows) = (try foreign.query(kept), try foreign.query(counted))
    #expect(keptRows == countedRows, sourceLocation: sourceLocation)
  }
  let integrity = try foreign.query("PRAGMA integrity_check")
  #expect(integrity == [["ok"]], sourceLocation: sourceLocation)
}
