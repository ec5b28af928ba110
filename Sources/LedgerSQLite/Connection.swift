import CSQLite
import Glibc
import LedgerCore

/// One connection to the ledger's file: statements by their text, transactions, the WAL's size.
///
/// Not Sendable: an actor on a thread of its own makes it, uses it and closes it.
final class Connection {
  enum Access { case readWrite, readOnly, immutable }

  let path: String
  /// How long a foreign lock is waited for before the ledger counts as busy.
  let patience: Duration
  let handle: OpaquePointer
  /// By the address of their text: each query is one literal.
  private var statements: [UnsafePointer<UInt8>: Statement] = [:]
  /// Pages in the WAL after the last commit; SQLite's hook writes it, on this connection's thread.
  let walPages = UnsafeMutablePointer<CInt>.allocate(capacity: 1)
  var walPagesAtLastCheckpoint: CInt = 0
  /// Whether a page of the file was found to be wrong: from then on nothing is changed in it.
  private(set) var hasMetDamage = false

  /// Refused, and no matter, where somebody in this process has used SQLite before.
  private static let areStatisticsOff = tw_sqlite_keep_no_statistics() == SQLITE_OK

  init(path: String, access: Access, patience: Duration) throws(LedgerFailure) {
    _ = Self.areStatisticsOff
    self.path = path
    self.patience = patience
    var opened: OpaquePointer?
    let code = sqlite3_open_v2(Self.uri(path, access), &opened, Self.flags(access), nil)
    guard code == SQLITE_OK, let opened else {
      defer { sqlite3_close_v2(opened) }
      throw ledgerFailure(code, handle: opened, path: path)
    }
    handle = opened
    walPages.initialize(to: 0)
    sqlite3_extended_result_codes(handle, 1)
    sqlite3_busy_timeout(handle, CInt(min(patience.milliseconds, 10_000)))
  }

  deinit {
    statements = [:]
    sqlite3_close_v2(handle)
    walPages.deallocate()
  }

  private static func flags(_ access: Access) -> CInt {
    // NOMUTEX: only one thread ever uses the connection.
    let common = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI | SQLITE_OPEN_EXRESCODE
    return common | (access == .readWrite ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY)
  }

  /// A file URI, so that no character of the path is taken for anything else.
  private static func uri(_ path: String, _ access: Access) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var text = Array("file:".utf8)
    for byte in path.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."),
        UInt8(ascii: "-"), UInt8(ascii: "_"):
        text.append(byte)
      default: text += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: text, as: UTF8.self) + (access == .immutable ? "?immutable=1" : "")
  }

  func failure(_ code: CInt, waited: Duration? = nil) -> LedgerFailure {
    if code & 0xFF == SQLITE_CORRUPT || code & 0xFF == SQLITE_NOTADB { leaveAsItIs() }
    return ledgerFailure(code, handle: handle, path: path, waited: waited ?? patience)
  }

  /// The file keeps its bytes, whatever was committed: that stays in the WAL, for whoever mends it.
  func leaveAsItIs() {
    hasMetDamage = true
    _ = tw_sqlite_leave_wal(handle)
  }

  var isReadOnly: Bool { sqlite3_db_readonly(handle, "main") == 1 }
}

// MARK: Statements

extension Connection {
  /// The statement of that text, prepared once. Whoever steps it resets it.
  func statement(_ sql: StaticString) throws(LedgerFailure) -> Statement {
    if let known = statements[sql.utf8Start] { return known }
    var prepared: OpaquePointer?
    let text = UnsafeRawPointer(sql.utf8Start).assumingMemoryBound(to: CChar.self)
    let code = sqlite3_prepare_v3(
      handle, text, CInt(sql.utf8CodeUnitCount), UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
    guard code == SQLITE_OK, let prepared else { throw failure(code) }
    let statement = Statement(handle: prepared)
    statements[sql.utf8Start] = statement
    return statement
  }

  /// Of all that was prepared, so that a test can read how each is carried out.
  var preparedTexts: [String] { statements.values.map { String(cString: sqlite3_sql($0.handle)) } }

  /// Runs text that is not a constant, or that holds several statements.
  func execute(_ sql: String) throws(LedgerFailure) {
    let code = sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw failure(code) }
  }

  /// - Returns: how many rows it changed.
  @discardableResult
  func run(_ sql: StaticString, _ values: SQLValue...) throws(LedgerFailure) -> Int {
    try run(sql, values)
  }

  @discardableResult
  func run(_ sql: StaticString, _ values: [SQLValue]) throws(LedgerFailure) -> Int {
    try run(sql) { $0.bind(values) }
  }

  /// For what each item takes: its values go in without an array for them.
  @discardableResult
  func run(_ sql: StaticString, binding bind: (Statement) -> Void) throws(LedgerFailure) -> Int {
    let statement = try statement(sql)
    bind(statement)
    defer { statement.reset() }
    let code = statement.step()
    guard code == SQLITE_DONE || code == SQLITE_ROW else { throw failure(code) }
    return Int(sqlite3_changes(handle))
  }

  /// The first row's reading; nil where there is none.
  func first<Result>(
    _ sql: StaticString, _ values: SQLValue..., read: (Row) throws(LedgerFailure) -> Result
  ) throws(LedgerFailure) -> Result? {
    try first(sql, binding: { $0.bind(values) }, read: read)
  }

  func first<Result>(
    _ sql: StaticString, binding bind: (Statement) -> Void,
    read: (Row) throws(LedgerFailure) -> Result
  ) throws(LedgerFailure) -> Result? {
    let statement = try statement(sql)
    bind(statement)
    defer { statement.reset() }
    let code = statement.step()
    if code == SQLITE_DONE { return nil }
    guard code == SQLITE_ROW else { throw failure(code) }
    return try read(Row(handle: statement.handle))
  }

  func all<Result>(
    _ sql: StaticString, _ values: SQLValue..., read: (Row) throws(LedgerFailure) -> Result
  ) throws(LedgerFailure) -> [Result] {
    let statement = try statement(sql)
    statement.bind(values)
    var results: [Result] = []
    try forEach(statement) { row throws(LedgerFailure) in
      results.append(try read(row))
      return true
    }
    return results
  }

  /// Steps a bound statement until it ends or `body` returns false, then resets it.
  func forEach(
    _ statement: Statement, _ body: (Row) throws(LedgerFailure) -> Bool
  ) throws(LedgerFailure) {
    defer { statement.reset() }
    while true {
      let code = statement.step()
      if code == SQLITE_DONE { return }
      guard code == SQLITE_ROW else { throw failure(code) }
      guard try body(Row(handle: statement.handle)) else { return }
    }
  }

  var lastInsertedRow: Int64 { sqlite3_last_insert_rowid(handle) }
}

// MARK: Transactions

extension Connection {
  /// Reads one consistent state. Keep it short: the WAL cannot be emptied meanwhile.
  func reading<Result>(
    _ body: () throws(LedgerFailure) -> Result
  ) throws(LedgerFailure) -> Result {
    try run("BEGIN")
    defer { _ = try? run("ROLLBACK") }  // it only read: there is nothing to lose
    return try body()
  }

  /// Takes the write lock first, so that no transaction fails halfway for want of it.
  func writing<Result>(
    _ body: () throws(LedgerFailure) -> Result
  ) throws(LedgerFailure) -> Result {
    try begin()
    do throws(LedgerFailure) {
      let result = try body()
      try run("COMMIT")
      keepWALSmall()
      return result
    } catch {
      // After some errors SQLite has rolled back by itself, and says so; nothing is left to do.
      _ = try? run("ROLLBACK")
      throw error
    }
  }

  private func begin() throws(LedgerFailure) {
    try expectInPlace()
    try takeWriteLock()
    let start = ContinuousClock.now
    while !isWALWithinLimit {
      try run("ROLLBACK")
      try emptyWAL(since: start)
      try takeWriteLock()
    }
    do throws(LedgerFailure) {
      try supportedVersion()
    } catch {
      _ = try? run("ROLLBACK")
      throw error
    }
  }

  /// Who has the file open goes on with it though its name is gone, and nobody else will ever see that.
  func expectInPlace() throws(LedgerFailure) {
    var hasMoved: CInt = 0
    guard sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved) == SQLITE_OK,
      hasMoved != 0
    else { return }
    leaveAsItIs()
    throw .moved(path: path)
  }

  private func takeWriteLock() throws(LedgerFailure) {
    let start = ContinuousClock.now
    while true {
      let statement = try statement("BEGIN IMMEDIATE")
      let code = statement.step()
      statement.reset()
      if code == SQLITE_DONE { return }
      let waited = ContinuousClock.now - start
      guard code & 0xFF == SQLITE_BUSY, waited < patience else {
        throw failure(code, waited: waited)
      }
      usleep(5_000)  // SQLite may say busy without waiting; this thread is ours to block
    }
  }
}

extension Duration {
  var milliseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds * 1000 + attoseconds / 1_000_000_000_000_000
  }
}
