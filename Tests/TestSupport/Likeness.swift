import Glibc

/// How much two pictures of one size are alike.
package struct Likeness: Sendable {
  /// Peak signal-to-noise ratio, in decibels; 99 where nothing differs.
  package let decibels: Double
  /// Structural similarity of their brightness, the mean over windows of 8×8: 1 where nothing differs.
  package let structure: Double

  /// - Parameters:
  ///   - a: bands of 8 bits, rows from the top without gaps.
  ///   - b: of the same shape.
  package init(_ a: [UInt8], _ b: [UInt8], width: Int, bands: Int) {
    precondition(a.count == b.count)
    let squares = a.withUnsafeBufferPointer { a in
      b.withUnsafeBufferPointer { b in
        var sum = 0
        for place in 0..<a.count {
          let difference = Int(a[place]) - Int(b[place])
          sum += difference * difference
        }
        return Double(sum) / Double(a.count)
      }
    }
    decibels = squares == 0 ? 99 : 10 * log10(255 * 255 / squares)
    structure = Self.structure(
      Self.brightness(a, bands: bands), Self.brightness(b, bands: bands), width: width)
  }

  private static func brightness(_ pixels: [UInt8], bands: Int) -> [Int] {
    guard bands >= 3 else {
      return stride(from: 0, to: pixels.count, by: bands).map { Int(pixels[$0]) }
    }
    return stride(from: 0, to: pixels.count, by: bands).map { place in
      (Int(pixels[place]) * 299 + Int(pixels[place + 1]) * 587 + Int(pixels[place + 2]) * 114)
        / 1000
    }
  }

  /// Wang et al., Image Quality Assessment (2004), with plain windows, each half over the next.
  private static func structure(_ a: [Int], _ b: [Int], width: Int) -> Double {
    let (side, step) = (8, 4)
    let height = a.count / width
    var (sum, windows) = (0.0, 0)
    for top in stride(from: 0, through: height - side, by: step) {
      for left in stride(from: 0, through: width - side, by: step) {
        sum += window(a, b, width: width, at: top * width + left, side: side)
        windows += 1
      }
    }
    return windows == 0 ? 1 : sum / Double(windows)
  }

  private static func window(
    _ a: [Int], _ b: [Int], width: Int, at corner: Int, side: Int
  ) -> Double {
    var (sumA, sumB, squaresA, squaresB, products) = (0, 0, 0, 0, 0)
    for y in 0..<side {
      for place in corner + y * width..<corner + y * width + side {
        let (x, y) = (a[place], b[place])
        sumA += x
        sumB += y
        squaresA += x * x
        squaresB += y * y
        products += x * y
      }
    }
    let count = Double(side * side)
    let (meanA, meanB) = (Double(sumA) / count, Double(sumB) / count)
    let varianceA = Double(squaresA) / count - meanA * meanA
    let varianceB = Double(squaresB) / count - meanB * meanB
    let covariance = Double(products) / count - meanA * meanB
    let (c1, c2) = (6.5025, 58.5225)
    return (2 * meanA * meanB + c1) * (2 * covariance + c2)
      / ((meanA * meanA + meanB * meanB + c1) * (varianceA + varianceB + c2))
  }
}
