/// What decided how long a response stays fresh, or when a failure is tried again; `decided_by`.
package enum FreshnessRule: String, Sendable, Hashable, CaseIterable {
  case sMaxAge = "s-maxage"
  case maxAge = "max-age"
  case expires
  /// A tenth of the time since Last-Modified.
  case heuristic
  /// The job's `defaultTTL`: the server said nothing.
  case `default`
  case noCache = "no-cache"
  case varyStar = "vary-star"
  /// An explicit lifetime that cannot be read, or two that differ: 0.
  case invalid
  /// A status that without an explicit lifetime has none: 0.
  case status
  /// The job's policy `ignore`: `defaultTTL` whatever the server said.
  case ignore
  /// It was stored for another job; under these settings it may not be.
  case noStore = "no-store"
  case isPrivate = "private"
  case authorization
  case mustUnderstand = "must-understand"
  /// Failures only: the job's `negativeTTL`.
  case negativeTTL = "negative-ttl"
  /// Failures only: our own patience.
  case coolDown = "cool-down"
  /// Failures only.
  case retryAfter = "retry-after"
}

/// The bound that decided in the end.
package enum Clamp: String, Sendable, Hashable, CaseIterable {
  case minTTL, maxTTL, defaultTTL
}
