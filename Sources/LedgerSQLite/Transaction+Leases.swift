import LedgerCore
import Vocabulary

/// Who holds an entry.
struct Holder {
  var token: Int64
  var owner: String
  var run: Int64
  var expires: Timestamp
}

extension Transaction {
  func holder(of entry: EntryKey) throws(LedgerFailure) -> Holder? {
    try connection.first(
      "SELECT token, owner, run, expires FROM leases WHERE entry = ?", .key(entry)
    ) { Holder(token: $0.int(0), owner: $0.text(1), run: $0.int(2), expires: $0.time(3)) }
  }

  /// Who holds an entry at a time; nil where nobody does any more.
  ///
  /// No lease ends later than a whole one from now, unless the clock went back since. Then it is cut to
  /// that: a holder that lives renews it long before, and what a dead one holds is not held for ever.
  ///
  /// - Parameter lease: how long whoever asks would hold it.
  func holder(
    of entry: EntryKey, at now: Timestamp, lease: Duration
  ) throws(LedgerFailure) -> Holder? {
    guard var holder = try holder(of: entry), holder.expires > now else { return nil }
    if holder.expires > now + lease {
      holder.expires = now + lease
      try connection.run(
        "UPDATE leases SET expires = ? WHERE entry = ? AND token = ?", .time(holder.expires),
        .key(entry), .int(holder.token))
    }
    return holder
  }

  /// Takes a lease back for good. One whose time is over but that was not taken over still holds:
  /// nobody's work is overwritten by it.
  ///
  /// - Returns: false where somebody else has claimed the entry since; nothing was changed.
  func end(_ lease: Lease) throws(LedgerFailure) -> Bool {
    try connection.run("DELETE FROM leases WHERE entry = ? AND token = ?") {
      $0.bind(1, .key(lease.entry))
      $0.bind(2, .int(lease.token))
    } == 1
  }

  /// Gives out a new lease; nil where somebody holds the entry.
  func leaseIfFree(
    _ entry: EntryKey, run: Int64, at now: Timestamp, for duration: Duration
  ) throws(LedgerFailure) -> Lease? {
    let lease = Lease(entry: entry, token: try nextToken(), expires: now + duration)
    let isNew =
      try connection.run("INSERT INTO leases VALUES (?, ?, ?, ?, ?, NULL) ON CONFLICT DO NOTHING") {
        bind(lease, run: run, to: $0)
      } == 1
    if isNew { return lease }
    guard try holder(of: entry, at: now, lease: duration) == nil else { return nil }
    return try self.lease(entry, run: run, until: lease.expires)
  }

  private func bind(_ lease: Lease, run: Int64, to statement: Statement) {
    statement.bind(1, .key(lease.entry))
    statement.bind(2, .int(lease.token))
    statement.bind(3, owner)
    statement.bind(4, .int(run))
    statement.bind(5, .time(lease.expires))
  }

  /// Gives out a new lease, whoever held the entry before.
  func lease(_ entry: EntryKey, run: Int64, until expires: Timestamp) throws(LedgerFailure) -> Lease
  {
    let lease = Lease(entry: entry, token: try nextToken(), expires: expires)
    try connection.run("INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?, ?, NULL)") {
      bind(lease, run: run, to: $0)
    }
    return lease
  }

  func renew(_ leases: [Lease], until expires: Timestamp) throws(LedgerFailure) -> [Lease] {
    var renewed: [Lease] = []
    for lease in leases {
      let changed = try connection.run(
        "UPDATE leases SET expires = ? WHERE entry = ? AND token = ?", .time(expires),
        .key(lease.entry), .int(lease.token))
      if changed == 1 {
        renewed.append(Lease(entry: lease.entry, token: lease.token, expires: expires))
      }
    }
    return renewed
  }

  /// - Returns: the entries that were given back, with the run that had claimed them.
  func release(_ leases: [Lease]) throws(LedgerFailure) -> [(entry: EntryKey, run: Int64)] {
    var released: [(entry: EntryKey, run: Int64)] = []
    for lease in leases {
      guard let holder = try holder(of: lease.entry), holder.token == lease.token else { continue }
      try connection.run("DELETE FROM leases WHERE entry = ?", .key(lease.entry))
      released.append((lease.entry, holder.run))
    }
    return released
  }
}
