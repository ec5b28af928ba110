/// Zstandard frames made by hand (RFC 8878), so that tests need no encoder.
package enum OriginZstd {
  /// The bytes as they are, in raw blocks.
  package static func stored(_ bytes: [UInt8]) -> [UInt8] {
    var out = header
    var rest = bytes[...]
    repeat {
      let block = rest.prefix(0xFFFF)
      rest = rest.dropFirst(block.count)
      out += blockHeader(type: 0, size: block.count, isLast: rest.isEmpty) + block
    } while !rest.isEmpty
    return out
  }

  /// So many blocks of 128 KiB of one byte, each of four bytes.
  package static func repeated(_ byte: UInt8, blocks: Int) -> [UInt8] {
    var out = header
    for i in 0..<blocks {
      out += blockHeader(type: 1, size: 128 << 10, isLast: i == blocks - 1) + [byte]
    }
    return out
  }

  /// A window of 128 KiB; no checksum, and no word on the size.
  private static let header: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x38]

  private static func blockHeader(type: Int, size: Int, isLast: Bool) -> [UInt8] {
    let word = (isLast ? 1 : 0) | type << 1 | size << 3
    return [UInt8(word & 255), UInt8(word >> 8 & 255), UInt8(word >> 16 & 255)]
  }
}
