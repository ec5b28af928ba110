import CSQLite
import Glibc
import LedgerCore
import Vocabulary

/// Looks up one job's ids in ascending order.
///
/// It steps along the table while the ids lie close together, which costs a quarter of a search from
/// the root, and searches anew where they do not. A statement stays open between look-ups: use it
/// within one transaction, and end it.
struct IDLookUp {
  static let query: StaticString = """
    SELECT id, item, signature FROM item_ids WHERE job = ? AND id >= ? ORDER BY job, id
    """
  /// Steps that together cost about as much as one search.
  private static let stepsPerSearch = 6

  private let connection: Connection
  private let job: Int64
  private let statement: Statement
  private var row: Row?
  private var isAtEnd = false

  init(_ connection: Connection, job: JobNumber) throws(LedgerFailure) {
    self.connection = connection
    self.job = job.value
    statement = try connection.statement(Self.query)
  }

  /// - Parameter id: not before the last one.
  mutating func find(
    _ id: ItemID
  ) throws(LedgerFailure) -> (number: Int64, signature: Int64)? {
    var steps = 0
    while let row, steps < Self.stepsPerSearch {
      let order = compare(row.utf8(0), id.text)
      if order == 0 { return (row.int(1), row.int(2)) }
      if order > 0 { return nil }
      try step()
      steps += 1
    }
    if isAtEnd { return nil }
    try search(id)
    guard let row, compare(row.utf8(0), id.text) == 0 else { return nil }
    return (row.int(1), row.int(2))
  }

  func end() { statement.reset() }

  private mutating func search(_ id: ItemID) throws(LedgerFailure) {
    statement.reset()
    statement.bind(1, .int(job))
    statement.bind(2, id.text)
    try step()
  }

  private mutating func step() throws(LedgerFailure) {
    let code = statement.step()
    guard code == SQLITE_ROW || code == SQLITE_DONE else { throw connection.failure(code) }
    isAtEnd = code == SQLITE_DONE
    row = isAtEnd ? nil : Row(handle: statement.handle)
  }

  /// SQLite's BINARY collation: bytes, the shorter first.
  private func compare(_ a: UnsafeBufferPointer<UInt8>, _ text: String) -> CInt {
    var text = text
    return text.withUTF8 { b in
      let common = min(a.count, b.count)
      let order = common == 0 ? 0 : memcmp(a.baseAddress!, b.baseAddress!, common)
      return order != 0 ? order : CInt(clamping: a.count - b.count)
    }
  }
}
