import LedgerCore
import Vocabulary

// Hosts in trouble: a small table, read in the order of its changes.

extension LedgerWriter {
  nonisolated func note(_ standings: [String: HostStanding], at now: Timestamp)
    async throws(LedgerFailure)
  {
    try await together { _, transaction throws(LedgerFailure) in
      for (host, standing) in standings { try transaction.note(standing, of: host, at: now) }
      try transaction.forgetOldStandings(at: now)
    }
  }

  nonisolated func beginProbe(
    of host: String, by run: RunNumber, until: Timestamp, at now: Timestamp
  ) async throws(LedgerFailure) -> Timestamp? {
    try await together { _, transaction throws(LedgerFailure) in
      try transaction.beginProbe(of: host, by: run, until: until, at: now)
    }
  }
}

extension Transaction {
  /// A host that is well stays known for so long, so that every process hears of it.
  private static let memoryOfRecovery: Duration = .seconds(60)
  /// Trouble of which nobody has heard for so long is forgotten.
  private static let memory: Duration = .days(7)

  func note(_ standing: HostStanding, of host: String, at now: Timestamp) throws(LedgerFailure) {
    let known = try connection.first(
      "SELECT * FROM host_standings WHERE host = ?", .text(host)
    ) { $0.standing() }
    // Of what nobody was told there is nothing to take back.
    guard known != nil || !standing.isWell(at: now) else { return }
    let merged = known?.believed(at: now).merged(with: standing) ?? standing
    guard merged != known else { return }
    // REPLACE gives it a new revision, and ends the probe that has brought the change.
    try connection.run(
      """
      INSERT OR REPLACE INTO host_standings
        (host, changed_at, parallel, held_until, failures, reason, broken_until)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      """, .text(host), .time(merged.changedAt), .int(merged.limit), .time(merged.heldUntil),
      .int(merged.failuresInARow), .text(merged.reason), .time(merged.brokenUntil))
  }

  func forgetOldStandings(at now: Timestamp) throws(LedgerFailure) {
    try connection.run(
      """
      DELETE FROM host_standings
      WHERE (coalesce(held_until, 0) <= ?1 AND coalesce(broken_until, 0) <= ?1)
        AND (changed_at < ?2 OR (parallel IS NULL AND failures = 0 AND changed_at < ?3))
      """, .time(now), .time(now - Self.memory), .time(now - Self.memoryOfRecovery))
  }

  func beginProbe(
    of host: String, by run: RunNumber, until: Timestamp, at now: Timestamp
  ) throws(LedgerFailure) -> Timestamp? {
    // One that ends later than ours would began before the clock went back.
    let other = try connection.first(
      """
      SELECT probing_until FROM host_standings
      WHERE host = ? AND prober <> ? AND probing_until > ? AND probing_until <= ?
      """, .text(host), .int(run.value), .time(now), .time(until)
    ) { $0.time(0) }
    if let other { return other }
    try connection.run(
      "UPDATE host_standings SET prober = ?, probing_until = ? WHERE host = ?",
      .int(run.value), .time(until), .text(host))
    return nil
  }
}

extension LedgerReader {
  func standings(
    after revision: Int64
  ) throws(LedgerFailure) -> (hosts: [String: HostStanding], revision: Int64) {
    let rows = try live().all(
      "SELECT * FROM host_standings WHERE revision > ? ORDER BY revision LIMIT 1000",
      .int(revision)
    ) { (revision: $0.int(0), host: $0.text(1), standing: $0.standing()) }
    return (
      Dictionary(rows.map { ($0.host, $0.standing) }) { $1 }, rows.last?.revision ?? revision
    )
  }
}

extension Row {
  /// All columns of `host_standings`, in their order.
  func standing() -> HostStanding {
    var standing = HostStanding()
    standing.changedAt = time(2)
    standing.limit = optionalCount(3)
    standing.heldUntil = optionalTime(4)
    standing.failuresInARow = count(5)
    standing.reason = text(6)
    standing.brokenUntil = optionalTime(7)
    return standing
  }
}
