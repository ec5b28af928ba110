import Vocabulary

/// Whether a run has to ask for a stored response, and why.
package enum FreshnessVerdict: Sendable, Hashable {
  case fresh
  case stale(Reason)

  /// By the name that `show` prints.
  package enum Reason: String, Sendable, Hashable, CaseIterable {
    /// Its lifetime is over, or it never had one.
    case expired
    /// Its lifetime ends within the time that the run looks ahead.
    case expiresSoon = "expires-soon"
    /// Our request would carry other values of the fields that it varies by.
    case vary
    /// It came at a time that the clock has not reached: nothing that was measured holds.
    case clockWentBack = "clock-went-back"
  }
}

extension FreshnessRules {
  /// - Parameters:
  ///   - requestFields: what our request for it would carry now.
  ///   - refreshAhead: what expires within it counts as expired, unless it is `immutable`.
  /// - Source: RFC 9111 §4 and §4.1; RFC 8246 §2.
  package func judge(
    _ response: StoredResponse, requestFields: @autoclosure () -> HTTPFields,
    refreshAhead: @autoclosure () -> Duration, now: Timestamp
  ) -> FreshnessVerdict {
    guard now >= response.responseTime else { return .stale(.clockWentBack) }
    let freshness = freshness(of: response)
    guard now < freshness.freshUntil else { return .stale(.expired) }
    // Only rfc9111 looks at Vary: the other policies hold a URL to have one picture.
    if settings.policy == .rfc9111, response.fields.contains("Vary"),
      response.mismatchedField(with: requestFields()) != nil
    {
      return .stale(.vary)
    }
    if !freshness.isImmutable, now + refreshAhead() >= freshness.freshUntil {
      return .stale(.expiresSoon)
    }
    return .fresh
  }
}

/// Whether a run may use a stored response without asking.
package func isFresh(
  _ response: StoredResponse, settings: CacheSettings, requestFields: HTTPFields,
  refreshAhead: Duration, now: Timestamp
) -> Bool {
  FreshnessRules(settings).judge(
    response, requestFields: requestFields, refreshAhead: refreshAhead, now: now) == .fresh
}
