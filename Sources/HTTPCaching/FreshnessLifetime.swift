import Vocabulary

/// A lifetime before the job's bounds, counted from when the origin made the response.
struct FreshnessLifetime: Equatable {
  /// 0 or more.
  var milliseconds: Int64
  var rule: FreshnessRule
  /// Whether `minTTL` and `maxTTL` bound it; they never lift what forbids reuse.
  var isBounded = true
  /// Whether `defaultTTL` has cut it.
  var isCut = false

  static func zero(_ rule: FreshnessRule) -> FreshnessLifetime {
    FreshnessLifetime(milliseconds: 0, rule: rule, isBounded: false)
  }

  /// What one directive says; nil where it is absent.
  init?(_ seconds: CacheControl.Seconds, rule: FreshnessRule) {
    guard let lifetime = seconds.lifetime else { return nil }
    self.init(milliseconds: lifetime * 1000, rule: seconds.usable == nil ? .invalid : rule)
  }

  init(milliseconds: Int64, rule: FreshnessRule, isBounded: Bool = true, isCut: Bool = false) {
    self.milliseconds = milliseconds
    self.rule = rule
    self.isBounded = isBounded
    self.isCut = isCut
  }
}

extension FreshnessRules {
  /// How long the response stays fresh, by the first rule that applies.
  ///
  /// - Source: RFC 9111 §4.2.1.
  func lifetime(
    status: Int, _ governing: Governing, _ read: CachingFields, responseTime: Int64
  ) -> FreshnessLifetime {
    switch settings.policy {
    case .ignore: return FreshnessLifetime(milliseconds: defaultTTL, rule: .ignore)
    case .kingfisher:
      return FreshnessLifetime(governing.control.maxAge, rule: .maxAge)
        ?? FreshnessLifetime(milliseconds: defaultTTL, rule: .default)
    case .rfc9111:
      if read.variesByStar { return .zero(.varyStar) }
      return explicitLifetime(governing, read, responseTime: responseTime)
        ?? unsaidLifetime(status: status, governing, read, responseTime: responseTime)
    }
  }

  /// What the server says; nil where it says nothing.
  func explicitLifetime(
    _ governing: Governing, _ read: CachingFields, responseTime: Int64
  ) -> FreshnessLifetime? {
    if governing.control.flags.contains(.noCache) { return .zero(.noCache) }
    if settings.shared,
      let lifetime = FreshnessLifetime(governing.control.sMaxAge, rule: .sMaxAge)
    {
      return lifetime
    }
    if let lifetime = FreshnessLifetime(governing.control.maxAge, rule: .maxAge) {
      return lifetime
    }
    switch governing.expires {
    case .absent: return nil
    // RFC 9111 §5.3: no valid date means in the past.
    case .invalid: return FreshnessLifetime(milliseconds: 0, rule: .invalid)
    case .at(let expires):
      let dateValue = read.date ?? responseTime
      return FreshnessLifetime(
        milliseconds: max(0, expires - dateValue), rule: .expires)
    }
  }

  /// RFC 9111 §4.2.2: a tenth of the time since the last change, or the job's default.
  private func unsaidLifetime(
    status: Int, _ governing: Governing, _ read: CachingFields, responseTime: Int64
  ) -> FreshnessLifetime {
    let isAllowed =
      isHeuristicallyCacheable(status: status)
      || governing.control.flags.contains(.isPublic) && !isRedirect(status: status)
    guard isAllowed else { return .zero(.status) }
    let dateValue = read.date ?? responseTime
    // A last change after the answer is no age to take a tenth of.
    guard let changed = read.lastModified, changed <= dateValue else {
      return FreshnessLifetime(milliseconds: defaultTTL, rule: .default)
    }
    let tenth = (dateValue - changed) / 10
    return FreshnessLifetime(
      milliseconds: min(tenth, defaultTTL), rule: .heuristic, isCut: tenth > defaultTTL)
  }
}
