/// Reads and writes the manifest's durations: `500ms`, `30s`, `15m`, `6h`, `30d`, `never`.
package enum DurationText {
  /// The longest that a setting can say: ten thousand years, spelled `never`.
  package static let never: Duration = .days(3_652_500)

  /// - Returns: nil for anything but a non-negative decimal number with one of the units.
  package static func parse(_ text: String) -> Duration? {
    if text == "never" { return never }
    let units: [(String, Double)] = [
      ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
    ]
    for (unit, milliseconds) in units where text.hasSuffix(unit) {
      guard let number = decimal(text.dropLast(unit.utf8.count)) else { continue }
      return duration(milliseconds: number * milliseconds)
    }
    return nil
  }

  /// A plain number is a number of seconds.
  package static func parse(seconds: Double) -> Duration? {
    guard seconds >= 0, seconds.isFinite else { return nil }
    return duration(milliseconds: seconds * 1000)
  }

  private static func duration(milliseconds: Double) -> Duration {
    .milliseconds(Int64(min(milliseconds, Double(never.wholeMilliseconds))))
  }

  package static func format(_ duration: Duration) -> String {
    if duration >= never { return "never" }
    let ms = duration.wholeMilliseconds
    if ms == 0 { return "0s" }
    for (unit, size) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000)]
      as [(String, Int64)]
    where ms % size == 0 {
      return "\(ms / size)\(unit)"
    }
    return "\(ms)ms"
  }
}

/// Reads and writes the manifest's sizes: `64MiB`, `100kB`, `512`.
package enum ByteSizeText {
  /// - Returns: nil for anything but a non-negative decimal number with a unit of bytes.
  package static func parse(_ text: String) -> Int? {
    let units: [(String, Double)] = [
      ("KiB", 1024), ("MiB", 1_048_576), ("GiB", 1_073_741_824), ("TiB", 1_099_511_627_776),
      ("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12), ("B", 1), ("", 1),
    ]
    for (unit, size) in units where text.hasSuffix(unit) {
      guard let number = decimal(text.dropLast(unit.utf8.count)) else { continue }
      return Int(min(number * size, 1e15))
    }
    return nil
  }

  package static func format(_ bytes: Int) -> String {
    for (unit, size) in [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)]
    where bytes >= size {
      let tenths = (bytes * 10 + size / 2) / size
      return tenths % 10 == 0 ? "\(tenths / 10) \(unit)" : "\(tenths / 10).\(tenths % 10) \(unit)"
    }
    return "\(bytes) B"
  }
}

/// Digits with at most one point between them; no sign, no exponent, no blank.
private func decimal(_ text: some StringProtocol) -> Double? {
  guard let first = text.first, let last = text.last, first != ".", last != ".",
    text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E })
  else { return nil }
  return Double(text)
}
