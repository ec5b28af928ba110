import DecoderPool
import Glibc
import Testing
import Vocabulary

@testable import Imaging

/// A ThumbHash read back, as its readers do.
private struct ReadHash {
  var isWide: Bool
  var isTransparent: Bool
  /// Coefficients of lightness along width and height.
  var counts: PixelSize
  var meanLightness, meanYellow, meanRed, meanAlpha: Double
  private var lightness, yellow, red: [Double]

  init(_ bytes: [UInt8]) {
    var place = 0
    func bits(_ count: Int) -> Int {
      defer { place += count }
      return (0..<count).reduce(0) { sum, bit in
        let at = place + bit
        return sum | Int(bytes[at / 8] >> (at % 8) & 1) << bit
      }
    }
    func part(_ count: Int) -> Double { Double(bits(count)) / Double((1 << count) - 1) }
    meanLightness = part(6)
    meanYellow = part(6) * 2 - 1
    meanRed = part(6) * 2 - 1
    let lightnessScale = part(5)
    isTransparent = bits(1) == 1
    let shorter = bits(3)
    let (yellowScale, redScale) = (part(6), part(6))
    isWide = bits(1) == 1
    let longer = isTransparent ? 5 : 7
    counts = isWide ? PixelSize(longer, shorter) : PixelSize(shorter, longer)
    meanAlpha = 1
    if isTransparent {
      meanAlpha = part(4)
      _ = bits(4)
    }
    func channel(_ counts: PixelSize, _ scale: Double) -> [Double] {
      var values: [Double] = []
      for down in 0..<counts.height {
        var across = down == 0 ? 1 : 0
        while across * counts.height < counts.width * (counts.height - down) {
          values.append((part(4) * 2 - 1) * scale)
          across += 1
        }
      }
      return values
    }
    lightness = channel(PixelSize(max(3, counts.width), max(3, counts.height)), lightnessScale)
    yellow = channel(PixelSize(3, 3), yellowScale)
    red = channel(PixelSize(3, 3), redScale)
  }

  /// The colour at a place, both 0 to 1; nil is the mean.
  func colour(at point: (x: Double, y: Double)?) -> SIMD3<Double> {
    func value(_ mean: Double, _ parts: [Double], _ counts: PixelSize) -> Double {
      guard let point else { return mean }
      var value = mean
      var index = 0
      for down in 0..<counts.height {
        var across = down == 0 ? 1 : 0
        while across * counts.height < counts.width * (counts.height - down) {
          let weight = (across > 0 ? 2.0 : 1) * (down > 0 ? 2.0 : 1)
          value +=
            parts[index] * weight * cos(.pi * Double(across) * point.x)
            * cos(.pi * Double(down) * point.y)
          index += 1
          across += 1
        }
      }
      return value
    }
    let l = value(
      meanLightness, lightness, PixelSize(max(3, counts.width), max(3, counts.height)))
    let p = value(meanYellow, yellow, PixelSize(3, 3))
    let q = value(meanRed, red, PixelSize(3, 3))
    let blue = l - 2.0 / 3 * p
    let redValue = (3 * l - blue + q) / 2
    return SIMD3(redValue, redValue - q, blue)
  }
}

private func hash(
  _ size: PixelSize, _ pixel: (_ x: Double, _ y: Double) -> SIMD4<Double>
) -> [UInt8] {
  var pixels: [SIMD4<Double>] = []
  for y in 0..<size.height {
    for x in 0..<size.width {
      pixels.append(
        pixel(
          (Double(x) + 0.5) / Double(size.width), (Double(y) + 0.5) / Double(size.height)))
    }
  }
  return ThumbHash(size, pixels: pixels).bytes
}

@Suite struct `A ThumbHash` {
  @Test(arguments: [
    SIMD4(0.2, 0.4, 0.9, 1), SIMD4(1, 1, 1, 1), SIMD4(0, 0, 0, 1), SIMD4(0.9, 0.1, 0.1, 1),
  ])
  func `of one colour gives it back`(_ colour: SIMD4<Double>) {
    let read = ReadHash(hash(PixelSize(40, 30)) { _, _ in colour })
    let mean = read.colour(at: nil)
    for band in 0..<3 { #expect(abs(mean[band] - colour[band]) < 0.04) }
    #expect(read.colour(at: (0.1, 0.8)) == mean)
  }

  @Test(arguments: [
    (PixelSize(40, 30), true, PixelSize(7, 5)), (PixelSize(30, 40), false, PixelSize(5, 7)),
    (PixelSize(50, 50), false, PixelSize(7, 7)), (PixelSize(100, 1), true, PixelSize(7, 1)),
    (PixelSize(1, 100), false, PixelSize(1, 7)),
  ])
  func `tells the picture's shape`(_ size: PixelSize, _ isWide: Bool, _ counts: PixelSize) {
    let bytes = hash(size) { x, y in SIMD4(x, y, 0.5, 1) }
    let read = ReadHash(bytes)
    #expect(read.isWide == isWide && read.counts == counts && !read.isTransparent)
    #expect(Placeholder.hashLengths.contains(bytes.count))
  }

  @Test func `shows where it is bright, where red and where blue`() {
    let read = ReadHash(
      hash(PixelSize(60, 60)) { x, y in y < 0.5 ? SIMD4(0.9, 0.8, 0.7, 1) : SIMD4(x, 0.1, 1 - x, 1)
      })
    let (top, left, right) = (
      read.colour(at: (0.5, 0.2)), read.colour(at: (0.1, 0.8)), read.colour(at: (0.9, 0.8))
    )
    #expect((top.sum() - left.sum()) > 0.6 && (top.sum() - right.sum()) > 0.6)
    #expect(left.z > left.x + 0.3 && right.x > right.z + 0.3)
  }

  @Test func `with transparency says so, and takes no colour from what is invisible`() {
    let bytes = hash(PixelSize(40, 40)) { x, _ in
      x < 0.5 ? SIMD4(0, 1, 0, 0) : SIMD4(0.8, 0.2, 0.2, 1)
    }
    let read = ReadHash(bytes)
    #expect(read.isTransparent && abs(read.meanAlpha - 0.5) < 0.04)
    #expect(abs(read.colour(at: nil).x - 0.8) < 0.04 && read.colour(at: nil).y < 0.24)
    #expect(bytes.count == Placeholder.hashLengths.upperBound)
  }

  @Test(
    arguments: [
      ([0], "AA=="), ([0xFF, 0xEF], "/+8="), ([0, 16, 131], "ABCD"), ([1, 2, 3, 4, 5], "AQIDBAU="),
    ] as [([UInt8], String)])
  func `is written in Base64`(_ bytes: [UInt8], _ text: String) {
    #expect(Placeholder(color: .white, thumbHash: bytes).thumbHashText == text)
  }
}

@Suite struct `A placeholder` {
  private func placeholder(
    _ file: [UInt8], _ recipes: [Recipe] = [recipe(50)]
  ) async throws -> Placeholder {
    try await sharedPool.render(file, recipes).rendering.placeholder
  }

  @Test func `has the colour that most of the picture has, not its mean`() async throws {
    let file = TestPictures.file("pngsave", 120, 90) { x, _ in
      x < 80 ? [30, 60, 200] : [250, 250, 90]
    }
    for recipes in [[], [recipe(120)], [recipe(5)], [recipe(60), recipe(40)]] {
      let color = try await placeholder(file, recipes).color
      #expect(abs(Int(color.blue) - 200) < 4 && abs(Int(color.red) - 30) < 4, "\(color)")
    }
  }

  @Test func `of equal bytes is equal`() async throws {
    let file = TestPictures.photo("jpegsave", 500, 300)
    let first = try await placeholder(file)
    for _ in 0..<3 { #expect(try await placeholder(file) == first) }
  }

  @Test func `is upright, in sRGB, and of an animation's first frame`() async throws {
    let turned = TestPictures.file(
      "jpegsave", 80, 40, metadata: { $0.set("orientation", to: 6) }
    ) { _, _ in [90, 90, 90] }
    #expect(ReadHash(try await placeholder(turned).thumbHash).isWide == false)
    let animation = TestPictures.file(
      "gifsave", 40, 60,
      metadata: { $0.set("page-height", to: 30) }
    ) { _, y in y < 30 ? [250, 0, 0] : [0, 0, 250] }
    for recipes in [[recipe(20)], [recipe(20) { $0.animation = .first }, recipe(30)], []] {
      let color = try await placeholder(animation, recipes).color
      #expect(color.red > 240 && color.blue < 10)
    }
  }

  @Test func `knows transparency`() async throws {
    let file = TestPictures.file("pngsave", 60, 60, bands: 4) { x, _ in
      x < 20 ? [0, 0, 0, 0] : [10, 200, 30, 255]
    }
    let made = try await placeholder(file)
    #expect(ReadHash(made.thumbHash).isTransparent)
    #expect(made.color.green > 190)
    let nothing = TestPictures.file("pngsave", 20, 20, bands: 4) { _, _ in [0, 0, 0, 0] }
    #expect(try await placeholder(nothing).color == .white)
  }
}
