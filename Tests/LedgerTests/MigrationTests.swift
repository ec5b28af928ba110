import ForeignSQLite
import Hashing
import LedgerCore
import TestSupport
import Testing
import Vocabulary

@testable import LedgerSQLite

@Suite struct `A ledger whose entries lie in the order of their keys` {
  private let folder = LedgerFolder()
  private let clock = TestClock()
  private var path: String { folder.file("ledger.sqlite") }

  /// Of a redirect `/1` to `/0`, and of `/2` and `/3` with the same bytes. Items name `/3`, `/2` and, twice,
  /// `/1`, in this order.
  private func makeOld() throws {
    let old = try ForeignProgram(path)
    for migration in Schema.migrations.prefix(while: { $0 != Schema.entriesInOrder }) {
      try old.execute(migration)
    }
    _ = try old.query("PRAGMA application_id = \(Schema.applicationID)")
    let version = Schema.migrations.firstIndex(of: Schema.entriesInOrder)!
    _ = try old.query("PRAGMA user_version = \(version)")
    let name = String(repeating: "0", count: 32)
    _ = try old.query(
      """
      INSERT INTO meta (only_row, store_id, token, objects, object_bytes)
      VALUES (1, '\(name)', 7, 1, 1000)
      """)
    _ = try old.query("INSERT INTO objects (digest, bytes) VALUES (x'\(Digest(of: "one"))', 1000)")
    for number in 0...3 {
      let redirect = number == 1 ? "'\(try url(0))'" : "NULL"
      let original = number > 1 ? "x'\(Digest(of: "one"))', 1000" : "NULL, NULL"
      _ = try old.query(
        """
        INSERT INTO entries (key, url, redirect, original, original_bytes, last_answer)
        VALUES (x'\(EntryKey(try url(number)))', '\(try url(number))', \(redirect), \(original), 'redirect')
        """)
    }
    try old.execute(
      """
      INSERT INTO job_counts VALUES (1, 1, 4);
      INSERT INTO due_counts VALUES (1, 1, 0, 4);
      INSERT INTO host_counts VALUES (1, 1, 4);
      INSERT INTO run_counts VALUES (1, 1, 4);
      """)
    for (number, named) in [3, 2, 1, 1].enumerated() {
      _ = try old.query(
        """
        INSERT INTO items (number, job, id, state, due_at, run, since, host, entry, url)
        VALUES (\(number + 1), 1, 'item-\(number)', 1, 9, 1, 0, 1, x'\(EntryKey(try url(named)))',
          '\(try url(named))')
        """)
    }
  }

  private func url(_ number: Int) throws -> ItemURL { try ItemURL("https://h.example/\(number)") }

  @Test func `has each of them in the order of its items afterwards, those without items last`()
    async throws
  {
    try makeOld()
    let before = try entries()
    let ledger = try await LedgerSQLite.open(path: path, clock: clock.wall, owner: "test")
    #expect(try entries() == before)
    let order = try ForeignProgram(path).query("SELECT url FROM entries ORDER BY rowid")
    #expect(order == (try [3, 2, 1, 0].map { ["\(try url($0))"] }))
    #expect(try await ledger.entry(EntryKey(url(1)))?.redirectTarget == url(0))
    await ledger.close()
  }

  @Test func `counts what holds an object as before`() async throws {
    try makeOld()
    let ledger = try await LedgerSQLite.open(path: path, clock: clock.wall, owner: "test")
    #expect(try holders() == ["2"])
    _ = try await ledger.purge([EntryKey(url(2))])
    #expect(try holders() == ["1"])
    _ = try await ledger.purge([EntryKey(url(3))])
    #expect(try holders() == [])
    #expect(try await ledger.pendingRemovals(limit: 5) == [Digest(of: "one")])
    await ledger.close()
  }

  @Test func `is closed to a worker of the older program that runs on`() async throws {
    try makeOld()
    let worker = try ForeignProgram(path)
    // By this it brings each item's change along.
    let change = "UPDATE due_counts SET n = n + 0 WHERE job = 1"
    try worker.execute(change)
    await (try await LedgerSQLite.open(path: path, clock: clock.wall, owner: "test")).close()
    #expect(throws: ForeignProgram.SQLError.self) { try worker.execute(change) }
  }

  private func entries() throws -> [[String]] {
    try ForeignProgram(path).query(
      "SELECT hex(key), url, redirect, hex(original), original_bytes, last_answer FROM entries ORDER BY key"
    )
  }

  private func holders() throws -> [String] {
    try ForeignProgram(path).query("SELECT entries FROM objects").flatMap(\.self)
  }
}
