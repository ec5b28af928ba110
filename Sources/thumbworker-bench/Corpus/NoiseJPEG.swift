/// Pictures as baseline JPEG (ITU-T T.81) whose coefficients are drawn, not transformed: about as dear
/// to decode as photographs of their size.
struct NoiseJPEG {
  private var bits = JPEGBits()
  private var noise: Noise
  /// Of the block before, by component.
  private var lastDC = [0, 0, 0]

  /// - Parameter width: a multiple of 16, like the height.
  static func file(width: Int, height: Int, seed: UInt64) -> [UInt8] {
    var picture = NoiseJPEG(noise: Noise(seed: seed))
    for _ in 0..<(width / 16 * (height / 16)) { picture.addUnit() }
    return head(width, height) + picture.bits.finished() + [0xFF, 0xD9]
  }

  private init(noise: Noise) { self.noise = noise }

  /// 16 pixels in square: four blocks of luminance, one of each chrominance (4:2:0).
  private mutating func addUnit() {
    for _ in 0..<4 { addBlock(of: 0, coefficients: JPEGBits.longestRun + 1) }
    for component in 1...2 { addBlock(of: component, coefficients: 3) }
  }

  private mutating func addBlock(of component: Int, coefficients: Int) {
    // Back towards grey, so that it does not wander off.
    let dc = lastDC[component] * 7 / 8 + Int.random(in: -24...24, using: &noise)
    bits.add(dc: dc - lastDC[component])
    lastDC[component] = dc
    var run = 0
    for place in 1...coefficients {
      let most = max(1, 12 / place)
      let value = Int.random(in: -most...most, using: &noise)
      if value != 0 { bits.add(ac: value, after: run) }
      run = value == 0 ? run + 1 : 0
    }
    bits.endBlock()
  }

  private static func head(_ width: Int, _ height: Int) -> [UInt8] {
    func word(_ value: Int) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 255)] }
    func segment(_ marker: UInt8, _ body: [UInt8]) -> [UInt8] {
      [0xFF, marker] + word(body.count + 2) + body
    }
    let steps = (0..<64).map { UInt8(4 + $0 / 2) }
    let components: [UInt8] = [1, 0x22, 0, 2, 0x11, 0, 3, 0x11, 0]
    return [0xFF, 0xD8] + segment(0xDB, [0] + steps)
      + segment(0xC0, [8] + word(height) + word(width) + [3] + components)
      + segment(0xC4, [0x00] + JPEGBits.dcCode.table)
      + segment(0xC4, [0x10] + JPEGBits.acCode.table)
      + segment(0xDA, [3, 1, 0, 2, 0, 3, 0, 0, 63, 0])
  }
}

/// Entropy-coded data.
struct JPEGBits {
  /// A Huffman code whose words are equally long.
  struct Code {
    var symbols: [UInt8]
    var bits: Int

    /// As DHT has it: how many words of each length, then the symbols.
    var table: [UInt8] { (1...16).map { $0 == bits ? UInt8(symbols.count) : 0 } + symbols }
  }

  static let longestRun = 10
  /// Bits of an AC value: up to 15.
  private static let acSizes = 4

  /// The differences' sizes in bits.
  static let dcCode = Code(symbols: Array(0...11), bits: 4)
  /// The end of a block; then each run of zeros with the size of the value behind it.
  static let acCode = Code(
    symbols: [0] + (0...longestRun).flatMap { run in (1...acSizes).map { UInt8(run << 4 | $0) } },
    bits: 6)

  private var bytes: [UInt8] = []
  private var pending: UInt64 = 0
  private var count = 0

  mutating func add(dc difference: Int) {
    let size = Self.size(of: difference)
    append(size, Self.dcCode.bits)
    append(value: difference, size)
  }

  mutating func add(ac value: Int, after run: Int) {
    let size = Self.size(of: value)
    append(1 + run * Self.acSizes + size - 1, Self.acCode.bits)
    append(value: value, size)
  }

  mutating func endBlock() { append(0, Self.acCode.bits) }

  /// Filled up with ones.
  mutating func finished() -> [UInt8] {
    append(0x7F, 7)
    return bytes
  }

  private static func size(of value: Int) -> Int {
    Int.bitWidth - abs(value).leadingZeroBitCount
  }

  /// A negative value is told as one less, its sign bit left out.
  private mutating func append(value: Int, _ size: Int) {
    append((value < 0 ? value - 1 : value) & (1 << size - 1), size)
  }

  private mutating func append(_ value: Int, _ size: Int) {
    pending = pending << UInt64(size) | UInt64(value)
    count += size
    while count >= 8 {
      count -= 8
      let byte = UInt8(truncatingIfNeeded: pending >> UInt64(count))
      bytes.append(byte)
      if byte == 0xFF { bytes.append(0) }
    }
  }
}
