import LedgerCore
import Vocabulary

/// A write transaction under way: the connection, what is counted, and the tokens it hands out.
///
/// What changes the ledger is written as methods of it, one file per concern. It lives between
/// `BEGIN IMMEDIATE` and `COMMIT`, on the writer's thread.
final class Transaction {
  let connection: Connection
  let clock: Timestamp
  let owner: String
  var tally = Tally()
  private var token: Int64?
  private var isTokenSpent = false
  private let hosts: HostNumbers
  var jobNames: [Int64: String] = [:]
  /// Whether an object's removal is pending; nil until it was asked for.
  var hasRemovals: Bool?

  init(_ connection: Connection, hosts: HostNumbers, owner: String, clock: Timestamp) {
    self.connection = connection
    self.hosts = hosts
    self.owner = owner
    self.clock = clock
  }

  /// The last token handed out.
  func lastToken() throws(LedgerFailure) -> Int64 {
    if let token { return token }
    let stored = try connection.first("SELECT token FROM meta") { $0.int(0) } ?? 0
    token = stored
    return stored
  }

  func nextToken() throws(LedgerFailure) -> Int64 {
    let next = try lastToken() + 1
    token = next
    isTokenSpent = true
    return next
  }

  func hostNumber(_ name: String) throws(LedgerFailure) -> Int64 {
    try hosts.number(of: name, connection)
  }

  /// Writes what was gathered; the last thing before the commit.
  func finish() throws(LedgerFailure) {
    try connection.write(tally)
    if isTokenSpent, let token { try connection.run("UPDATE meta SET token = ?", .int(token)) }
  }
}

/// The numbers that stand for host names, remembered between transactions.
final class HostNumbers {
  private var known: [String: Int64] = [:]
  /// So that a job of a million hosts does not become memory.
  private static let limit = 50_000

  func number(of name: String, _ connection: Connection) throws(LedgerFailure) -> Int64 {
    if let number = known[name] { return number }
    let stored = try connection.first(
      "SELECT number FROM hosts WHERE name = ?", .text(name)
    ) { $0.int(0) }
    let number: Int64
    if let stored {
      number = stored
    } else {
      try connection.run("INSERT INTO hosts (name) VALUES (?)", .text(name))
      number = connection.lastInsertedRow
    }
    if known.count >= Self.limit { known = [:] }
    known[name] = number
    return number
  }

  /// After a rollback, which may have taken numbers back.
  func forget() { known = [:] }
}

// MARK: Moving items

extension Transaction {
  /// Makes an item due at once in its job; whether its names stand is looked up anew. The leases that are out do not settle it: they began
  /// before the change.
  func makeDueAtOnce(_ number: Int64, _ old: Standing) throws(LedgerFailure) {
    var new = old
    new.dueAt = 0
    try connection.run(
      "UPDATE items SET due_at = 0, since = ?, published = NULL WHERE number = ?",
      .int(try lastToken()), .int(number))
    tally.leave(old)
    tally.enter(new)
    tally.arrivals.insert(old.job)
  }

  func standing(of number: Int64) throws(LedgerFailure) -> Standing? {
    try connection.first(
      """
      SELECT job, state, due_at, host, run, failure_disposition FROM items WHERE number = ?
      """, .int(number)
    ) { $0.standing(from: 0) }
  }
}

extension Row {
  /// Columns job, state, due_at, host, run, failure_disposition.
  func standing(from column: Int32) -> Standing {
    Standing(
      job: int(column), state: ItemState(rawValue: count(column + 1)) ?? .pending,
      dueAt: int(column + 2), host: isNull(column + 3) ? nil : int(column + 3),
      run: int(column + 4), failure: isNull(column + 5) ? nil : disposition(column + 5))
  }
}
