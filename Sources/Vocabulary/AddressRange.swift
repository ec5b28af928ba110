/// An IPv4 or IPv6 address as its bytes on the wire: 4 or 16.
package struct NetworkAddress: Sendable, Hashable, CustomStringConvertible {
  package let bytes: [UInt8]

  /// - Parameter bytes: 4 or 16 of them.
  package init?(bytes: [UInt8]) {
    guard bytes.count == 4 || bytes.count == 16 else { return nil }
    self.bytes = bytes
  }

  /// Dotted quads of four decimal numbers, or RFC 4291's text forms without a zone.
  package init?(_ text: some StringProtocol) {
    if text.contains(":") {
      guard let bytes = Self.parseIPv6(String(text)) else { return nil }
      self.bytes = bytes
    } else {
      guard let bytes = Self.parseIPv4(text) else { return nil }
      self.bytes = bytes
    }
  }

  private static func parseIPv4(_ text: some StringProtocol) -> [UInt8]? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 4 else { return nil }
    var bytes: [UInt8] = []
    for part in parts {
      guard part.utf8.allSatisfy({ (0x30...0x39).contains($0) }), part.count <= 3,
        part == "0" || part.first != "0", let byte = UInt8(part)
      else { return nil }
      bytes.append(byte)
    }
    return bytes
  }

  private static func parseIPv6(_ text: String) -> [UInt8]? {
    let halves = text.components(separatedByDoubleColon: ())
    guard let halves, halves.count <= 2 else { return nil }
    func words(_ half: Substring) -> [UInt8]? {
      guard !half.isEmpty else { return [] }
      var bytes: [UInt8] = []
      let parts = half.split(separator: ":", omittingEmptySubsequences: false)
      for (i, part) in parts.enumerated() {
        if i == parts.count - 1, part.contains(".") {
          guard let quad = parseIPv4(part) else { return nil }
          bytes += quad
        } else {
          guard (1...4).contains(part.utf8.count),
            part.utf8.allSatisfy({ $0 != 0x2B && $0 != 0x2D }),
            let word = UInt16(part, radix: 16)
          else { return nil }
          bytes += [UInt8(word >> 8), UInt8(word & 255)]
        }
      }
      return bytes
    }
    guard let head = words(halves[0]) else { return nil }
    guard halves.count == 2 else { return head.count == 16 ? head : nil }
    guard let tail = words(halves[1]), head.count + tail.count <= 14 else { return nil }
    return head + [UInt8](repeating: 0, count: 16 - head.count - tail.count) + tail
  }

  package var description: String {
    if bytes.count == 4 { return bytes.map(String.init).joined(separator: ".") }
    let words = stride(from: 0, to: 16, by: 2).map {
      UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1])
    }
    // RFC 5952 §4.2: the longest run of two or more zero words becomes "::", the first of equals.
    var best = 0..<0
    var start = 0
    for i in 0...8 where i == 8 || words[i] != 0 {
      if i - start > best.count, i - start > 1 { best = start..<i }
      start = i + 1
    }
    let hex = words.map { String($0, radix: 16) }
    guard !best.isEmpty else { return hex.joined(separator: ":") }
    return hex[..<best.lowerBound].joined(separator: ":") + "::"
      + hex[best.upperBound...].joined(separator: ":")
  }
}

/// A block of addresses in CIDR form: `127.0.0.0/8`, `fd00::/8`, or one address alone.
package struct AddressRange: Sendable, Hashable, CustomStringConvertible {
  package let base: NetworkAddress
  package let prefixLength: Int

  package init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count <= 2, let base = NetworkAddress(parts[0]) else { return nil }
    let bits = base.bytes.count * 8
    if parts.count == 2 {
      guard let length = Int(parts[1]), (0...bits).contains(length),
        parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) })
      else { return nil }
      prefixLength = length
    } else {
      prefixLength = bits
    }
    self.base = base
  }

  package func contains(_ address: NetworkAddress) -> Bool {
    guard address.bytes.count == base.bytes.count else { return false }
    let whole = prefixLength / 8
    guard address.bytes[..<whole] == base.bytes[..<whole] else { return false }
    let rest = prefixLength % 8
    guard rest > 0 else { return true }
    let mask = UInt8(truncatingIfNeeded: 0xFF00 >> rest)
    return address.bytes[whole] & mask == base.bytes[whole] & mask
  }

  package var description: String { "\(base)/\(prefixLength)" }
}

extension String {
  /// The parts around "::"; nil where it stands more than once.
  fileprivate func components(separatedByDoubleColon _: ()) -> [Substring]? {
    let bytes = Array(utf8)
    let places = bytes.indices.dropLast().filter { bytes[$0] == 0x3A && bytes[$0 + 1] == 0x3A }
    guard let first = places.first else { return [self[...]] }
    guard places.count == 1 else { return nil }
    let cut = utf8.index(startIndex, offsetBy: first)
    return [self[..<cut], self[utf8.index(cut, offsetBy: 2)...]]
  }
}
