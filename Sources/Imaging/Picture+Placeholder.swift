import CVips
import Vocabulary

extension Picture {
  /// The largest side of what placeholders are made from: more shows nothing.
  private static let placeholderSide = 100

  /// - Parameter isTransparent: whether it has alpha, its colours multiplied by it.
  func placeholder(isTransparent: Bool) throws(VipsFailure) -> Placeholder {
    let side = Self.placeholderSide
    let small = Layout(source: size, width: side, height: side, fit: .inside, enlarge: false).scaled
    let picture = try small == size ? inMemory() : resized(to: [small]).pictures[0]
    let pixels = picture.colours(isTransparent: isTransparent)
    return Placeholder(
      color: DominantColour(pixels).color, thumbHash: ThumbHash(small, pixels: pixels).bytes)
  }

  /// Red, green, blue and alpha, 0 to 1, colours not multiplied by alpha.
  private func colours(isTransparent: Bool) -> [SIMD4<Double>] {
    let (bands, bytes) = (bands, pixels)
    let alphaBand = isTransparent ? bands - 1 : nil
    let isGrey = bands < 3
    return (0..<size.pixels).map { index in
      func value(_ band: Int) -> Double { Double(bytes[index * bands + band]) / 255 }
      let alpha = alphaBand.map(value) ?? 1
      let colour = SIMD3(value(0), value(isGrey ? 0 : 1), value(isGrey ? 0 : 2))
      // Where resizing overshot, a colour is brighter than its alpha allows.
      let plain =
        alpha > 0 ? (colour / alpha).clamped(lowerBound: .zero, upperBound: .one) : .zero
      return SIMD4(plain, alpha)
    }
  }
}

/// The colour that most of a picture has: the mean of the fullest of 512 boxes of colours; white where
/// nothing is visible.
private struct DominantColour {
  let color: VariantSpec.Color

  private struct Box {
    var weight = 0.0
    var sum = SIMD4<Double>()
  }

  init(_ pixels: [SIMD4<Double>]) {
    var boxes = [Box](repeating: Box(), count: 512)
    for pixel in pixels {
      let place = (pixel * 7.999).rounded(.down)
      let index = (Int(place.x) * 8 + Int(place.y)) * 8 + Int(place.z)
      boxes[index].weight += pixel.w
      boxes[index].sum += pixel * pixel.w
    }
    // The first of equals.
    var fullest = Box()
    for box in boxes where box.weight > fullest.weight { fullest = box }
    guard fullest.weight > 0 else {
      color = .white
      return
    }
    let mean = (fullest.sum / fullest.weight * 255).rounded(.toNearestOrAwayFromZero)
    color = VariantSpec.Color(red: UInt8(mean.x), green: UInt8(mean.y), blue: UInt8(mean.z))
  }
}
