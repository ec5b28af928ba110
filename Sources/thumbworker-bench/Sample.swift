/// What one round of one contender has cost.
struct Sample: Sendable {
  var items: Int
  /// In seconds.
  var wall: Double
  /// User and system time of the process and its children, in seconds.
  var processor: Double
  /// The largest resident set of any of them.
  var peakBytes: Int

  var itemsPerSecond: Double { Double(items) / wall }
  var microsecondsPerItem: Double { processor * 1e6 / Double(items) }
  var peakMegabytes: Double { Double(peakBytes) / 1e6 }
}

/// A figure over all rounds.
struct Spread: Codable {
  var min: Double
  var median: Double
  var max: Double

  /// - Parameter values: at least one.
  init(_ values: [Double]) {
    let sorted = values.sorted()
    min = sorted.first!
    max = sorted.last!
    let middle = sorted.count / 2
    median =
      sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
  }
}
