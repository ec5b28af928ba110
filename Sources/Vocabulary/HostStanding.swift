/// What was learnt of a host in trouble: plain values, kept between runs and shared between processes.
package struct HostStanding: Sendable, Hashable {
  /// Transfers at a time that it bears; nil: as many as the job allows.
  package var limit: Int?
  /// It has asked for no request before this (Retry-After); a day ahead at most.
  package var heldUntil: Timestamp?
  /// How often in a row it could not be reached.
  package var failuresInARow = 0
  /// Why, the last time.
  package var reason = ""
  /// It is left alone until then; after that, one transfer tries it first.
  package var brokenUntil: Timestamp?
  /// When the end of an exchange last changed its limit or its row of failures.
  package var changedAt = Timestamp.distantPast

  package init() {}

  /// The longest that a server's word holds.
  package static let longestHold: Duration = .days(1)
  /// The longest that one that cannot be reached is left alone between two tries.
  package static let longestPause: Duration = .hours(1)

  /// What is left of it if the clock went back since it was written: no pause is longer than pauses may
  /// be, and what is known by now counts as known until now.
  package func believed(at now: Timestamp) -> HostStanding {
    var believed = self
    believed.changedAt = min(changedAt, now)
    believed.heldUntil = heldUntil.map { min($0, now + Self.longestHold) }
    believed.brokenUntil = brokenUntil.map { min($0, now + Self.longestPause) }
    return believed
  }

  /// Nothing is known that keeps anybody from asking it as a job likes.
  package func isWell(at now: Timestamp) -> Bool {
    limit == nil && failuresInARow == 0 && (heldUntil ?? .distantPast) <= now
  }
}

extension HostStanding {
  /// What two processes know of one host, put together.
  ///
  /// | | of the two counts |
  /// |---|---|
  /// | `heldUntil` | the later: it is the server's word, and ends by itself |
  /// | `limit`, `failuresInARow`, `reason`, `brokenUntil` | what an exchange told later, be it the better; the worse, where both were told at once |
  ///
  /// So whoever reaches a host again makes it well for all, and nobody's older trouble brings it back.
  package func merged(with other: HostStanding) -> HostStanding {
    var merged = other.isLaterOrWorse(than: self) ? other : self
    merged.heldUntil = [heldUntil, other.heldUntil].compactMap(\.self).max()
    return merged
  }

  private func isLaterOrWorse(than other: HostStanding) -> Bool {
    if changedAt != other.changedAt { return changedAt > other.changedAt }
    if failuresInARow != other.failuresInARow { return failuresInARow > other.failuresInARow }
    return limit ?? .max < other.limit ?? .max
  }
}
