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

/// How a picture becomes a variant: `window` of it is scaled to `scaled`, of which `frame` is cut out,
/// or which is laid into `frame`. Never both.
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
///
/// The window is the whole picture, but where `cover` enlarges one that is so long and thin that most
/// of it would be scaled for nothing: of 10000×1 for 200×200, three pixels are taken.
package struct Layout: Sendable, Hashable {
  package let source: PixelSize
  package private(set) var window: PixelSize
  package private(set) var scaled: PixelSize
  package private(set) var frame: PixelSize
  /// Whether the picture was too small for what `cover` asks: it has the box's shape only.
  package private(set) var isCapped = false

  /// - Parameters:
  ///   - source: upright.
  ///   - width: 1 or more; nil where only the height constrains. With neither, the source's size.
  package init(
    source: PixelSize, width: Int?, height: Int?, fit: VariantSpec.Fit, enlarge: Bool
  ) {
    self.source = source
    window = source
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
      isCapped = !scaled.covers(box)
      frame = isCapped ? Self.inside(box, scaled, enlarge: true) : box
      if enlarge { narrow(to: box) }
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

  /// Which size of the whole picture is needed: the window is cut out of it as it is.
  package var level: PixelSize { window == source ? scaled : source }

  /// Takes a window where that spares most of the scaling: what the box will show, and a pixel more on
  /// each side, which resampling looks at.
  private mutating func narrow(to box: PixelSize) {
    guard scaled.covers(source), scaled.pixels > 8 * box.pixels else { return }
    func shown(_ side: Int, of other: Int, _ whole: Int) -> Int {
      (side * whole + other - 1) / other + 2
    }
    if source.isWider(than: box) {
      let width = shown(box.width, of: box.height, source.height)
      window.width = min(source.width, width)
      scaled = window.scaled(toHeight: box.height)
    } else {
      let height = shown(box.height, of: box.width, source.width)
      window.height = min(source.height, height)
      scaled = window.scaled(toWidth: box.width)
    }
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
