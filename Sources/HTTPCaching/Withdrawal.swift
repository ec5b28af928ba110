import Vocabulary

/// What a failed answer does to the copy that still stands.
package enum Withdrawal: Sendable, Hashable {
  /// It goes on serving until its usable time is over.
  case keep
  /// Its published names go; what is known of it stays.
  case withdraw
  /// All of it goes, in every job.
  case purge
}

/// 410 takes a copy back at once, 404 when another run sees it again.
///
/// - Parameter missingSince: when the first 404 without a success or another failure between was
///   seen; nil if this is the first.
package func withdrawal(
  status: Int, missingSince: Timestamp?, settings: CacheSettings, now: Timestamp
) -> Withdrawal {
  switch status {
  case 410: return .purge
  case 404:
    guard let missingSince, now >= missingSince + settings.negativeTTL else { return .keep }
    return .withdraw
  default: return .keep
  }
}
