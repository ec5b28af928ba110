import Synchronization

/// How one axis of a picture is resampled: from where on each position of the result takes its
/// window, and with which weights.
///
/// Lanczos-3, stretched by the factor where the axis shrinks. What a window would take from beyond
/// the edge, the edge stands for.
struct LanczosAxis {
  /// 1 as a weight: weights have 14 bits behind the point.
  static let one: Int32 = 1 << 14
  private static let lobes = 3.0

  /// How many source positions each window has: a multiple of what was asked for.
  let taps: Int
  /// The first source position of each window.
  let starts: [Int32]
  /// `taps` for each position of the result, zeros behind its window's end; their sum is `one`.
  let weights: [Int16]

  /// The axes that were made last: every frame of an animation needs the same ones.
  private static let recent = Mutex<[(Question, LanczosAxis)]>([])
  private static let recentCount = 8

  private struct Question: Hashable {
    let source: Int
    let extent: Double
    let target: Int
    let multiple: Int
  }

  /// - Parameters:
  ///   - extent: how many positions the source really has: its last may stand for a part of one.
  ///   - multiple: of which `taps` is to be one.
  static func axis(
    from source: Int, extent: Double, to target: Int, tapsMultipleOf multiple: Int
  ) -> LanczosAxis {
    let question = Question(source: source, extent: extent, target: target, multiple: multiple)
    return recent.withLock { recent in
      if let known = recent.first(where: { $0.0 == question })?.1 { return known }
      let axis = LanczosAxis(
        from: source, extent: extent, to: target, tapsMultipleOf: multiple)
      recent = [(question, axis)] + recent.prefix(recentCount - 1)
      return axis
    }
  }

  init(from source: Int, extent: Double, to target: Int, tapsMultipleOf multiple: Int) {
    let factor = extent / Double(target)
    let stretch = max(1, factor)
    let windows = (0..<target).map { position in
      let centre = (Double(position) + 0.5) * factor - 0.5
      return Window(centre: centre, stretch: stretch, source: source)
    }
    let widest = windows.reduce(1) { max($0, $1.count) }
    taps = (widest + multiple - 1) / multiple * multiple
    starts = windows.map { Int32($0.start) }
    var weights = [Int16](repeating: 0, count: taps * target)
    for (position, window) in windows.enumerated() {
      window.fill(&weights, at: position * taps)
    }
    self.weights = weights
  }

  /// What one position of the result takes.
  private struct Window {
    let centre: Double
    let stretch: Double
    /// Of those that a full window would take, beyond the edges too.
    let first: Int
    let last: Int
    /// Within the source.
    let start: Int
    let count: Int

    init(centre: Double, stretch: Double, source: Int) {
      self.centre = centre
      self.stretch = stretch
      let reach = LanczosAxis.lobes * stretch
      first = Int((centre - reach).rounded(.up))
      last = Int((centre + reach).rounded(.down))
      start = max(0, first)
      count = min(last, source - 1) - start + 1
    }

    /// Rounded so that their sum is exact: flat areas stay as they are.
    func fill(_ weights: inout [Int16], at place: Int) {
      var exact = [Double](repeating: 0, count: count)
      var sum = 0.0
      for position in first...last {
        let weight = LanczosKernel.value(at: abs(Double(position) - centre) / stretch)
        exact[min(max(position - start, 0), count - 1)] += weight
        sum += weight
      }
      var rest = LanczosAxis.one
      var largest = 0
      for (index, weight) in exact.enumerated() {
        let rounded = (weight / sum * Double(LanczosAxis.one)).rounded()
        weights[place + index] = Int16(rounded)
        rest -= Int32(rounded)
        if weight > exact[largest] { largest = index }
      }
      weights[place + largest] += Int16(rest)
    }
  }
}

/// sin(πx)/πx · sin(πx/3)/(πx/3) for 0 ≤ x ≤ 3.
///
/// From a table: a sine for each weight would cost more than the resize.
private enum LanczosKernel {
  private static let steps = 1024
  private static let table: [Double] = (0...(3 * steps + 1)).map { step in
    let x = Double(step) / Double(steps)
    return x < 3 ? sinc(x) * sinc(x / 3) : 0
  }

  /// Between two entries of the table a line: within 5·10⁻⁷.
  static func value(at x: Double) -> Double {
    guard x < 3 else { return 0 }
    let place = x * Double(steps)
    let step = Int(place)
    let (below, above) = (table[step], table[step + 1])
    return below + (above - below) * (place - Double(step))
  }

  private static func sinc(_ x: Double) -> Double {
    guard x > 0 else { return 1 }
    return HalfTurns.sine(x) / (Double.pi * x)
  }
}
