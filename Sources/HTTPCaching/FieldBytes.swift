// Field values as bytes: read in place, without a copy and without trust.

extension UInt8 {
  @inline(__always)
  var asciiLowercased: UInt8 { (0x41...0x5A).contains(self) ? self | 0x20 : self }

  /// RFC 9110 §5.6.3 OWS: space or tab.
  @inline(__always)
  var isBlank: Bool { self == 0x20 || self == 0x09 }

  @inline(__always)
  var isDigit: Bool { (0x30...0x39).contains(self) }

  @inline(__always)
  var isLowercaseLetter: Bool { (0x61...0x7A).contains(self) }
}

extension Span<UInt8> {
  /// The range without the blanks at its ends.
  func trimmed(_ range: Range<Int>) -> Range<Int> {
    var start = range.lowerBound
    var end = range.upperBound
    while start < end, self[start].isBlank { start += 1 }
    while start < end, self[end - 1].isBlank { end -= 1 }
    return start..<end
  }

  /// - Parameter name: in lower case.
  func isNamed(_ name: StaticString, in range: Range<Int>) -> Bool {
    guard range.count == name.utf8CodeUnitCount else { return false }
    return name.withUTF8Buffer { wanted in
      for i in 0..<wanted.count
      where self[range.lowerBound + i].asciiLowercased != wanted[i] {
        return false
      }
      return true
    }
  }

  /// The first place at or after `start` that holds `byte`; the end where none does.
  func next(_ byte: UInt8, from start: Int) -> Int {
    var i = start
    while i < count, self[i] != byte { i += 1 }
    return i
  }

  /// The place of the quote that closes the one at `opening`; nil where none does.
  ///
  /// A backslash takes the byte after it literally (RFC 9110 §5.6.4).
  func closingQuote(ofQuoteAt opening: Int) -> Int? {
    var i = opening + 1
    while i < count {
      if self[i] == UInt8(ascii: "\"") { return i }
      i += self[i] == UInt8(ascii: "\\") ? 2 : 1
    }
    return nil
  }

  /// RFC 9111 §1.2.2 delta-seconds: digits only, clamped at `deltaSecondsCeiling`.
  /// - Returns: nil for anything else, the empty range included.
  func deltaSeconds(in range: Range<Int>) -> Int64? {
    guard !range.isEmpty else { return nil }
    var seconds: Int64 = 0
    for i in range {
      guard self[i].isDigit else { return nil }
      seconds = Swift.min(seconds * 10 + Int64(self[i] - 0x30), deltaSecondsCeiling)
    }
    return seconds
  }
}

/// The most seconds that a server can say: 2³¹, 68 years (RFC 9111 §1.2.2).
let deltaSecondsCeiling: Int64 = 1 << 31
