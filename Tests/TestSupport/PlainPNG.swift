/// Small pictures as files, without a codec: PNG with its pixels stored, not compressed.
package enum PlainPNG {
  /// One colour all over; other colours make other bytes.
  package static func bytes(
    width: Int = 64, height: Int = 48, red: UInt8 = 200, green: UInt8 = 40, blue: UInt8 = 40
  ) -> [UInt8] {
    let row = [0] + Array(repeating: [red, green, blue], count: width).joined()
    let pixels = Array(repeating: row, count: height).flatMap { $0 }
    let header = bigEndian(width) + bigEndian(height) + [8, 2, 0, 0, 0]
    return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + chunk("IHDR", header)
      + chunk("IDAT", zlib(pixels)) + chunk("IEND", [])
  }

  /// Length, name, data and checksum.
  package static func chunk(_ type: String, _ data: [UInt8]) -> [UInt8] {
    let body = Array(type.utf8) + data
    return bigEndian(data.count) + body + bigEndian(Int(crc(body)))
  }

  /// RFC 1952, not compressed.
  package static func gzip(_ data: [UInt8]) -> [UInt8] {
    [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255] + zlib(data).dropFirst(2).dropLast(4)
      + bigEndian(Int(crc(data))).reversed() + bigEndian(data.count).reversed()
  }

  /// RFC 1950 with stored blocks (RFC 1951 §3.2.4).
  package static func zlib(_ data: [UInt8]) -> [UInt8] {
    var out: [UInt8] = [0x78, 0x01]
    var rest = data[...]
    repeat {
      let block = rest.prefix(65_535)
      rest = rest.dropFirst(block.count)
      let length = UInt16(block.count)
      out += [rest.isEmpty ? 1 : 0, UInt8(length & 255), UInt8(length >> 8)]
      out += [UInt8(~length & 255), UInt8(~length >> 8)]
      out += block
    } while !rest.isEmpty
    var (a, b): (UInt32, UInt32) = (1, 0)
    for byte in data {
      a = (a + UInt32(byte)) % 65_521
      b = (b + a) % 65_521
    }
    return out + bigEndian(Int(b << 16 | a))
  }

  package static func crc(_ data: [UInt8]) -> UInt32 {
    var crc: UInt32 = 0xFFFF_FFFF
    for byte in data {
      crc ^= UInt32(byte)
      for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
    }
    return ~crc
  }

  /// Four bytes.
  package static func bigEndian(_ value: Int) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
  }
}
