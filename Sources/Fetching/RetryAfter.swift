import HTTPCaching
import Vocabulary

// STAND-IN until HTTPCaching brings its own `retryAfter(_:now:)`: delete this file then.

/// When the server wants to be asked again (RFC 9110 §10.2.3): seconds, or an IMF-fixdate.
func retryAfter(_ fields: HTTPFields, now: Timestamp) -> Timestamp? {
  guard let value = fields["retry-after"].first else { return nil }
  if let seconds = Int64(value), seconds >= 0 { return now + .seconds(min(seconds, 1 << 31)) }
  let parts = value.split(separator: " ")
  let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
  guard parts.count == 6, parts[5] == "GMT", let day = Int64(parts[1]),
    let month = months.firstIndex(where: { $0 == parts[2] }), let year = Int64(parts[3])
  else { return nil }
  let time = parts[4].split(separator: ":").compactMap { Int64($0) }
  let date = CivilDate(year: year, month: Int64(month) + 1, day: day)
  guard time.count == 3, date.exists else { return nil }
  return Timestamp(
    seconds: date.daysSinceEpoch * 86_400 + time[0] * 3600 + time[1] * 60 + time[2])
}
