/// Resizes a picture of 8-bit bands whose rows come in from the top, one by one.
///
/// It holds no more of them than its window is high, so that a decoded picture need never be whole in
/// memory. Columns first, then rows; Lanczos-3 in integers.
final class Resizer {
  let target: PixelSize
  private let source: PixelSize
  private let bands: Int
  private let loops: ResampleLoops
  private let vertical: LanczosAxis
  private let horizontal: LanczosAxis
  /// The last `vertical.taps` rows that came, each at its number modulo that.
  private let ring: UnsafeMutableBufferPointer<UInt8>
  private let ringStride: Int
  /// The window's rows, top to bottom.
  private let window: UnsafeMutableBufferPointer<UnsafePointer<UInt8>?>
  private let between: UnsafeMutableBufferPointer<Int16>
  private var received = 0
  private var emitted = 0
  private var result: Result

  /// Where the rows of the result go, top to bottom.
  private enum Result {
    /// One below the other.
    case memory(UnsafeMutablePointer<UInt8>)
    /// By way of a row's room.
    case next(Resizer, UnsafeMutableBufferPointer<UInt8>)
  }

  /// Above this factor the weights' bits would not do: it is done in two steps, as levels are made
  /// from levels.
  private static let maxFactor = 32

  /// - Parameters:
  ///   - extent: how many columns and rows the source really has; nil: all of them.
  ///   - bands: 1 to 4.
  ///   - memory: room for the result, without gaps between its rows.
  init(
    from source: PixelSize, extent: SIMD2<Double>? = nil, to target: PixelSize, bands: Int,
    loops: ResampleLoops = .best,
    into memory: UnsafeMutablePointer<UInt8>
  ) {
    self.source = source
    self.bands = bands
    self.loops = loops
    let step = Self.step(from: source, to: target)
    self.target = step
    if step == target {
      result = .memory(memory)
    } else {
      let next = Resizer(from: step, to: target, bands: bands, loops: loops, into: memory)
      result = .next(next, .allocate(capacity: step.width * bands))
    }
    let extent = extent ?? SIMD2(Double(source.width), Double(source.height))
    vertical = .axis(
      from: source.height, extent: extent.y, to: step.height, tapsMultipleOf: 2)
    horizontal = .axis(
      from: source.width, extent: extent.x, to: step.width, tapsMultipleOf: 4)
    ringStride = source.width * bands + ResampleLoops.blockSlack
    ring = .allocate(capacity: ringStride * vertical.taps)
    ring.initialize(repeating: 0)
    window = .allocate(capacity: vertical.taps)
    window.initialize(repeating: nil)
    // The last windows' zero weights take what lies behind the row.
    between = .allocate(
      capacity: (source.width + horizontal.taps) * bands + ResampleLoops.blockSlack)
    between.initialize(repeating: 0)
  }

  convenience init(
    from rows: any RowSource, to target: PixelSize, bands: Int,
    into memory: UnsafeMutablePointer<UInt8>
  ) {
    self.init(from: rows.size, extent: rows.extent, to: target, bands: bands, into: memory)
  }

  deinit {
    ring.deallocate()
    window.deallocate()
    between.deallocate()
    if case .next(_, let row) = result { row.deallocate() }
  }

  /// Where an axis shrinks by too much, a power of two times its target, so that what is left is a
  /// factor of two or more.
  private static func step(from source: PixelSize, to target: PixelSize) -> PixelSize {
    func step(_ source: Int, _ target: Int) -> Int {
      var step = target
      while source > step * maxFactor { step *= 2 }
      return step
    }
    return PixelSize(step(source.width, target.width), step(source.height, target.height))
  }

  /// - Parameter row: one of the source, without gaps; the next below the last.
  func take(_ row: UnsafeBufferPointer<UInt8>) {
    let slot = ring.baseAddress! + received % vertical.taps * ringStride
    slot.update(from: row.baseAddress!, count: source.width * bands)
    received += 1
    while emitted < target.height, received >= windowEnd { emitNext() }
  }

  /// How many rows the next row of the result waits for.
  private var windowEnd: Int {
    min(Int(vertical.starts[emitted]) + vertical.taps, source.height)
  }

  private func emitNext() {
    let start = Int(vertical.starts[emitted])
    for tap in 0..<vertical.taps {
      // Behind the last row weights are zero.
      let row = min(start + tap, source.height - 1)
      window[tap] = UnsafePointer(ring.baseAddress! + row % vertical.taps * ringStride)
    }
    vertical.weights.withUnsafeBufferPointer { weights in
      loops.columns(
        window.baseAddress!, weights: weights.baseAddress! + emitted * vertical.taps,
        taps: vertical.taps, count: source.width * bands, out: between.baseAddress!)
    }
    emitted += 1
    switch result {
    case .memory(let place):
      loops.row(between.baseAddress!, axis: horizontal, bands: bands, out: place)
      result = .memory(place + target.width * bands)
    case .next(let next, let row):
      loops.row(between.baseAddress!, axis: horizontal, bands: bands, out: row.baseAddress!)
      next.take(UnsafeBufferPointer(row))
    }
  }
}
