/// Evan Wallace's ThumbHash: the lowest frequencies of a small picture in a few bytes.
///
/// | bits | what |
/// |---|---|
/// | 6, 6, 6 | mean lightness, yellow against blue, red against green |
/// | 5 | the largest lightness coefficient |
/// | 1 | whether there is transparency |
/// | 3 | coefficients along the shorter side |
/// | 6, 6 | the largest coefficients of the two colours |
/// | 1 | whether it is wider than high |
/// | 4, 4 | with transparency: mean and largest coefficient of alpha |
/// | 4 each | the coefficients, each as a part of its channel's largest |
///
/// All little-endian. Source: https://evanw.github.io/thumbhash/.
struct ThumbHash {
  let bytes: [UInt8]

  /// - Parameters:
  ///   - size: each side at most 100: more costs time and shows nothing.
  ///   - pixels: red, green, blue and alpha, 0 to 1, colours not multiplied by alpha.
  init(_ size: PixelSize, pixels: [SIMD4<Double>]) {
    let weights = pixels.reduce(0) { $0 + $1.w }
    let mean =
      weights > 0 ? pixels.reduce(SIMD4<Double>()) { $0 + $1 * $1.w } / weights : SIMD4<Double>()
    let isTransparent = pixels.contains { $0.w < 1 }
    // What is invisible takes the mean colour, which needs no coefficients.
    let blended = pixels.map { Self.channels(mean * (1 - $0.w) + $0 * $0.w, alpha: $0.w) }

    let counts = Self.lightnessCounts(of: size, isTransparent: isTransparent)
    let waves = Waves(size)
    let full = PixelSize(max(3, counts.width), max(3, counts.height))
    // Closures: a key path's way to each number costs more than all the rest.
    let lightness = Channel(blended.map({ $0.x }), waves, full)
    let yellow = Channel(blended.map({ $0.y }), waves, PixelSize(3, 3))
    let red = Channel(blended.map({ $0.z }), waves, PixelSize(3, 3))
    var channels = [lightness, yellow, red]

    let isWide = size.width > size.height
    var bits = BitWriter()
    bits.put(lightness.mean, 6)
    bits.put(0.5 + 0.5 * yellow.mean, 6)
    bits.put(0.5 + 0.5 * red.mean, 6)
    bits.put(lightness.largest, 5)
    bits.put(isTransparent ? 1 : 0, 1)
    bits.put(integer: isWide ? counts.height : counts.width, 3)
    bits.put(yellow.largest, 6)
    bits.put(red.largest, 6)
    bits.put(isWide ? 1 : 0, 1)
    if isTransparent {
      let alpha = Channel(blended.map({ $0.w }), waves, PixelSize(5, 5))
      bits.put(alpha.mean, 4)
      bits.put(alpha.largest, 4)
      channels.append(alpha)
    }
    for channel in channels {
      for coefficient in channel.parts { bits.put(0.5 + 0.5 * coefficient, 4) }
    }
    bytes = bits.bytes
  }

  /// Lightness, yellow against blue, red against green, alpha.
  private static func channels(_ colour: SIMD4<Double>, alpha: Double) -> SIMD4<Double> {
    let (red, green, blue) = (colour.x, colour.y, colour.z)
    return SIMD4(
      (red + green + blue) / 3, (red + green) / 2 - blue, red - green, alpha)
  }

  /// Coefficients along width and height: fewer with transparency, which takes its own.
  private static func lightnessCounts(of size: PixelSize, isTransparent: Bool) -> PixelSize {
    let most = isTransparent ? 5.0 : 7.0
    let longer = Double(max(size.width, size.height))
    func count(_ side: Int) -> Int { max(1, Int((most * Double(side) / longer).rounded())) }
    return PixelSize(count(size.width), count(size.height))
  }
}

/// The cosines that a picture's columns and rows are weighed with.
private struct Waves {
  static let most = 7
  let size: PixelSize
  let columns: [[Double]]
  let rows: [[Double]]

  init(_ size: PixelSize) {
    func waves(_ side: Int) -> [[Double]] {
      (0..<Self.most).map { frequency in
        (0..<side).map { place in
          HalfTurns.cosine(Double(frequency) * (Double(place) + 0.5) / Double(side))
        }
      }
    }
    self.size = size
    columns = waves(size.width)
    rows = waves(size.height)
  }
}

/// One channel's cosine transform, of which only a triangle of low frequencies is kept.
private struct Channel {
  let mean: Double
  /// The largest of the others, by its absolute value.
  let largest: Double
  /// The others, as parts of the largest: -1 to 1; of a flat channel -1, which is stored as zero.
  let parts: [Double]

  init(_ values: [Double], _ waves: Waves, _ counts: PixelSize) {
    var coefficients: [Double] = []
    for down in 0..<counts.height {
      let sums = Self.sums(of: values, waves, down: down)
      var across = 0
      while across * counts.height < counts.width * (counts.height - down) {
        let sum = zip(sums, waves.columns[across]).reduce(0) { $0 + $1.0 * $1.1 }
        coefficients.append(sum / Double(waves.size.pixels))
        across += 1
      }
    }
    mean = coefficients[0]
    let others = coefficients.dropFirst()
    let largest = others.reduce(0) { max($0, abs($1)) }
    // What is left of a flat channel is the noise of the sums.
    let isFlat = largest < 1e-9
    self.largest = isFlat ? 0 : largest
    parts = others.map { isFlat ? -1 : $0 / largest }
  }

  /// Down each column, weighed by a wave.
  private static func sums(of values: [Double], _ waves: Waves, down: Int) -> [Double] {
    let width = waves.size.width
    var sums = [Double](repeating: 0, count: width)
    for (y, weight) in waves.rows[down].enumerated() {
      for x in 0..<width { sums[x] += values[y * width + x] * weight }
    }
    return sums
  }
}

/// Numbers of some bits, the first in the lowest bits of the first byte.
private struct BitWriter {
  private(set) var bytes: [UInt8] = []
  private var used = 0

  /// - Parameter value: 0 to 1.
  mutating func put(_ value: Double, _ bits: Int) {
    let most = Double(1 << bits - 1)
    put(integer: Int((min(max(value, 0), 1) * most).rounded()), bits)
  }

  mutating func put(integer: Int, _ bits: Int) {
    for bit in 0..<bits {
      if used % 8 == 0 { bytes.append(0) }
      bytes[used / 8] |= UInt8(integer >> bit & 1) << (used % 8)
      used += 1
    }
  }
}
