import ForeignSQLite
import Glibc
import LedgerCore
import TestSupport
import Testing
import Vocabulary

@testable import LedgerSQLite

@Suite struct `A ledger that cannot be used` {
  private let folder = LedgerFolder(isOnDisk: true)
  private let clock = TestClock()
  private var path: String { folder.file("ledger.sqlite") }

  private func open() async throws(LedgerFailure) -> LedgerSQLite {
    try await LedgerSQLite.open(path: path, clock: clock.wall, owner: "test")
  }

  struct Damage: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var change: @Sendable (inout [UInt8]) -> Void
  }

  static let damages = [
    Damage(testDescription: "its first bytes") { for i in 0..<16 { $0[i] = 0x55 } },
    Damage(testDescription: "the page size") { $0[16] = 0x77 },
    Damage(testDescription: "the schema's page") { for i in 100..<160 { $0[i] = 0xAA } },
    Damage(testDescription: "every page after the schema") { bytes in
      for i in 40 * 4096..<bytes.count { bytes[i] = UInt8(truncatingIfNeeded: i &* 31) }
    },
    Damage(testDescription: "one page in ten") { bytes in
      for page in stride(from: 30, to: bytes.count / 4096, by: 10) {
        for i in 0..<4096 { bytes[page * 4096 + i] = 0xAA }
      }
    },
    Damage(testDescription: "its second half is gone") { $0.removeLast($0.count / 2) },
    Damage(testDescription: "all but its first page is gone") { $0.removeLast($0.count - 4096) },
  ]

  @Test(arguments: damages)
  func `is damaged: whoever meets that says so, and the file keeps its bytes`(
    _ damage: Damage
  ) async throws {
    let whole = try await open()
    var scene = Scene(ledger: whole, clock: clock)
    try await scene.read(items(2000))
    try await scene.runOnce()
    await whole.close()
    var bytes = try #require(folder.contents("ledger.sqlite"))
    damage.change(&bytes)
    folder.write(bytes, to: "ledger.sqlite")
    let failure = await #expect(throws: LedgerFailure.self) {
      let ledger = try await open()
      do {
        scene = Scene(ledger: ledger, clock: clock)
        try await scene.read(items(2000), settings: "{\"other\":1}")
        try await scene.runOnce()
      } catch {
        await ledger.close()
        throw error
      }
      await ledger.close()
    }
    guard case .damaged? = failure else {
      Issue.record("\(String(describing: failure))")
      return
    }
    #expect(failure?.code == "ledger" && failure?.hint.contains("backup") == true)
    #expect(folder.contents("ledger.sqlite") == bytes)
  }

  /// SQLite takes its transactions up to the first that is not whole: that is what a power cut leaves.
  @Test(arguments: [0, 40, 4100, 50_000, 400_000])
  func `is not one whose WAL is damaged: it stands as it did before`(place: Int) async throws {
    let ledger = try await open()
    var scene = Scene(ledger: ledger, clock: clock)
    try await scene.read(items(500))
    try await scene.runOnce()
    let copy = LedgerFolder(isOnDisk: true)
    var wal = try #require(folder.contents("ledger.sqlite-wal"))
    try #require(wal.count > place + 64)
    for i in place..<place + 64 { wal[i] ^= 0xFF }
    copy.write(try #require(folder.contents("ledger.sqlite")), to: "ledger.sqlite")
    copy.write(wal, to: "ledger.sqlite-wal")
    let reopened = try await LedgerSQLite.open(
      path: copy.file("ledger.sqlite"), clock: clock.wall, owner: "next")
    clock.advance(by: .seconds(30))  // what was claimed and lost its settlement is free again
    var next = Scene(ledger: reopened, clock: clock)
    try await next.read(items(500))
    try await next.runOnce()
    let status = try await next.statusOfJob()
    #expect(status.fresh == 500, "\(status)")
    #expect(try await reopened.wrongCounters() == [])
    await reopened.close()
    let integrity = try ForeignProgram(copy.file("ledger.sqlite")).query("PRAGMA integrity_check")
    #expect(integrity == [["ok"]])
  }

  @Test(arguments: [false, true])
  func `is moved away while it is in use: it says so, and writes no more`(
    isReplaced: Bool
  ) async throws {
    let ledger = try await open()
    var scene = Scene(ledger: ledger, clock: clock)
    try await scene.read(items(3))
    try await scene.beginRun()
    #expect(try await ledger.nextDue().count == 1)
    for name in ["ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm"] {
      rename(folder.file(name), folder.file("old-" + name))
    }
    let other = isReplaced ? try await open() : nil
    let moved = LedgerFailure.moved(path: path)
    await #expect(throws: moved) { try await scene.claim() }
    await #expect(throws: moved) { try await ledger.nextDue() }
    #expect(moved.code == "ledger" && moved.hint.contains("run again"))
    await ledger.close()
    if let other {
      #expect(try await other.status(at: clock.now).jobs.isEmpty)
      await other.close()
    }
    #expect((access(path, F_OK) == 0) == isReplaced)
  }

  @Test(.enabled(if: geteuid() == 0, "mounting a small file system needs root"))
  func `is on a disk that is read-only: it says so, and is read all the same`() async throws {
    let disk = try #require(SmallDisk(bytes: 8 << 20))
    let path = disk.file("ledger.sqlite")
    let ledger = try await LedgerSQLite.open(path: path, clock: clock.wall, owner: "test")
    var scene = Scene(ledger: ledger, clock: clock)
    try await scene.read(items(3))
    await ledger.close()
    try disk.makeReadOnly()
    let before = StorageTemporaryFolder.bytes(of: path)
    await #expect(throws: LedgerFailure.readOnly(path: path)) {
      try await LedgerSQLite.open(path: path, clock: clock.wall, owner: "test")
    }
    let reading = try await LedgerSQLite.openReadOnly(path: path)
    #expect(try await reading.status(at: clock.now).queuePending == 3)
    await reading.close()
    #expect(StorageTemporaryFolder.bytes(of: path) == before)
  }
}
