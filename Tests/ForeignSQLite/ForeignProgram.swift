import CSQLite

/// Another program's connection to a ledger's file: it opens, locks, counts or breaks what is in it.
package final class ForeignProgram {
  private let handle: OpaquePointer

  package init(_ path: String) throws(SQLError) {
    var opened: OpaquePointer?
    guard sqlite3_open(path, &opened) == SQLITE_OK, let opened else {
      throw SQLError(text: "cannot open \(path)")
    }
    handle = opened
    sqlite3_busy_timeout(handle, 10_000)
  }

  deinit { sqlite3_close(handle) }

  package struct SQLError: Error { package var text: String }

  /// The rows' columns as text.
  @discardableResult
  package func query(_ sql: String) throws(SQLError) -> [[String]] {
    var statement: OpaquePointer?
    guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK else { throw error() }
    defer { sqlite3_finalize(statement) }
    var rows: [[String]] = []
    while true {
      switch sqlite3_step(statement) {
      case SQLITE_DONE: return rows
      case SQLITE_ROW:
        rows.append(
          (0..<sqlite3_column_count(statement)).map { column in
            sqlite3_column_text(statement, column).map { String(cString: $0) } ?? "NULL"
          })
      default: throw error()
      }
    }
  }

  /// The rows of a table; nil where that cannot be told.
  package func count(_ table: String, where condition: String = "1") -> Int? {
    let rows = try? query("SELECT count(*) FROM \(table) WHERE \(condition)")
    return rows?.first?.first.flatMap { Int($0) }
  }

  /// Any number of statements.
  package func execute(_ sql: String) throws(SQLError) {
    guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw error() }
  }

  private func error() -> SQLError { SQLError(text: String(cString: sqlite3_errmsg(handle))) }
}
