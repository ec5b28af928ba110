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

  /// - Parameter hex: exactly 64 lower-case or upper-case digits.
  package init?(hex: some StringProtocol) {
    guard let bytes = bytesOf(hex: hex) else { return nil }
    self.init(bytes: bytes)
  }

  package var bytes: [UInt8] { [words.0, words.1, words.2, words.3].flatMap(\.bigEndianBytes) }

  package static func == (a: Digest, b: Digest) -> Bool { a.words == b.words }
  package static func < (a: Digest, b: Digest) -> Bool { a.words < b.words }
  package func hash(into hasher: inout Hasher) { hasher.combine(words.0) }
}

extension Digest: CustomStringConvertible {
  /// 64 lower-case hexadecimal digits.
  package var description: String { hexText(bytes) }
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

  package var bytes: [UInt8] { words.0.bigEndianBytes + words.1.bigEndianBytes }
  /// 32 lower-case hexadecimal digits; the id of a bare URL is their first 16.
  package var description: String { hexText(bytes) }

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
  let digits = hex.utf8.map { digit -> UInt8? in
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
  }
  guard digits.count % 2 == 0, digits.allSatisfy({ $0 != nil }) else { return nil }
  return stride(from: 0, to: digits.count, by: 2).map { digits[$0]! << 4 | digits[$0 + 1]! }
}

private func hexText(_ bytes: [UInt8]) -> String {
  let digits = Array("0123456789abcdef".utf8)
  return String(unsafeUninitializedCapacity: bytes.count * 2) { buffer in
    for (i, byte) in bytes.enumerated() {
      buffer[2 * i] = digits[Int(byte >> 4)]
      buffer[2 * i + 1] = digits[Int(byte & 15)]
    }
    return bytes.count * 2
  }
}

extension UInt64 {
  fileprivate var bigEndianBytes: [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: self >> (56 - 8 * $0)) }
  }
}
