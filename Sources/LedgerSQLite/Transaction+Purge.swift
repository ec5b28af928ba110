import Hashing
import LedgerCore
import Vocabulary

extension Transaction {
  /// Forgets an entry with what its redirects lead to.
  func purge(_ key: EntryKey, _ links: inout LinkChanges) throws(LedgerFailure) -> PurgeResult {
    var result = PurgeResult()
    for entry in try chain(from: key) {
      for leading in try keysLeading(to: [entry]) {
        result.items += try startAnew(leading, &links)
      }
      try connection.run("DELETE FROM entries WHERE key = ?", .key(entry.key))
      try connection.run("DELETE FROM unneeded WHERE entry = ?", .key(entry.key))
      if let original = entry.original { try letGo(original.digest) }
      result.entries += 1
      result.keys.append(entry.key)
    }
    return result
  }

  /// The entry and those behind its redirects, as far as they are known.
  func chain(from key: EntryKey) throws(LedgerFailure) -> [Entry] {
    var chain: [Entry] = []
    var seen: Set<EntryKey> = []
    var next: EntryKey? = key
    while let key = next, seen.insert(key).inserted {
      let entry = try connection.first(
        "SELECT * FROM entries WHERE key = ?", .key(key), read: { $0.entry() })
      guard case let entry?? = entry else { break }
      chain.append(entry)
      next = entry.redirectTarget.map { EntryKey($0) }
    }
    return chain
  }

  /// Items that name an entry are as if they had never been tried, and lose their names. A run that has
  /// settled them already leaves them to the next: each counts once in a run.
  ///
  /// - Returns: how many there are.
  private func startAnew(
    _ key: EntryKey, _ links: inout LinkChanges
  ) throws(LedgerFailure) -> Int {
    let items = try standings(naming: key)
    for (number, old) in items {
      try removeNames(ofItem: number, &links)
      var new = old
      (new.state, new.dueAt, new.failure) = (.pending, 0, nil)
      try connection.run(
        """
        UPDATE items SET state = ?, due_at = 0, since = ?, published = NULL,
          failure_code = NULL,
          failure_message = NULL, failure_hint = NULL, failure_disposition = NULL
        WHERE number = ?
        """, .int(new.state.rawValue), .int(try lastToken()), .int(number))
      tally.leave(old)
      tally.enter(new)
      tally.arrivals.insert(old.job)
    }
    return items.count
  }
}

// MARK: Trying again

/// A place among a host's failed items.
struct FailedPlace {
  /// Those that are due at once need no help: the first place is behind them.
  var dueAt: Int64 = 0
  var number: Int64 = .max
}

extension Transaction {
  static let failedAfterQuery: StaticString = """
    SELECT number, due_at, failure_code, entry FROM items
    WHERE state = 2 AND job = ? AND host = ? AND (due_at, number) > (?, ?)
    ORDER BY due_at, number LIMIT ?
    """

  /// Makes the next of a host's failed items due at once.
  ///
  /// - Returns: how many, and where to go on; nil at the end.
  func retryFailed(
    job: JobNumber, host: Int64, codes: Set<String>?, after place: FailedPlace, limit: Int
  ) throws(LedgerFailure) -> (count: Int, next: FailedPlace?) {
    let page = try connection.all(
      Self.failedAfterQuery, .int(job.value), .int(host), .int(place.dueAt), .int(place.number),
      .int(limit)
    ) { (number: $0.int(0), dueAt: $0.int(1), code: $0.text(2), entry: $0.key(3)) }
    var count = 0
    for item in page where codes?.contains(item.code) ?? true {
      guard let standing = try standing(of: item.number), let entry = item.entry else { continue }
      try makeDueAtOnce(item.number, standing)
      try forgetFailures(from: entry)
      count += 1
    }
    let last = page.last.map { FailedPlace(dueAt: $0.dueAt, number: $0.number) }
    return (count, page.count == limit ? last : nil)
  }

  /// What keeps an entry, or what its redirects lead to, from being tried now.
  func forgetFailures(from key: EntryKey) throws(LedgerFailure) {
    for entry in try chain(from: key) {
      try connection.run(
        """
        UPDATE entries SET failure_next_try = ? WHERE key = ? AND failure_code IS NOT NULL
        """, .time(EntryFailure.atOnce), .key(entry.key))
      guard let original = entry.original else { continue }
      try connection.run(
        "DELETE FROM variants WHERE original = ? AND digest IS NULL", .digest(original.digest))
    }
  }
}
