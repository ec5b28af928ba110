import Vocabulary

/// The three times of a stored response under one job's settings, and what decided them.
///
/// They are fixed instants: no reading moves them, only another answer of the origin does.
package struct Freshness: Sendable, Hashable {
  /// The first instant at which it is no longer fresh: `responseTime` where it came stale.
  package var freshUntil: Timestamp
  /// Until when a stale copy may go on serving while its origin fails.
  package var usableUntil: Timestamp
  /// From when `gc` may take it: nothing is lost that could still serve. A response with validators
  /// is kept for one more grace, since until then a 304 may save its transfer.
  package var keptUntil: Timestamp
  package var decidedBy: FreshnessRule
  /// The targeted field that stood in for Cache-Control and Expires; nil where none did.
  package var target: String?
  /// How old it was when it came (RFC 9111 §4.2.3 `corrected_initial_age`); with `kingfisher` its
  /// Age alone, with `ignore` zero.
  package var age: Duration
  /// What `decidedBy` gives, before `minTTL` and `maxTTL`.
  package var lifetime: Duration
  /// The bound that cut or lengthened it.
  package var clampedBy: Clamp?
  /// How long `usableUntil` lies behind the end of freshness: `staleIfError`, or what the server
  /// allows if that is longer.
  package var grace: Duration
  /// Whether HTTP lets a stale copy serve without its origin's word.
  package var mayServeStale: Bool
  /// While fresh, it is not asked for ahead of time (RFC 8246).
  package var isImmutable: Bool

  /// Until when a copy may serve where HTTP's strictness rules (`publish.withdraw: "stale"`).
  package var strictlyUsableUntil: Timestamp { mayServeStale ? usableUntil : freshUntil }
}

/// Until when a stored response is fresh, usable and kept. Pure: the same for every reading.
///
/// For many responses under the same settings keep one `FreshnessRules`.
package func freshness(of response: StoredResponse, settings: CacheSettings) -> Freshness {
  FreshnessRules(settings).freshness(of: response)
}

extension FreshnessRules {
  package func freshness(of response: StoredResponse) -> Freshness {
    let responseTime = response.responseTime.withinRange
    let read = CachingFields(response.fields, near: response.responseTime)
    let governing = governing(response.fields, read: read)
    if let reason = prohibition(
      status: response.status, governing.control, hadAuthorization: response.answeredAuthorization)
    {
      return forbidden(reason, target: governing.target, at: responseTime)
    }
    let age = age(of: response, read, responseTime: responseTime)
    let lifetime = lifetime(
      status: response.status, governing, read, responseTime: responseTime)
    let (freshFor, clamp) = bounded(lifetime, age: age)
    let end = responseTime + freshFor
    let grace = grace(governing.control)
    let keptFor = read.hasValidators ? 2 * grace : grace
    return Freshness(
      freshUntil: Timestamp(saturating: end),
      usableUntil: Timestamp(saturating: end + grace),
      keptUntil: Timestamp(saturating: end + keptFor), decidedBy: lifetime.rule,
      target: governing.target, age: .milliseconds(age),
      lifetime: .milliseconds(lifetime.milliseconds), clampedBy: clamp,
      grace: .milliseconds(grace), mayServeStale: mayServeStale(governing.control),
      isImmutable: settings.policy == .rfc9111 && governing.control.flags.contains(.immutable))
  }

  /// What was stored for another job and may not be used by this one.
  private func forbidden(
    _ reason: Storability.Reason, target: String?, at responseTime: Int64
  ) -> Freshness {
    let at = Timestamp(saturating: responseTime)
    return Freshness(
      freshUntil: at, usableUntil: at, keptUntil: at, decidedBy: reason.freshnessRule,
      target: target, age: .zero, lifetime: .zero, grace: .zero, mayServeStale: false,
      isImmutable: false)
  }

  private func age(
    of response: StoredResponse, _ read: CachingFields, responseTime: Int64
  ) -> Int64 {
    switch settings.policy {
    case .ignore: 0
    case .kingfisher: (read.age ?? 0) * 1000
    case .rfc9111:
      read.correctedInitialAge(
        requestTime: response.requestTime.withinRange, responseTime: responseTime)
    }
  }

  /// How long it stays fresh from its arrival on, within the job's bounds; 0 or more.
  ///
  /// They bound what is left of the lifetime, not the lifetime: with `maxTTL` of a day, a response
  /// that has a year to live and has lain in another cache for a week is fresh for a day.
  private func bounded(_ lifetime: FreshnessLifetime, age: Int64) -> (Int64, Clamp?) {
    // A default that ignores what the server said cannot be used up by an age that it said.
    let countsFromArrival = settings.policy == .kingfisher && lifetime.rule == .default
    var freshFor = max(0, lifetime.milliseconds - (countsFromArrival ? 0 : age))
    var clamp: Clamp? = lifetime.isCut ? .defaultTTL : nil
    guard lifetime.isBounded else { return (freshFor, clamp) }
    if settings.policy == .kingfisher {
      // What it never stores it never holds fresh.
      guard freshFor > 0 else { return (freshFor, nil) }
      if freshFor > defaultTTL { (freshFor, clamp) = (defaultTTL, .defaultTTL) }
    }
    if freshFor > maxTTL { (freshFor, clamp) = (maxTTL, .maxTTL) }
    if freshFor < minTTL { (freshFor, clamp) = (minTTL, .minTTL) }
    return (freshFor, clamp)
  }

  /// RFC 5861 §4: `stale-if-error` can lengthen what the job allows.
  private func grace(_ control: CacheControl) -> Int64 {
    guard settings.policy == .rfc9111, let seconds = control.staleIfError.usable else {
      return staleIfError
    }
    return max(staleIfError, seconds * 1000)
  }

  /// RFC 9111 §4.2.4.
  private func mayServeStale(_ control: CacheControl) -> Bool {
    guard settings.policy == .rfc9111 else { return true }
    if !control.flags.isDisjoint(with: [.mustRevalidate, .noCache]) { return false }
    guard settings.shared else { return true }
    return !control.flags.contains(.proxyRevalidate) && control.sMaxAge == .absent
  }
}

extension Storability.Reason {
  fileprivate var freshnessRule: FreshnessRule {
    switch self {
    case .noStore: .noStore
    case .isPrivate: .isPrivate
    case .authorization: .authorization
    case .mustUnderstand: .mustUnderstand
    case .status, .partial: .status
    case .lifetime: .maxAge
    }
  }
}

extension Timestamp {
  /// Milliseconds between the earliest and the latest time that the program knows.
  var withinRange: Int64 {
    min(max(milliseconds, Self.distantPast.milliseconds), Self.distantFuture.milliseconds)
  }

  init(saturating milliseconds: Int64) {
    self = Timestamp(milliseconds: Timestamp(milliseconds: milliseconds).withinRange)
  }
}
