/// Pictures of noise as PNG, their pixels stored, not compressed: files of any size, each another.
enum NoisePNG {
  /// - Parameter bytes: about so many.
  static func file(bytes: Int, seed: UInt64) -> [UInt8] {
    let width = 64
    let height = max(1, bytes / (width * 3 + 1))
    var noise = Noise(seed: seed)
    var pixels: [UInt8] = []
    pixels.reserveCapacity(height * (width * 3 + 1))
    for _ in 0..<height {
      pixels.append(0)  // no filter
      for _ in 0..<(width * 3 / 8) { withUnsafeBytes(of: noise.next()) { pixels += $0 } }
    }
    return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
      + chunk("IHDR", bigEndian(width) + bigEndian(height) + [8, 2, 0, 0, 0])
      + chunk("IDAT", zlib(pixels)) + chunk("IEND", [])
  }

  private static func chunk(_ type: String, _ data: [UInt8]) -> [UInt8] {
    let body = Array(type.utf8) + data
    return bigEndian(data.count) + body + bigEndian(Int(crc(body)))
  }

  /// RFC 1950 with stored blocks (RFC 1951 §3.2.4).
  private static func zlib(_ data: [UInt8]) -> [UInt8] {
    var out: [UInt8] = [0x78, 0x01]
    out.reserveCapacity(data.count + 64)
    for start in stride(from: 0, to: data.count, by: 65_535) {
      let block = data[start..<min(start + 65_535, data.count)]
      let length = UInt16(block.count)
      out += [block.endIndex == data.count ? 1 : 0]
      for word in [length, ~length] { out += [UInt8(word & 255), UInt8(word >> 8)] }
      out += block
    }
    return out + bigEndian(Int(adler(data)))
  }

  private static func adler(_ data: [UInt8]) -> UInt32 {
    var (a, b): (UInt32, UInt32) = (1, 0)
    for byte in data {
      a = (a + UInt32(byte)) % 65_521
      b = (b + a) % 65_521
    }
    return b << 16 | a
  }

  private static let crcTable: [UInt32] = (0..<256).map { byte in
    (0..<8).reduce(UInt32(byte)) { crc, _ in crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
  }

  private static func crc(_ data: [UInt8]) -> UInt32 {
    ~data.reduce(0xFFFF_FFFF) { crc, byte in crcTable[Int((crc ^ UInt32(byte)) & 255)] ^ crc >> 8 }
  }

  private static func bigEndian(_ value: Int) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
  }
}

/// Numbers without order, the same for the same seed (splitmix64).
struct Noise: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
    return z ^ z >> 31
  }
}
