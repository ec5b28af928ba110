import Vocabulary

/// Decides, on the binary address, whether a connection may be opened to it.
///
/// Only addresses of the public Internet pass: a manifest's URLs come from strangers, and what stands
/// behind a private, loopback or otherwise special address is none of theirs. It sees what the socket
/// sees, so neither a name's spelling nor its second resolution gets round it.
///
/// - Source: the IANA special-purpose address registries (RFC 6890 and its successors).
package struct AddressGuard: Sendable, Hashable {
  /// Exempt from the refusal: `network.allow`.
  package var allow: [AddressRange]

  package init(allow: [AddressRange] = []) { self.allow = allow }

  /// Why no connection may be opened: what kind of address it is ("loopback"); nil where it may.
  package func refusal(of address: NetworkAddress) -> String? {
    guard let kind = Self.kind(of: address) else { return nil }
    if allow.contains(where: { $0.contains(address) }) { return nil }
    if let carried = Self.carriedIPv4(in: address),
      allow.contains(where: { $0.contains(carried) })
    {
      return nil
    }
    return kind
  }

  /// Nil for a public address.
  private static func kind(of address: NetworkAddress) -> String? {
    if address.bytes.count == 4 { return kindOfIPv4(word(address.bytes[...])) }
    return kindOfIPv6(address.bytes)
  }

  private struct Block {
    let base: UInt32
    let mask: UInt32
    let kind: String

    init(_ text: String, _ kind: String) {
      let range = AddressRange(text)!
      mask = range.prefixLength == 0 ? 0 : ~0 << UInt32(32 - range.prefixLength)
      base = AddressGuard.word(range.base.bytes[...]) & mask
      self.kind = kind
    }
  }

  private static let specialIPv4 = [
    Block("0.0.0.0/8", "unspecified"),
    Block("10.0.0.0/8", "private"),
    Block("100.64.0.0/10", "carrier-grade NAT"),
    Block("127.0.0.0/8", "loopback"),
    Block("168.63.129.16/32", "platform-internal"),  // Azure's host, seen from its machines only
    Block("169.254.0.0/16", "link-local"),
    Block("172.16.0.0/12", "private"),
    Block("192.0.0.0/24", "reserved"),
    Block("192.0.2.0/24", "documentation"),
    Block("192.88.99.0/24", "reserved"),  // 6to4 relays, withdrawn by RFC 7526
    Block("192.168.0.0/16", "private"),
    Block("198.18.0.0/15", "benchmarking"),
    Block("198.51.100.0/24", "documentation"),
    Block("203.0.113.0/24", "documentation"),
    Block("224.0.0.0/4", "multicast"),
    Block("255.255.255.255/32", "broadcast"),
    Block("240.0.0.0/4", "reserved"),
  ]

  private static func kindOfIPv4(_ address: UInt32) -> String? {
    specialIPv4.first { address & $0.mask == $0.base }?.kind
  }

  private static func kindOfIPv6(_ bytes: [UInt8]) -> String? {
    if isMapped(bytes) || isNAT64(bytes) { return kindOfIPv4(word(bytes[12...])) }
    switch (bytes[0], bytes[1]) {
    case (0, 0) where bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] <= 1:
      return bytes[15] == 0 ? "unspecified" : "loopback"
    case (0xFF, _): return "multicast"
    case (0xFE, 0x80...0xBF): return "link-local"
    case (0xFE, 0xC0...0xFF): return "site-local"
    case (0xFC...0xFD, _): return "unique-local"
    case (0x20, 0x01) where bytes[2] & 0xFE == 0:
      // 2001::/23, IETF protocol assignments: Teredo, benchmarking, ORCHID.
      return bytes[2] == 0 && bytes[3] == 0 ? "Teredo" : "reserved"
    case (0x20, 0x01) where bytes[2] == 0x0D && bytes[3] == 0xB8: return "documentation"
    case (0x20, 0x02): return "6to4"
    case (0x3F, 0xFF) where bytes[2] & 0xF0 == 0: return "documentation"
    case (0x20...0x3F, _):
      return isISATAP(bytes) ? kindOfIPv4(word(bytes[12...])) : nil
    default: return "reserved"  // outside 2000::/3 nothing is global unicast
    }
  }

  /// The IPv4 address that the kernel or a translator would reach.
  private static func carriedIPv4(in address: NetworkAddress) -> NetworkAddress? {
    let bytes = address.bytes
    guard bytes.count == 16, isMapped(bytes) || isNAT64(bytes) else { return nil }
    return NetworkAddress(bytes: Array(bytes[12...]))
  }

  /// `::ffff:0:0/96`: Linux connects to the IPv4 address.
  private static func isMapped(_ bytes: [UInt8]) -> Bool {
    bytes[10] == 0xFF && bytes[11] == 0xFF && bytes[..<10].allSatisfy { $0 == 0 }
  }

  /// `64:ff9b::/96` (RFC 6052): how a network without IPv4 reaches a public IPv4 address.
  private static func isNAT64(_ bytes: [UInt8]) -> Bool {
    bytes[..<4] == [0, 0x64, 0xFF, 0x9B] && bytes[4..<12].allSatisfy { $0 == 0 }
  }

  /// An interface identifier of RFC 5214: a tunnel to the IPv4 address in its last four bytes.
  private static func isISATAP(_ bytes: [UInt8]) -> Bool {
    bytes[8] & 0xFD == 0 && bytes[9] == 0 && bytes[10] == 0x5E && bytes[11] == 0xFE
  }

  private static func word(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    bytes.reduce(0) { $0 << 8 | UInt32($1) }
  }
}
