import Glibc
import Testing

@testable import Imaging

/// A picture of bytes without libvips.
private struct Bytes: Equatable, CustomStringConvertible {
  var size: PixelSize
  var bands: Int
  var values: [UInt8]

  init(_ size: PixelSize, bands: Int, values: [UInt8]) {
    (self.size, self.bands, self.values) = (size, bands, values)
  }

  var description: String { "\(bands) bands of \(size)" }

  /// Noise, which no resampling leaves as it is.
  static func noise(_ size: PixelSize, bands: Int, seed: UInt64) -> Bytes {
    var state = seed
    let values = (0..<size.pixels * bands).map { _ -> UInt8 in
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return UInt8(truncatingIfNeeded: state >> 33)
    }
    return Bytes(size, bands: bands, values: values)
  }

  func resized(to target: PixelSize, _ loops: ResampleLoops) -> Bytes {
    let stride = size.width * bands
    let resized = [UInt8](unsafeUninitializedCapacity: target.pixels * bands) { memory, count in
      count = target.pixels * bands
      let resizer = Resizer(
        from: size, to: target, bands: bands, loops: loops, into: memory.baseAddress!)
      values.withUnsafeBufferPointer { all in
        for y in 0..<size.height {
          resizer.take(UnsafeBufferPointer(rebasing: all[y * stride..<(y + 1) * stride]))
        }
      }
    }
    return Bytes(target, bands: bands, values: resized)
  }

  /// The same integers, one sum after the other, without rings, blocks or pairs.
  func plainlyResized(to target: PixelSize) -> Bytes {
    let vertical = LanczosAxis(
      from: size.height, extent: Double(size.height), to: target.height, tapsMultipleOf: 1)
    let horizontal = LanczosAxis(
      from: size.width, extent: Double(size.width), to: target.width, tapsMultipleOf: 1)
    let stride = size.width * bands
    var result: [UInt8] = []
    for y in 0..<target.height {
      let between = (0..<stride).map { x in
        (vertical.sum(at: y) { values[$0 * stride + x].asInt } + 128) >> 8
      }
      for x in 0..<target.width {
        for band in 0..<bands {
          let sum = horizontal.sum(at: x) { between[$0 * bands + band] }
          result.append(UInt8(min(max((sum + (1 << 19)) >> 20, 0), 255)))
        }
      }
    }
    return Bytes(target, bands: bands, values: result)
  }

  /// Lanczos-3 in floating point from its definition, rounded once.
  func exactlyResized(to target: PixelSize) -> [Double] {
    func weights(_ source: Int, _ target: Int) -> [[(Int, Double)]] {
      let factor = Double(source) / Double(target)
      let stretch = max(1, factor)
      return (0..<target).map { position in
        let centre = (Double(position) + 0.5) * factor - 0.5
        let taps = Int(centre - 3 * stretch) - 1...Int(centre + 3 * stretch) + 1
        let raw = taps.map { tap -> (Int, Double) in
          let x = abs(Double(tap) - centre) / stretch
          let sinc = { (x: Double) in x < 1e-9 ? 1 : sin(.pi * x) / (.pi * x) }
          return (min(max(tap, 0), source - 1), x < 3 ? sinc(x) * sinc(x / 3) : 0)
        }
        let sum = raw.reduce(0) { $0 + $1.1 }
        return raw.map { ($0.0, $0.1 / sum) }
      }
    }
    let (down, across) = (
      weights(size.height, target.height), weights(size.width, target.width)
    )
    let stride = size.width * bands
    return down.flatMap { window in
      let between = (0..<stride).map { x in
        window.reduce(0) { $0 + Double(values[$1.0 * stride + x]) * $1.1 }
      }
      return across.flatMap { window in
        (0..<bands).map { band in
          min(max(window.reduce(0) { $0 + between[$1.0 * bands + band] * $1.1 }, 0), 255)
        }
      }
    }
  }
}

extension LanczosAxis {
  fileprivate func sum(at position: Int, _ value: (Int) -> Int) -> Int {
    (0..<taps).reduce(0) { sum, tap in
      let weight = Int(weights[position * taps + tap])
      return weight == 0 ? sum : sum + weight * value(Int(starts[position]) + tap)
    }
  }
}

extension UInt8 { fileprivate var asInt: Int { Int(self) } }

@Suite struct `Resizing` {
  static let loops = ResampleLoops.allCases.filter(\.isPossible)

  private static let sizes: [(PixelSize, PixelSize)] = {
    let fixed = [
      (PixelSize(1, 1), PixelSize(1, 1)), (PixelSize(1, 1), PixelSize(5, 4)),
      (PixelSize(40, 30), PixelSize(40, 30)), (PixelSize(40, 30), PixelSize(20, 15)),
      (PixelSize(7, 300), PixelSize(1, 10)), (PixelSize(300, 2), PixelSize(10, 1)),
      (PixelSize(33, 17), PixelSize(100, 60)), (PixelSize(64, 64), PixelSize(2, 64)),
    ]
    var state: UInt64 = 11
    func next(_ most: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return 1 + Int(state >> 40) % most
    }
    return fixed
      + (0..<40).map { _ in
        let source = PixelSize(next(90), next(90))
        // Within what is done in one step.
        return (
          source,
          PixelSize(
            max(next(source.width + 10), source.width / 32 + 1),
            max(next(source.height + 10), source.height / 32 + 1))
        )
      }
  }()

  @Test(arguments: loops, 1...4)
  func `gives the same bytes as its plain sums, on every CPU`(
    _ loops: ResampleLoops, _ bands: Int
  ) {
    for (index, (source, target)) in Self.sizes.enumerated() {
      let picture = Bytes.noise(source, bands: bands, seed: UInt64(index))
      #expect(
        picture.resized(to: target, loops) == picture.plainlyResized(to: target),
        "\(source) to \(target)")
    }
  }

  @Test func `is Lanczos-3 to within a rounding`() {
    var squares = 0.0
    var count = 0
    for (index, (source, target)) in Self.sizes.enumerated() {
      let picture = Bytes.noise(source, bands: 3, seed: UInt64(index))
      let made = picture.resized(to: target, .best)
      for (value, exact) in zip(made.values, picture.exactlyResized(to: target)) {
        #expect(abs(Double(value) - exact) < 0.75)
        squares += (Double(value) - exact) * (Double(value) - exact)
        count += 1
      }
    }
    // Rounding alone gives 1/12.
    #expect(squares / Double(count) < 0.09)
  }

  @Test(arguments: [
    (PixelSize(3000, 3), PixelSize(3, 3)), (PixelSize(3, 5000), PixelSize(2, 1)),
    (PixelSize(700, 900), PixelSize(5, 7)), (PixelSize(9, 9), PixelSize(200, 1)),
  ])
  func `leaves flat areas as they are, whatever the factor`(
    _ source: PixelSize, _ target: PixelSize
  ) {
    for value in [0, 1, 127, 254, 255] as [UInt8] {
      let flat = Bytes(
        source, bands: 1, values: [UInt8](repeating: value, count: source.pixels))
      for loops in Self.loops {
        #expect(flat.resized(to: target, loops).values.allSatisfy { $0 == value })
      }
    }
  }

  @Test func `by a large factor gives what there is on average`() {
    // Left half dark, right half bright.
    let wide = Bytes(
      PixelSize(4000, 1), bands: 1,
      values: (0..<4000).map { $0 < 2000 ? 40 : 200 })
    let made = wide.resized(to: PixelSize(4, 1), .best).values
    #expect(made[0] < 50 && made[3] > 190)
    #expect(abs(made.reduce(0) { $0 + Int($1) } - 480) < 8)
    for loops in Self.loops {
      #expect(wide.resized(to: PixelSize(4, 1), loops).values == made)
    }
  }

  @Test func `by a part of a column leaves no trace of it`() {
    // 101 columns at half their width: the last stands for half of one.
    let extent = SIMD2(50.5, 1)
    var made = [UInt8](repeating: 0, count: 25)
    made.withUnsafeMutableBufferPointer { memory in
      let resizer = Resizer(
        from: PixelSize(51, 1), extent: extent, to: PixelSize(25, 1), bands: 1,
        into: memory.baseAddress!)
      let ramp = (0..<51).map { UInt8($0 * 4) }
      ramp.withUnsafeBufferPointer { resizer.take($0) }
    }
    for (index, value) in made.enumerated() where (4..<21).contains(index) {
      let centre = (Double(index) + 0.5) * 50.5 / 25 - 0.5
      #expect(abs(Double(value) - centre * 4) < 0.6)
    }
  }
}
