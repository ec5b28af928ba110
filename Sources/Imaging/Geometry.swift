import Vocabulary

/// Width and height in pixels, each 1 or more.
package struct PixelSize: Sendable, Hashable, CustomStringConvertible {
  package var width: Int
  package var height: Int

  package init(_ width: Int, _ height: Int) {
    self.width = width
    self.height = height
  }

  package var transposed: PixelSize { PixelSize(height, width) }
  package var pixels: Int { width.multipliedReportingOverflow(by: height).partialValue }
  package var description: String { "\(width)×\(height)" }

  package func covers(_ other: PixelSize) -> Bool {
    width >= other.width && height >= other.height
  }
}

/// How a picture becomes a variant: scaled to `scaled`, of which `frame` is cut out, or which is laid
/// into `frame`. Never both.
///
/// The rule: the side that constrains is exact; the other is the true ratio, rounded half up, at
/// least 1. Nothing is enlarged unless asked.
///
/// | fit | source | box | scaled | frame |
/// |---|---|---|---|---|
/// | inside | 5920×6736 | ?×480 | 422×480 | = |
/// | inside | 40×30 | 200×200 | 40×30 | = |
/// | outside | 400×300 | 200×200 | 267×200 | = |
/// | cover | 400×300 | 200×200 | 267×200 | 200×200 |
/// | cover | 300×1000 | 400×400 | 300×1000 | 300×300 |
/// | contain | 400×300 | 200×200 | 200×150 | 200×200 |
/// | fill | 400×300 | 200×200 | 200×200 | = |
package struct Layout: Sendable, Hashable {
  package var scaled: PixelSize
  package var frame: PixelSize

  /// - Parameters:
  ///   - source: upright.
  ///   - width: 1 or more; nil where only the height constrains. With neither, the source's size.
  package init(
    source: PixelSize, width: Int?, height: Int?, fit: VariantSpec.Fit, enlarge: Bool
  ) {
    guard let width, let height else {
      scaled = Self.scaledByOneSide(source, width: width, height: height, enlarge: enlarge)
      frame = scaled
      return
    }
    let box = PixelSize(width, height)
    switch fit {
    case .inside:
      scaled = Self.inside(source, box, enlarge: enlarge)
      frame = scaled
    case .outside:
      scaled = Self.outside(source, box, enlarge: enlarge)
      frame = scaled
    case .cover:
      scaled = Self.outside(source, box, enlarge: enlarge)
      frame = scaled.covers(box) ? box : Self.inside(box, scaled, enlarge: true)
    case .contain:
      scaled = Self.inside(source, box, enlarge: enlarge)
      frame = box
    case .fill:
      scaled = enlarge ? box : PixelSize(min(width, source.width), min(height, source.height))
      frame = scaled
    }
  }

  package init(source: PixelSize, recipe: Recipe) {
    self.init(
      source: source, width: recipe.width, height: recipe.height, fit: recipe.fit,
      enlarge: recipe.enlarge)
  }

  /// The larger of the two: what must fit into memory.
  package var largest: PixelSize { frame.pixels > scaled.pixels ? frame : scaled }

  private static func scaledByOneSide(
    _ source: PixelSize, width: Int?, height: Int?, enlarge: Bool
  ) -> PixelSize {
    if let width, enlarge || width < source.width { return source.scaled(toWidth: width) }
    if let height, enlarge || height < source.height { return source.scaled(toHeight: height) }
    return source
  }

  /// The largest size of the source's shape within the box.
  private static func inside(_ source: PixelSize, _ box: PixelSize, enlarge: Bool) -> PixelSize {
    if !enlarge, box.covers(source) { return source }
    return source.isWider(than: box)
      ? source.scaled(toWidth: box.width) : source.scaled(toHeight: box.height)
  }

  /// The smallest size of the source's shape that covers the box.
  private static func outside(_ source: PixelSize, _ box: PixelSize, enlarge: Bool) -> PixelSize {
    if !enlarge, !source.covers(box) { return source }
    return source.isWider(than: box)
      ? source.scaled(toHeight: box.height) : source.scaled(toWidth: box.width)
  }
}

extension PixelSize {
  /// Whether the width meets the box first when both grow together; also where both meet at once.
  fileprivate func isWider(than box: PixelSize) -> Bool {
    width * box.height >= height * box.width
  }

  fileprivate func scaled(toWidth target: Int) -> PixelSize {
    PixelSize(target, Self.ratio(height, target, width))
  }

  fileprivate func scaled(toHeight target: Int) -> PixelSize {
    PixelSize(Self.ratio(width, target, height), target)
  }

  /// `side` × `target` ÷ `whole`, rounded half up, at least 1.
  private static func ratio(_ side: Int, _ target: Int, _ whole: Int) -> Int {
    max(1, (2 * side * target + whole) / (2 * whole))
  }
}

extension VariantSpec.Position {
  /// Where a window of `part` stands in `whole`, from the upper left corner; the centre where the
  /// position depends on what the picture shows.
  package func offset(of part: PixelSize, in whole: PixelSize) -> (x: Int, y: Int) {
    let room = (x: whole.width - part.width, y: whole.height - part.height)
    let x =
      switch self {
      case .west, .northwest, .southwest: 0
      case .east, .northeast, .southeast: room.x
      default: room.x / 2
      }
    let y =
      switch self {
      case .north, .northwest, .northeast: 0
      case .south, .southwest, .southeast: room.y
      default: room.y / 2
      }
    return (x, y)
  }
}
