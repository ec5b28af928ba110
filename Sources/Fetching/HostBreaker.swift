import Vocabulary

/// Whether a host is asked at all: after a row of failures to reach it, it is left alone for a while.
/// Then one transfer goes ahead as a probe; its end decides for all.
///
/// | failures in a row | pause |
/// |---|---|
/// | below 5 | none |
/// | 5 | 30 s |
/// | 6, by the probe | 1 min |
/// | 7 | 2 min |
/// | 11 | 32 min |
/// | 12 and more | 1 h |
///
/// Any answer, whatever its status, ends the row.
struct HostBreaker: Hashable {
  private(set) var failuresInARow = 0
  /// Why the last one failed.
  private(set) var reason = ""
  /// On the sleeper's clock; nil while the row is short.
  private(set) var brokenUntil: Duration?
  /// The number of the transfer that is trying whether the host is back.
  private var probe: UInt64?

  static let failuresToBreak = 5

  init() {}

  /// - Parameter brokenUntil: as it was learnt elsewhere.
  init(learnt failuresInARow: Int, _ reason: String, brokenUntil: Duration?) {
    self.failuresInARow = failuresInARow
    self.reason = reason
    self.brokenUntil = brokenUntil
  }

  func refuses(at now: Duration) -> Bool { brokenUntil.map { now < $0 } ?? false }

  /// Whether a transfer may start; where it may not, nor is refused, a probe is under way.
  func allows(at now: Duration) -> Bool { brokenUntil.map { now >= $0 && probe == nil } ?? true }

  mutating func started(_ number: UInt64) { if brokenUntil != nil { probe = number } }

  mutating func answered() { self = HostBreaker() }

  mutating func failed(_ number: UInt64, because reason: String, at now: Duration) {
    // Those that had started before say nothing new.
    guard brokenUntil == nil || number == probe else { return }
    probe = nil
    failuresInARow += 1
    self.reason = reason
    if failuresInARow >= Self.failuresToBreak { brokenUntil = now + pause }
  }

  /// It ended without a word on the host: the next may be the probe.
  mutating func endedOtherwise(_ number: UInt64) { if number == probe { probe = nil } }

  private var pause: Duration {
    let doublings = min(failuresInARow - Self.failuresToBreak, 7)
    return min(.seconds(30 << doublings), HostStanding.longestPause)
  }
}
