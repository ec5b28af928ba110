/// Writes compact JSON into one buffer that can be reused.
final class JSONText {
  private let buffer = ByteBuffer()
  /// Whether the next member or element needs a comma before it.
  private var needsComma = false

  /// Lent until the next change.
  var bytes: UnsafeBufferPointer<UInt8> { buffer.bytes }
  var text: String { String(decoding: bytes, as: UTF8.self) }

  func clear() {
    buffer.clear()
    needsComma = false
  }

  /// Call before each element of an array.
  func separate() {
    if needsComma { buffer.append(UInt8(ascii: ",")) }
    needsComma = false
  }

  func open(_ bracket: Unicode.Scalar) {
    buffer.append(UInt8(ascii: bracket))
    needsComma = false
  }

  func close(_ bracket: Unicode.Scalar) {
    buffer.append(UInt8(ascii: bracket))
    needsComma = true
  }

  func key(_ name: String) {
    var name = name
    name.withUTF8 { key($0) }
  }

  func key(_ name: UnsafeBufferPointer<UInt8>) {
    separate()
    quoted(name)
    buffer.append(UInt8(ascii: ":"))
  }

  func string(_ value: String) {
    var value = value
    value.withUTF8 { string($0) }
  }

  func string(_ value: UnsafeBufferPointer<UInt8>) {
    quoted(value)
    needsComma = true
  }

  /// A number or one of `null`, `true` and `false`.
  func raw(_ token: String) {
    var token = token
    token.withUTF8 { raw($0) }
  }

  func raw(_ token: UnsafeBufferPointer<UInt8>) {
    buffer.append(token)
    needsComma = true
  }

  private func quoted(_ text: UnsafeBufferPointer<UInt8>) {
    buffer.append(UInt8(ascii: "\""))
    var plainFrom = 0
    for i in 0..<text.count {
      let byte = text[i]
      guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else {
        continue
      }
      buffer.append(UnsafeBufferPointer(rebasing: text[plainFrom..<i]))
      escape(byte)
      plainFrom = i + 1
    }
    buffer.append(UnsafeBufferPointer(rebasing: text[plainFrom...]))
    buffer.append(UInt8(ascii: "\""))
  }

  private func escape(_ byte: UInt8) {
    buffer.append(UInt8(ascii: "\\"))
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): buffer.append(byte)
    case 0x0A: buffer.append(UInt8(ascii: "n"))
    case 0x0D: buffer.append(UInt8(ascii: "r"))
    case 0x09: buffer.append(UInt8(ascii: "t"))
    default:
      for letter in "u00".utf8 { buffer.append(letter) }
      buffer.append(byte < 0x10 ? UInt8(ascii: "0") : UInt8(ascii: "1"))
      let low = byte & 15
      buffer.append(low < 10 ? UInt8(ascii: "0") + low : UInt8(ascii: "a") + low - 10)
    }
  }
}
