import Vocabulary

/// How long an entry rests after a try that failed, runs and their own attempts apart.
///
/// `min(30 s · 2^(n − 1), 1 day)`, n being the failures in a row: it takes over where the backoff
/// within a run ends and grows until a nightly job tries once a night.
///
/// | n  | rest    | n  | rest        |
/// |----|---------|----|-------------|
/// | 1  | 30 s    | 7  | 32 min      |
/// | 2  | 1 min   | 8  | 1 h 4 min   |
/// | 3  | 2 min   | 9  | 2 h 8 min   |
/// | 4  | 4 min   | 10 | 4 h 16 min  |
/// | 5  | 8 min   | 11 | 8 h 32 min  |
/// | 6  | 16 min  | 12 | 17 h 4 min  |
/// |    |         | 13 and more | 1 day |
///
/// - Parameter failuresInARow: this one included; below 1 counts as 1.
package func coolDown(failuresInARow: Int) -> Duration {
  let doublings = min(max(failuresInARow, 1) - 1, 12)
  return .seconds(min(30 << doublings, 86_400))
}
