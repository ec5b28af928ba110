import Vocabulary

/// Which sizes are computed, in which order and from what, so that one decode feeds all variants.
///
/// Each comes from the smallest one before it that is at least twice as large on both sides, else
/// from the decoded picture: small steps cost little, and factors below two would soften.
package struct LevelPlan: Sendable, Equatable {
  package struct Level: Sendable, Equatable {
    /// Upright.
    package var size: PixelSize
    /// An earlier level's index; nil is the decoded picture.
    package var source: Int?
  }

  /// Largest first.
  package let levels: [Level]
  /// The level that the placeholder is made from: the smallest that shows enough, else one of its own.
  package let placeholder: PixelSize

  /// Pixels along a side that are enough for a placeholder, and those of a level of its own.
  private static let placeholderSides = (least: 32, own: 64)

  /// - Parameter source: the picture, upright.
  package init(sizes: [PixelSize], placeholderOf source: PixelSize) {
    let least = Self.placeholderSides.least
    let enough = PixelSize(min(source.width, least), min(source.height, least))
    let own = Self.placeholderSides.own
    placeholder =
      sizes.filter { $0.covers(enough) }.min { Self.isBefore($1, $0) }
      ?? Layout(source: source, width: own, height: own, fit: .inside, enlarge: false).scaled
    var levels: [Level] = []
    for size in Set(sizes + [placeholder]).sorted(by: Self.isBefore) {
      let twice = PixelSize(size.width * 2, size.height * 2)
      levels.append(Level(size: size, source: levels.lastIndex { $0.size.covers(twice) }))
    }
    self.levels = levels
  }

  private static func isBefore(_ a: PixelSize, _ b: PixelSize) -> Bool {
    a.pixels != b.pixels ? a.pixels > b.pixels : a.width > b.width
  }

  /// By how much a JPEG's sides may be divided while it is decoded: the largest of 8, 4 and 2 that
  /// leaves at least twice of every level, else 1. Other factors blur.
  package func shrinkOnLoad(of source: PixelSize) -> Int {
    [8, 4, 2].first { factor in
      let left = PixelSize(source.width / factor, source.height / factor)
      return levels.allSatisfy { left.covers(PixelSize($0.size.width * 2, $0.size.height * 2)) }
    } ?? 1
  }

  /// The scale at which a drawing is drawn: where it has the pixels of every level, so that it is sharp
  /// however much it is enlarged, and takes no more memory than is looked at.
  ///
  /// Never more than four times the largest level's pixels, which a level of another shape would take,
  /// and no side below one pixel.
  package func drawingScale(of source: PixelSize) -> Double {
    let needed = levels.reduce(0) { scale, level in
      max(
        scale, Double(level.size.width) / Double(source.width),
        Double(level.size.height) / Double(source.height))
    }
    let most = (4 * Double(levels[0].size.pixels) / Double(source.pixels)).squareRoot()
    return max(min(needed, most), 1 / Double(min(source.width, source.height)))
  }
}
