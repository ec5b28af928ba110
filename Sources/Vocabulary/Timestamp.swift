// Vocabulary: the nouns that every other target speaks in. Values only: no C library, no file, no
// network, no clock.

/// A point of wall-clock time, in milliseconds since 1970-01-01T00:00:00Z.
///
/// HTTP's own dates have seconds; everything that we compute keeps milliseconds and never rounds up.
package struct Timestamp: Sendable, Hashable, Comparable {
  package var milliseconds: Int64

  package init(milliseconds: Int64) {
    self.milliseconds = milliseconds
  }

  package init(seconds: Int64) {
    milliseconds = seconds.multipliedReportingOverflow(by: 1000).partialValue
  }

  /// Before everything: "due at once".
  package static let distantPast = Timestamp(milliseconds: 0)
  /// The year 9999's end: later than any lifetime, and still a four-digit year in RFC 3339.
  package static let distantFuture = Timestamp(milliseconds: 253_402_300_799_999)

  package static func < (a: Timestamp, b: Timestamp) -> Bool { a.milliseconds < b.milliseconds }

  /// Saturates at `distantPast` and `distantFuture`.
  package static func + (a: Timestamp, b: Duration) -> Timestamp {
    let (sum, overflow) = a.milliseconds.addingReportingOverflow(b.wholeMilliseconds)
    if overflow { return b < .zero ? .distantPast : .distantFuture }
    return Timestamp(
      milliseconds: min(max(sum, distantPast.milliseconds), distantFuture.milliseconds))
  }

  package static func - (a: Timestamp, b: Duration) -> Timestamp { a + (.zero - b) }

  package static func - (a: Timestamp, b: Timestamp) -> Duration {
    .milliseconds(a.milliseconds - b.milliseconds)
  }
}

extension Duration {
  /// Rounded towards zero, clamped to what an `Int64` of milliseconds holds.
  package var wholeMilliseconds: Int64 {
    let (seconds, attoseconds) = components
    let (ms, overflow) = seconds.multipliedReportingOverflow(by: 1000)
    if overflow { return seconds < 0 ? .min : .max }
    return ms &+ attoseconds / 1_000_000_000_000_000
  }

  /// With the fraction: for rates and C libraries that want a floating-point number of seconds.
  package var inSeconds: Double {
    Double(components.seconds) + Double(components.attoseconds) * 1e-18
  }
}

extension Timestamp: CustomStringConvertible {
  /// RFC 3339 in UTC with milliseconds: `2026-11-30T02:21:59.000Z`.
  package var description: String {
    let days = milliseconds.flooredDivision(by: 86_400_000)
    let date = CivilDate(daysSinceEpoch: days)
    let ms = milliseconds - days * 86_400_000
    func pad(_ n: Int64, _ width: Int) -> String {
      let digits = String(n)
      return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
    return "\(pad(date.year, 4))-\(pad(date.month, 2))-\(pad(date.day, 2))T"
      + "\(pad(ms / 3_600_000, 2)):\(pad(ms / 60_000 % 60, 2)):\(pad(ms / 1000 % 60, 2))"
      + ".\(pad(ms % 1000, 3))Z"
  }
}

/// A day of the proleptic Gregorian calendar.
package struct CivilDate: Sendable, Hashable {
  package var year: Int64
  /// 1 to 12.
  package var month: Int64
  /// 1 to 31.
  package var day: Int64

  package init(year: Int64, month: Int64, day: Int64) {
    self.year = year
    self.month = month
    self.day = day
  }

  /// The calendar repeats every 400 years (146,097 days); within such an era, years are counted from
  /// 1 March, so that the leap day is the last of its year.
  package init(daysSinceEpoch days: Int64) {
    let fromEraStart = days + 719_468  // 0000-03-01 to 1970-01-01
    let era = fromEraStart.flooredDivision(by: 146_097)
    let dayOfEra = fromEraStart - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
    month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  }

  package var daysSinceEpoch: Int64 {
    let marchYear = month <= 2 ? year - 1 : year
    let era = marchYear.flooredDivision(by: 400)
    let yearOfEra = marchYear - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  /// Whether the calendar has this day.
  package var exists: Bool {
    guard (1...12).contains(month), day >= 1, day <= 31 else { return false }
    return CivilDate(daysSinceEpoch: daysSinceEpoch) == self
  }
}

extension Int64 {
  fileprivate func flooredDivision(by divisor: Int64) -> Int64 {
    self >= 0 ? self / divisor : -((-self + divisor - 1) / divisor)
  }
}
