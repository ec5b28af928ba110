import Vocabulary

/// Reads one of HTTP's three date forms: IMF-fixdate, RFC 850's, asctime's.
///
/// Names in any case, GMT only, otherwise strict: one blank where one is due, two digits where two
/// are due, a day that the calendar has. The weekday has to be one, but is not compared with the
/// date: it carries nothing. A leap second is the first of the next minute.
///
/// - Parameter reference: the time that RFC 850's two-digit years are near: a date more than 50
///   years after it is taken to be a century earlier.
/// - Source: RFC 9110 §5.6.7.
package func parseHTTPDate(_ text: String, near reference: Timestamp) -> Timestamp? {
  parseHTTPDate(text.utf8.span, near: reference)
}

func parseHTTPDate(_ text: Span<UInt8>, near reference: Timestamp) -> Timestamp? {
  let whole = text.trimmed(0..<text.count)
  var reader = DateReader(at: whole.lowerBound, end: whole.upperBound)
  guard let weekday = reader.weekday(in: text) else { return nil }
  if weekday == .long { return reader.rfc850Rest(in: text, near: reference) }
  if reader.byte(in: text) == UInt8(ascii: ",") { return reader.fixdateRest(in: text) }
  return reader.asctimeRest(in: text)
}

/// A place within a date, moved by what is read there.
private struct DateReader {
  var at: Int
  let end: Int

  func byte(in text: Span<UInt8>) -> UInt8? { at < end ? text[at] : nil }

  mutating func weekday(in text: Span<UInt8>) -> Weekday? {
    let start = at
    while at < end, text[at].asciiLowercased.isLowercaseLetter { at += 1 }
    guard at - start >= 3 else { return nil }
    let name: StaticString
    switch text.threeLetters(at: start) {
    case letters("mon"): name = "monday"
    case letters("tue"): name = "tuesday"
    case letters("wed"): name = "wednesday"
    case letters("thu"): name = "thursday"
    case letters("fri"): name = "friday"
    case letters("sat"): name = "saturday"
    case letters("sun"): name = "sunday"
    default: return nil
    }
    if at - start == 3 { return .short }
    return text.isNamed(name, in: start..<at) ? .long : nil
  }

  /// `, 06 Nov 1994 08:49:37 GMT`
  mutating func fixdateRest(in text: Span<UInt8>) -> Timestamp? {
    guard skip(", ", in: text), let day = number(digits: 2, in: text), skip(" ", in: text),
      let month = month(in: text), skip(" ", in: text),
      let year = number(digits: 4, in: text), skip(" ", in: text),
      let time = timeOfDay(in: text), skip(" gmt", in: text), at == end
    else { return nil }
    return instant(CivilDate(year: year, month: month, day: day), time)
  }

  /// `, 06-Nov-94 08:49:37 GMT`
  mutating func rfc850Rest(in text: Span<UInt8>, near reference: Timestamp) -> Timestamp? {
    guard skip(", ", in: text), let day = number(digits: 2, in: text), skip("-", in: text),
      let month = month(in: text), skip("-", in: text),
      let yearOfCentury = number(digits: 2, in: text), skip(" ", in: text),
      let time = timeOfDay(in: text), skip(" gmt", in: text), at == end
    else { return nil }
    let now = CivilDate(daysSinceEpoch: reference.withinRange / 86_400_000)
    var date = CivilDate(year: now.year / 100 * 100 + yearOfCentury, month: month, day: day)
    // The latest year with these two digits that is not more than 50 years ahead.
    let horizon = (now.year + 50, now.month, now.day)
    while (date.year + 100, date.month, date.day) <= horizon { date.year += 100 }
    while (date.year, date.month, date.day) > horizon { date.year -= 100 }
    return instant(date, time)
  }

  /// ` Nov  6 08:49:37 1994`
  mutating func asctimeRest(in text: Span<UInt8>) -> Timestamp? {
    guard skip(" ", in: text), let month = month(in: text), skip(" ", in: text),
      let day = skip(" ", in: text) ? number(digits: 1, in: text) : number(digits: 2, in: text),
      skip(" ", in: text), let time = timeOfDay(in: text), skip(" ", in: text),
      let year = number(digits: 4, in: text), at == end
    else { return nil }
    return instant(CivilDate(year: year, month: month, day: day), time)
  }

  private mutating func month(in text: Span<UInt8>) -> Int64? {
    guard end - at >= 3 else { return nil }
    let name = text.threeLetters(at: at)
    at += 3
    return switch name {
    case letters("jan"): 1
    case letters("feb"): 2
    case letters("mar"): 3
    case letters("apr"): 4
    case letters("may"): 5
    case letters("jun"): 6
    case letters("jul"): 7
    case letters("aug"): 8
    case letters("sep"): 9
    case letters("oct"): 10
    case letters("nov"): 11
    case letters("dec"): 12
    default: nil
    }
  }

  /// `08:49:37` as seconds of its day.
  private mutating func timeOfDay(in text: Span<UInt8>) -> Int64? {
    guard let hour = number(digits: 2, in: text), skip(":", in: text),
      let minute = number(digits: 2, in: text), skip(":", in: text),
      let second = number(digits: 2, in: text), hour < 24, minute < 60, second <= 60
    else { return nil }
    return hour * 3600 + minute * 60 + second
  }

  private mutating func number(digits: Int, in text: Span<UInt8>) -> Int64? {
    guard end - at >= digits else { return nil }
    var value: Int64 = 0
    for _ in 0..<digits {
      guard text[at].isDigit else { return nil }
      value = value * 10 + Int64(text[at] - 0x30)
      at += 1
    }
    return value
  }

  /// - Parameter expected: in lower case.
  private mutating func skip(_ expected: StaticString, in text: Span<UInt8>) -> Bool {
    let after = at + expected.utf8CodeUnitCount
    guard after <= end, text.isNamed(expected, in: at..<after) else { return false }
    at = after
    return true
  }

  private func instant(_ date: CivilDate, _ secondOfDay: Int64) -> Timestamp? {
    guard date.exists else { return nil }
    return Timestamp(seconds: date.daysSinceEpoch * 86_400 + secondOfDay)
  }
}

/// How a weekday's name is written.
private enum Weekday {
  case short, long
}

/// Three letters as one number, to be compared at once.
@inline(__always)
private func letters(_ name: StaticString) -> UInt32 {
  let start = name.utf8Start
  return UInt32(start[0]) << 16 | UInt32(start[1]) << 8 | UInt32(start[2])
}

extension Span<UInt8> {
  /// In lower case, as `letters` packs them.
  @inline(__always)
  fileprivate func threeLetters(at i: Int) -> UInt32 {
    UInt32(self[i].asciiLowercased) << 16 | UInt32(self[i + 1].asciiLowercased) << 8
      | UInt32(self[i + 2].asciiLowercased)
  }
}
