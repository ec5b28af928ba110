import Vocabulary

/// How much before its expiry an entry is refreshed by a worker that runs for months.
///
/// A million pictures that were fetched within minutes expire within minutes. Each URL has a place of its
/// own between 0 and 1 that decides how much of a tenth of its lifetime, an hour at most, it comes early.
/// An expiry is never moved later.
struct RefreshSpread: Sendable {
  private static let most: Duration = .hours(1)

  private let place: Double

  init(_ key: EntryKey) { place = Double(key.words.0 >> 11) / Double(1 << 53) }

  /// - Parameter lifetime: what was left of it when the response came.
  func ahead(ofLifetime lifetime: Duration) -> Duration {
    let widest = min(max(lifetime, .zero) / 10, Self.most)
    return .milliseconds(Int64(Double(widest.wholeMilliseconds) * place))
  }
}
