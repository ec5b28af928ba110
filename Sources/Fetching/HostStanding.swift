import Threading
import Vocabulary

/// A host that is not asked for now.
package struct HostPause: Sendable, Hashable {
  package var until: Timestamp
  /// Why it could not be reached: from `until` on, one transfer tries it first. Nil where it has asked
  /// for the pause itself.
  package var unreachable: String?
}

extension Fetcher {
  /// Of the hosts in some trouble, and of those that have come out of it lately.
  package var standings: [String: HostStanding] {
    gates.standings(at: Timestamp(milliseconds: clock.milliseconds()))
  }

  /// Takes over what another run or process has learnt (see `HostStanding.merged`).
  package func adopt(_ standings: [String: HostStanding]) {
    let now = Timestamp(milliseconds: clock.milliseconds())
    for (host, standing) in standings { gates.adopt(standing, of: host, at: now) }
  }

  /// The hosts that no run waits for: those that could not be reached, until one transfer has, and
  /// those that have asked for more than a minute.
  package var pauses: [String: HostPause] {
    let wallNow = Timestamp(milliseconds: clock.milliseconds())
    return gates.gates { gate, now in gate.pause(at: now, wallNow) }
  }

  /// Whoever could not be reached is tried at once, by one transfer first. What a server has asked for
  /// stays.
  package func endPauses() {
    for (host, pause) in pauses where pause.unreachable != nil {
      gates.change(host) { gate, now in gate.endPause(at: now) }
    }
  }
}

extension HostGates {
  func standings(at wallNow: Timestamp) -> [String: HostStanding] {
    gates { gate, now in gate.standing(at: now, wallNow) }
  }

  func adopt(_ standing: HostStanding, of host: String, at wallNow: Timestamp) {
    change(host) { gate, now in gate.adopt(standing, at: now, wallNow) }
  }
}

extension HostGate {
  /// Nil: it stands well, and was not in trouble lately.
  func standing(at now: Duration, _ wallNow: Timestamp) -> HostStanding? {
    guard changedAt != nil || heldUntil > now else { return nil }
    var standing = HostStanding()
    standing.limit = limit.value
    standing.heldUntil = heldUntil > now ? wallNow + (heldUntil - now) : nil
    standing.failuresInARow = breaker.failuresInARow
    standing.reason = breaker.reason
    standing.brokenUntil = breaker.brokenUntil.map { wallNow + ($0 - now) }
    standing.changedAt = changedAt.map { wallNow + ($0 - now) } ?? .distantPast
    return standing
  }

  mutating func adopt(_ other: HostStanding, at now: Duration, _ wallNow: Timestamp) -> Outcome {
    let own = standing(at: now, wallNow) ?? HostStanding()
    let merged = own.merged(with: other)
    if merged.changedAt != own.changedAt { take(merged, at: now, wallNow) }
    return hold(until: merged.heldUntil.map { now + ($0 - wallNow) } ?? .zero, at: now)
  }

  private mutating func take(_ standing: HostStanding, at now: Duration, _ wallNow: Timestamp) {
    if standing.limit != limit.value {
      limit = standing.limit.map { AdaptiveLimit(learnt: $0) } ?? AdaptiveLimit()
    }
    // The same row of failures may have its probe under way.
    if standing.failuresInARow != breaker.failuresInARow {
      breaker = HostBreaker(
        learnt: standing.failuresInARow, standing.reason,
        brokenUntil: standing.brokenUntil.map { now + ($0 - wallNow) })
    }
    changedAt = now + (standing.changedAt - wallNow)
    if limit.value != nil || breaker.failuresInARow > 0 { troubledAt = now }
  }

  func pause(at now: Duration, _ wallNow: Timestamp) -> HostPause? {
    let broken = breaker.brokenUntil
    let held = heldUntil - now > Self.longestWait ? heldUntil : nil
    guard let until = [broken, held].compactMap(\.self).max() else { return nil }
    return HostPause(
      until: wallNow + (until - now), unreachable: broken.map { _ in breaker.reason })
  }

  mutating func endPause(at now: Duration) -> Outcome {
    if breaker.refuses(at: now) {
      breaker = HostBreaker(
        learnt: breaker.failuresInARow, breaker.reason, brokenUntil: now)
    }
    return proceed(at: now)
  }
}
