import Threading
import Vocabulary

/// What was learnt of a host: plain values, to be kept between runs and shared between processes.
package struct HostStanding: Sendable, Hashable {
  /// Transfers at a time that it bears; nil: as many as the job allows.
  package var limit: Int?
  /// It has asked for no request before this (Retry-After).
  package var heldUntil: Timestamp?
  /// How often in a row it could not be reached.
  package var failuresInARow = 0
  /// Why, the last time.
  package var reason = ""
  /// It is left alone until then; after that, one transfer tries it first.
  package var brokenUntil: Timestamp?

  package init() {}
}

extension Fetcher {
  /// Of the hosts in some trouble; the others stand well.
  package var standings: [String: HostStanding] {
    gates.standings(at: Timestamp(milliseconds: clock.milliseconds()))
  }

  /// Takes over what another run or process has learnt: of it and of what is known here, the worse.
  package func adopt(_ standings: [String: HostStanding]) {
    let now = Timestamp(milliseconds: clock.milliseconds())
    for (host, standing) in standings { gates.adopt(standing, of: host, at: now) }
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
  /// Nil: it stands well.
  func standing(at now: Duration, _ wallNow: Timestamp) -> HostStanding? {
    var standing = HostStanding()
    standing.limit = limit.value
    standing.heldUntil = heldUntil > now ? wallNow + (heldUntil - now) : nil
    standing.failuresInARow = breaker.failuresInARow
    standing.reason = breaker.reason
    standing.brokenUntil = breaker.brokenUntil.map { wallNow + ($0 - now) }
    return standing == HostStanding() ? nil : standing
  }

  mutating func adopt(_ standing: HostStanding, at now: Duration, _ wallNow: Timestamp) -> Outcome {
    if let value = standing.limit, value < limit.value ?? .max {
      limit = AdaptiveLimit(learnt: value)
    }
    if standing.failuresInARow > breaker.failuresInARow {
      breaker = HostBreaker(
        learnt: standing.failuresInARow, standing.reason,
        brokenUntil: standing.brokenUntil.map { now + ($0 - wallNow) })
    }
    troubledAt = now
    return hold(until: standing.heldUntil.map { now + ($0 - wallNow) } ?? .zero, at: now)
  }
}
