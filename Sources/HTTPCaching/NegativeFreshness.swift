import Vocabulary

/// When an entry that failed is to be tried again.
package struct NegativeDecision: Sendable, Hashable {
  package var nextTry: Timestamp
  /// Whether the server said so: `--retry-failed` respects it. Our own waits it does not.
  package var isServersWord: Bool
  package var rule: FreshnessRule

  package init(nextTry: Timestamp, isServersWord: Bool, rule: FreshnessRule) {
    self.nextTry = nextTry
    self.isServersWord = isServersWord
    self.rule = rule
  }

  /// After a failure that no response tells of: no connection, no name, no answer in time.
  package static func coolingDown(failuresInARow: Int, now: Timestamp) -> NegativeDecision {
    NegativeDecision(
      nextTry: now + coolDown(failuresInARow: failuresInARow), isServersWord: false,
      rule: .coolDown)
  }
}

/// How long a failed response stands before its URL is asked for again.
///
/// | the response | next try |
/// |---|---|
/// | 404, 410 with a lifetime, `no-store` and `no-cache` being none | its end |
/// | 404, 410 that say nothing | `negativeTTL` from now |
/// | another failure with a lifetime that has not run out | its end |
/// | another failure | cool-down from now |
/// | any with Retry-After | not before that |
///
/// What a server says counts for a day at most. `minTTL` and `maxTTL` are for what is kept and do
/// not bound it, heuristics are none of its words, and policy `ignore` hears only Retry-After.
///
/// - Source: RFC 9111 §4.2.1; RFC 9110 §10.2.3.
package func negativeFreshness(
  of head: ResponseHead, settings: CacheSettings, failuresInARow: Int, now: Timestamp
) -> NegativeDecision {
  let ceiling = now + .days(1)
  var decision = ownDecision(
    of: head, settings: settings, failuresInARow: failuresInARow, now: now, ceiling: ceiling)
  if let asked = retryAfter(head.fields, now: now), asked > decision.nextTry {
    decision = NegativeDecision(
      nextTry: min(asked, max(ceiling, decision.nextTry)), isServersWord: true, rule: .retryAfter)
  }
  return decision
}

private func ownDecision(
  of head: ResponseHead, settings: CacheSettings, failuresInARow: Int, now: Timestamp,
  ceiling: Timestamp
) -> NegativeDecision {
  let isMissing = head.status == 404 || head.status == 410
  if let (end, rule) = FreshnessRules(settings).endOfExplicitLifetime(of: head) {
    // An error that says "do not keep me" has not asked to be hammered.
    if isMissing || end > now {
      return NegativeDecision(nextTry: min(max(end, now), ceiling), isServersWord: true, rule: rule)
    }
  }
  if isMissing {
    return NegativeDecision(
      nextTry: now + settings.negativeTTL, isServersWord: false, rule: .negativeTTL)
  }
  return .coolingDown(failuresInARow: failuresInARow, now: now)
}

extension FreshnessRules {
  /// Nil where the response says nothing of its lifetime.
  fileprivate func endOfExplicitLifetime(of head: ResponseHead) -> (Timestamp, FreshnessRule)? {
    let read = CachingFields(head.fields, near: head.responseTime)
    let governing = governing(head.fields, read: read)
    // What `private` forbids is to keep a copy, and of a failure there is none.
    let prohibition = prohibition(status: head.status, governing.control, hadAuthorization: false)
    if prohibition == .noStore || prohibition == .mustUnderstand {
      return (head.responseTime, .noStore)
    }
    let responseTime = head.responseTime.withinRange
    let said: FreshnessLifetime?
    let age: Int64
    switch settings.policy {
    case .ignore: return nil
    case .kingfisher:
      said = FreshnessLifetime(governing.control.maxAge, rule: .maxAge)
      age = (read.age ?? 0) * 1000
    case .rfc9111:
      said = explicitLifetime(governing, read, responseTime: responseTime)
      age = read.correctedInitialAge(
        requestTime: head.requestTime.withinRange, responseTime: responseTime)
    }
    return said.map {
      (Timestamp(saturating: responseTime + $0.milliseconds - age), $0.rule)
    }
  }
}
