/// A SHA-256: the name of an object, and the proof of its bytes.
package struct Digest: Sendable, Hashable, Comparable {
  /// Big-endian words, first bytes first.
  package let words: (UInt64, UInt64, UInt64, UInt64)

  /// - Parameter words: big-endian, first bytes first.
  package init(words: (UInt64, UInt64, UInt64, UInt64)) { self.words = words }

  /// - Parameter bytes: exactly 32.
  package init?(bytes: some Sequence<UInt8>) {
    guard let w = bigEndianWords(of: bytes, count: 4) else { return nil }
    words = (w[0], w[1], w[2], w[3])
  }

  /// - Parameter bytes: exactly 32, read where they are.
  package init?(bytes: UnsafeRawBufferPointer) {
    guard bytes.count == 32 else { return nil }
    func word(_ i: Int) -> UInt64 {
      UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8 * i, as: UInt64.self))
    }
    words = (word(0), word(1), word(2), word(3))
  }

  /// - Parameter hex: exactly 64 lower-case or upper-case digits.
  package init?(hex: some StringProtocol) {
    guard let bytes = bytesOf(hex: hex) else { return nil }
    self.init(bytes: bytes)
  }

  package var bytes: [UInt8] {
    let bytes = (
      words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, words.3.bigEndian
    )
    return withUnsafeBytes(of: bytes) { Array($0) }
  }

  /// Writes `description` without a string of its own.
  package func writeHex(to digits: UnsafeMutableBufferPointer<UInt8>) {
    writeHexDigits(of: words.0, to: digits, at: 0)
    writeHexDigits(of: words.1, to: digits, at: 16)
    writeHexDigits(of: words.2, to: digits, at: 32)
    writeHexDigits(of: words.3, to: digits, at: 48)
  }

  package static func == (a: Digest, b: Digest) -> Bool { a.words == b.words }
  package static func < (a: Digest, b: Digest) -> Bool { a.words < b.words }
  package func hash(into hasher: inout Hasher) { hasher.combine(words.0) }
}

extension Digest: CustomStringConvertible {
  /// 64 lower-case hexadecimal digits.
  package var description: String {
    String(unsafeUninitializedCapacity: 64) { digits in
      writeHex(to: digits)
      return 64
    }
  }
}

/// The ledger's key of a URL: the first 16 bytes of the SHA-256 of its normalised text.
package struct EntryKey: Sendable, Hashable, Comparable, CustomStringConvertible {
  package let words: (UInt64, UInt64)

  package init(_ high: UInt64, _ low: UInt64) { words = (high, low) }

  package init(_ digest: Digest) { words = (digest.words.0, digest.words.1) }

  /// - Parameter bytes: exactly 16.
  package init?(bytes: some Sequence<UInt8>) {
    guard let w = bigEndianWords(of: bytes, count: 2) else { return nil }
    words = (w[0], w[1])
  }

  package var bytes: [UInt8] {
    withUnsafeBytes(of: (words.0.bigEndian, words.1.bigEndian)) { Array($0) }
  }
  /// 32 lower-case hexadecimal digits; the id of a bare URL is their first 16.
  package var description: String {
    String(unsafeUninitializedCapacity: 32) { digits in
      writeHexDigits(of: words.0, to: digits, at: 0)
      writeHexDigits(of: words.1, to: digits, at: 16)
      return 32
    }
  }

  package static func == (a: EntryKey, b: EntryKey) -> Bool { a.words == b.words }
  package static func < (a: EntryKey, b: EntryKey) -> Bool { a.words < b.words }
  package func hash(into hasher: inout Hasher) { hasher.combine(words.0) }
}

/// What decides a variant's bytes besides its original: the first 16 bytes of the SHA-256 of
/// `Recipe.canonicalText`.
package struct RecipeKey: Sendable, Hashable, CustomStringConvertible {
  package let key: EntryKey

  package init(_ digest: Digest) { key = EntryKey(digest) }

  /// - Parameter bytes: exactly 16.
  package init?(bytes: some Sequence<UInt8>) {
    guard let key = EntryKey(bytes: bytes) else { return nil }
    self.key = key
  }

  package var bytes: [UInt8] { key.bytes }
  package var description: String { key.description }
}

private func bigEndianWords(of bytes: some Sequence<UInt8>, count: Int) -> [UInt64]? {
  var words = [UInt64](repeating: 0, count: count)
  var n = 0
  for byte in bytes {
    guard n < count * 8 else { return nil }
    words[n / 8] = words[n / 8] << 8 | UInt64(byte)
    n += 1
  }
  return n == count * 8 ? words : nil
}

private func bytesOf(hex: some StringProtocol) -> [UInt8]? {
  let digits = hex.utf8.map(\.hexDigitValue)
  guard digits.count % 2 == 0, digits.allSatisfy({ $0 != nil }) else { return nil }
  return stride(from: 0, to: digits.count, by: 2).map { digits[$0]! << 4 | digits[$0 + 1]! }
}

extension UInt8 {
  /// Of an ASCII digit.
  var hexDigitValue: UInt8? {
    switch self {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}

/// Writes a word's 16 digits from that place on.
private func writeHexDigits(
  of word: UInt64, to digits: UnsafeMutableBufferPointer<UInt8>, at start: Int
) {
  for i in 0..<16 {
    let digit = UInt8(truncatingIfNeeded: word >> UInt64(60 - 4 * i)) & 15
    digits[start + i] = digit + (digit < 10 ? 0x30 : 0x57)
  }
}
