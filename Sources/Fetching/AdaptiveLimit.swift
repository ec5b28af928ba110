/// How many transfers to one host may be under way: additive increase, halving.
///
/// As many as the job allows, until the host shows that this is too much. Then half of what was under
/// way, at least one; and one more after each full round of successes, up to one below the place of
/// the last trouble, and from there ten times more slowly. So a host that bears 4 of 6 gives:
///
/// | what happens | limit | rises after |
/// |---|---|---|
/// | trouble with 6 under way | 3 | 3 successes |
/// | 3 successes | 4 | 4 |
/// | 4 successes | 5 | 50 |
/// | trouble with 5 under way | 2 | 2 |
/// | 2 successes | 3 | 3 |
/// | 3 successes | 4 | 40 |
/// | 40 successes | 5 | 50 |
///
/// Troubles of transfers that were under way at a halving are that same trouble.
struct AdaptiveLimit: Hashable {
  /// Nil: no trouble, so as many as the job allows.
  private(set) var value: Int?
  private var successes = 0
  /// How many were under way at the last trouble.
  private var troubleAt = Int.max
  /// Transfers up to this number had started before the last halving.
  private var lastStarted: UInt64 = 0

  init() {}

  /// - Parameter value: as it was learnt elsewhere.
  init(learnt value: Int) { self.value = max(1, value) }

  func allows(_ active: Int, atMost parallel: Int) -> Bool {
    active < min(parallel, value ?? .max)
  }

  /// - Parameter parallel: what the job allows; reaching it forgets the trouble.
  mutating func succeeded(atMost parallel: Int) {
    guard let limit = value else { return }
    successes += 1
    let round = limit + 1 < troubleAt ? limit : limit * 10
    guard successes >= round else { return }
    successes = 0
    if limit + 1 < parallel { value = limit + 1 } else { self = AdaptiveLimit() }
  }

  /// - Parameters:
  ///   - number: of the transfer that met it; later ones have greater numbers.
  ///   - active: under way, this one included.
  ///   - newest: the number of the last that was started.
  /// - Returns: whether it is news.
  @discardableResult
  mutating func metTrouble(_ number: UInt64, active: Int, newest: UInt64) -> Bool {
    guard number > lastStarted else { return false }
    lastStarted = newest
    successes = 0
    troubleAt = active
    value = max(1, min(active, value ?? .max) / 2)
    return true
  }
}
