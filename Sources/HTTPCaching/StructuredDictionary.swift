/// A structured-field dictionary, read strictly: one error anywhere and there is none.
///
/// Parameters are checked and dropped; the insides of inner lists and byte sequences too, since no
/// directive has use for them.
///
/// - Source: RFC 8941 §3.2 and §4.2.2.
struct StructuredDictionary {
  enum Value: Hashable {
    /// At most 15 digits.
    case integer(Int64)
    case decimal
    case string
    case token
    case bytes
    case boolean(Bool)
    case innerList
  }

  /// In order of first appearance; a repeated key has its last value.
  private(set) var members: [(key: String, value: Value)] = []

  /// - Parameter lines: the values of the field's lines, in order. They are read as one list.
  init?(_ lines: [String]) {
    var reader = StructuredReader(Array(lines.joined(separator: ",").utf8))
    reader.skip { $0 == space }
    while !reader.isAtEnd {
      guard let key = reader.key(), let value = reader.memberValue() else { return nil }
      members.removeAll { $0.key == key }
      members.append((key, value))
      reader.skip(\.isBlank)
      if reader.isAtEnd { return }
      guard reader.take(UInt8(ascii: ",")) else { return nil }
      reader.skip(\.isBlank)
      if reader.isAtEnd { return nil }  // a trailing comma
    }
  }
}

/// The parsing algorithms of RFC 8941 §4.2, over trimmed input.
private struct StructuredReader {
  private let bytes: [UInt8]
  private var at = 0
  private var end: Int

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    end = bytes.count
    while end > 0, bytes[end - 1] == space { end -= 1 }
  }

  var isAtEnd: Bool { at >= end }
  private var next: UInt8? { at < end ? bytes[at] : nil }

  mutating func skip(_ isSkipped: (UInt8) -> Bool) {
    while let byte = next, isSkipped(byte) { at += 1 }
  }

  mutating func take(_ byte: UInt8) -> Bool {
    guard next == byte else { return false }
    at += 1
    return true
  }

  /// §4.2.3.3
  mutating func key() -> String? {
    guard let first = next, first.isLowercaseLetter || first == UInt8(ascii: "*") else {
      return nil
    }
    let start = at
    skip { $0.isLowercaseLetter || $0.isDigit || "_-.*".utf8.contains($0) }
    return String(decoding: bytes[start..<at], as: UTF8.self)
  }

  /// What stands behind a dictionary's key: a value, or nothing for true (§4.2.2).
  mutating func memberValue() -> StructuredDictionary.Value? {
    guard take(UInt8(ascii: "=")) else { return parameters() ? .boolean(true) : nil }
    guard let value = next == UInt8(ascii: "(") ? innerList() : bareItem(), parameters() else {
      return nil
    }
    return value
  }

  /// §4.2.3.2. False at an error.
  private mutating func parameters() -> Bool {
    while take(UInt8(ascii: ";")) {
      skip { $0 == space }
      guard key() != nil else { return false }
      if take(UInt8(ascii: "=")), bareItem() == nil { return false }
    }
    return true
  }

  /// §4.2.1.2
  private mutating func innerList() -> StructuredDictionary.Value? {
    at += 1
    while !isAtEnd {
      skip { $0 == space }
      if take(UInt8(ascii: ")")) { return .innerList }
      guard bareItem() != nil, parameters() else { return nil }
      guard next == space || next == UInt8(ascii: ")") else { return nil }
    }
    return nil
  }

  /// §4.2.3.1
  private mutating func bareItem() -> StructuredDictionary.Value? {
    guard let first = next else { return nil }
    switch first {
    case UInt8(ascii: "-"), 0x30...0x39: return number()
    case UInt8(ascii: "\""): return string() ? .string : nil
    case UInt8(ascii: ":"): return byteSequence() ? .bytes : nil
    case UInt8(ascii: "?"): return boolean()
    case UInt8(ascii: "*"), 0x41...0x5A, 0x61...0x7A:
      skip { $0.isTokenByte || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "/") }
      return .token
    default: return nil
    }
  }

  /// §4.2.4: up to 15 digits, or up to 12 with a point and one to three more.
  private mutating func number() -> StructuredDictionary.Value? {
    let isNegative = take(UInt8(ascii: "-"))
    let start = at
    skip(\.isDigit)
    let digits = at - start
    guard digits >= 1 else { return nil }
    if take(UInt8(ascii: ".")) {
      let pointEnd = at
      skip(\.isDigit)
      return digits <= 12 && (1...3).contains(at - pointEnd) ? .decimal : nil
    }
    guard digits <= 15 else { return nil }
    let magnitude = bytes[start..<at].reduce(Int64(0)) { $0 * 10 + Int64($1 - 0x30) }
    return .integer(isNegative ? -magnitude : magnitude)
  }

  /// §4.2.5
  private mutating func string() -> Bool {
    at += 1
    while let byte = next {
      at += 1
      switch byte {
      case UInt8(ascii: "\""): return true
      case UInt8(ascii: "\\"):
        guard next == UInt8(ascii: "\"") || next == UInt8(ascii: "\\") else { return false }
        at += 1
      case 0x20...0x7E: continue
      default: return false
      }
    }
    return false
  }

  /// §4.2.7
  private mutating func byteSequence() -> Bool {
    at += 1
    skip { byte in
      byte.isDigit || byte.asciiLowercased.isLowercaseLetter || "+/=".utf8.contains(byte)
    }
    return take(UInt8(ascii: ":"))
  }

  /// §4.2.8
  private mutating func boolean() -> StructuredDictionary.Value? {
    at += 1
    if take(UInt8(ascii: "1")) { return .boolean(true) }
    return take(UInt8(ascii: "0")) ? .boolean(false) : nil
  }
}

extension UInt8 {
  /// RFC 9110 §5.6.2 tchar.
  fileprivate var isTokenByte: Bool {
    isDigit || asciiLowercased.isLowercaseLetter || "!#$%&'*+-.^_`|~".utf8.contains(self)
  }
}

private let space = UInt8(ascii: " ")
