/// Writes compact JSON into one buffer that can be reused.
struct JSONText {
  private(set) var bytes: [UInt8] = []
  /// Whether the next member or element needs a comma before it.
  private var needsComma = false

  var text: String { String(decoding: bytes, as: UTF8.self) }

  mutating func clear() {
    bytes.removeAll(keepingCapacity: true)
    needsComma = false
  }

  /// Call before each element of an array.
  mutating func separate() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    needsComma = false
  }

  mutating func open(_ bracket: Unicode.Scalar) {
    bytes.append(UInt8(ascii: bracket))
    needsComma = false
  }

  mutating func close(_ bracket: Unicode.Scalar) {
    bytes.append(UInt8(ascii: bracket))
    needsComma = true
  }

  mutating func key(_ name: String) {
    var name = name
    name.withUTF8 { key($0) }
  }

  mutating func key(_ name: UnsafeBufferPointer<UInt8>) {
    separate()
    quoted(name)
    bytes.append(UInt8(ascii: ":"))
  }

  mutating func string(_ value: String) {
    var value = value
    value.withUTF8 { string($0) }
  }

  mutating func string(_ value: UnsafeBufferPointer<UInt8>) {
    quoted(value)
    needsComma = true
  }

  /// A number or one of `null`, `true` and `false`.
  mutating func raw(_ token: some StringProtocol) {
    bytes.append(contentsOf: token.utf8)
    needsComma = true
  }

  mutating func raw(_ token: UnsafeBufferPointer<UInt8>) {
    bytes.append(contentsOf: token)
    needsComma = true
  }

  private mutating func quoted(_ text: UnsafeBufferPointer<UInt8>) {
    bytes.append(UInt8(ascii: "\""))
    var plainFrom = 0
    for (i, byte) in text.enumerated()
    where byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
      bytes.append(contentsOf: text[plainFrom..<i])
      escape(byte)
      plainFrom = i + 1
    }
    bytes.append(contentsOf: text[plainFrom...])
    bytes.append(UInt8(ascii: "\""))
  }

  private mutating func escape(_ byte: UInt8) {
    bytes.append(UInt8(ascii: "\\"))
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(byte)
    case 0x0A: bytes.append(UInt8(ascii: "n"))
    case 0x0D: bytes.append(UInt8(ascii: "r"))
    case 0x09: bytes.append(UInt8(ascii: "t"))
    default:
      bytes.append(contentsOf: "u00".utf8)
      bytes.append(byte < 0x10 ? UInt8(ascii: "0") : UInt8(ascii: "1"))
      let low = byte & 15
      bytes.append(low < 10 ? UInt8(ascii: "0") + low : UInt8(ascii: "a") + low - 10)
    }
  }
}
