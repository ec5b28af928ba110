/// Gzip files made by hand, so that an origin can send encoded bodies of any shape.
package enum OriginGzip {
  /// The bytes as they are, in stored blocks.
  package static func stored(_ bytes: [UInt8]) -> [UInt8] {
    var out = header
    var rest = bytes[...]
    repeat {
      let block = rest.prefix(0xFFFF)
      rest = rest.dropFirst(block.count)
      let size = UInt16(block.count)
      out += [rest.isEmpty ? 1 : 0]
      out += littleEndian(size) + littleEndian(~size) + block
    } while !rest.isEmpty
    return out + trailer(crc32(bytes), count: bytes.count)
  }

  /// So many zero bytes, at about 159 to 1.
  package static func zeros(_ count: Int) -> [UInt8] {
    var bits = BitWriter()
    bits.write(0b011, count: 3)  // the last block, fixed codes
    bits.writeCode(0b0011_0000, count: 8)  // a zero byte
    var left = count - 1
    while left >= 258 {
      bits.writeCode(0b1100_0101, count: 8)  // 258 bytes …
      bits.writeCode(0, count: 5)  // … equal to the one before
      left -= 258
    }
    for _ in 0..<left { bits.writeCode(0b0011_0000, count: 8) }
    bits.writeCode(0, count: 7)  // the end
    return header + bits.finish() + trailer(crc32OfZeros(count), count: count)
  }

  private static let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]

  private static func trailer(_ crc: UInt32, count: Int) -> [UInt8] {
    littleEndian(crc) + littleEndian(UInt32(truncatingIfNeeded: count))
  }

  private static func littleEndian(_ value: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: value.littleEndian) { Array($0) }
  }

  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { crc, _ in crc & 1 == 1 ? 0xEDB8_8320 ^ (crc >> 1) : crc >> 1 }
  }

  private static func crc32(_ bytes: some Sequence<UInt8>) -> UInt32 {
    ~bytes.reduce(~UInt32(0)) { crc, byte in table[Int((crc ^ UInt32(byte)) & 255)] ^ (crc >> 8) }
  }

  /// A zero byte is a linear map of the register: doubled for each bit of the count.
  private static func crc32OfZeros(_ count: Int) -> UInt32 {
    var oneStep = (0..<32).map { bit -> UInt32 in
      let word = UInt32(1) << UInt32(bit)
      return table[Int(word & 255)] ^ (word >> 8)
    }
    func apply(_ map: [UInt32], _ word: UInt32) -> UInt32 {
      (0..<32).reduce(UInt32(0)) { word >> UInt32($1) & 1 == 1 ? $0 ^ map[$1] : $0 }
    }
    var register = ~UInt32(0)
    var left = count
    while left > 0 {
      if left & 1 == 1 { register = apply(oneStep, register) }
      oneStep = oneStep.map { apply(oneStep, $0) }
      left >>= 1
    }
    return ~register
  }

  private struct BitWriter {
    private var bytes: [UInt8] = []
    private var current: UInt32 = 0
    private var used = 0

    /// Least significant bit first.
    mutating func write(_ value: UInt32, count: Int) {
      current |= value << UInt32(used)
      used += count
      while used >= 8 {
        bytes.append(UInt8(truncatingIfNeeded: current))
        current >>= 8
        used -= 8
      }
    }

    /// Huffman codes go out with their most significant bit first.
    mutating func writeCode(_ code: UInt32, count: Int) {
      var reversed: UInt32 = 0
      for bit in 0..<count where code >> UInt32(bit) & 1 == 1 {
        reversed |= 1 << UInt32(count - 1 - bit)
      }
      write(reversed, count: count)
    }

    mutating func finish() -> [UInt8] {
      if used > 0 { bytes.append(UInt8(truncatingIfNeeded: current)) }
      return bytes
    }
  }
}
