import CVips
import Vocabulary

/// The decoded picture that levels are made from, and what is still to be done to them.
///
/// Its pixels are read once, from the top, by `Picture.resized`: it streams from the decoder through
/// the resizers of all levels, and is never whole in memory unless its format's decoder has it so.
struct Base {
  let picture: Picture
  /// Its rows, where there is a shorter way to them.
  private let rows: (any RowSource)?
  /// EXIF's number; the levels are turned, since they are smaller.
  let orientation: Int
  /// Whether the levels are to be converted to sRGB, for the same reason.
  let needsColour: Bool
  /// Whether it has alpha that its colours are yet to be multiplied by.
  let multipliesAlpha: Bool

  /// A picture as it was decoded.
  init(
    _ decoded: Picture, rows: (any RowSource)? = nil, orientation: Int
  ) throws(VipsFailure) {
    self.rows = rows
    self.orientation = orientation
    let plain = try ColourConversion.withoutNeedlessProfile(decoded)
    needsColour = ColourConversion.canFollowResizing(plain)
    picture = needsColour ? plain : try ColourConversion.toSRGB(plain)
    multipliesAlpha = picture.hasAlpha
  }

  /// A level, or a part of one.
  init(part: Picture) {
    picture = part
    rows = nil
    orientation = 1
    needsColour = false
    multipliesAlpha = false
  }

  /// Levels in memory: 8-bit sRGB or grey, upright, colours multiplied by alpha where there is any.
  ///
  /// - Parameter sizes: upright.
  /// - Returns: them in the order asked, without alpha where it says nothing.
  func levels(of sizes: [PixelSize]) throws(VipsFailure) -> ResizedPictures {
    let stored = sizes.map { orientation >= 5 ? $0.transposed : $0 }
    var levels = try picture.resized(to: stored, multipliesAlpha: multipliesAlpha, rows: rows)
    for (index, level) in levels.pictures.enumerated() {
      levels.pictures[index] = try finished(level, isOpaque: levels.isOpaque)
    }
    return levels
  }

  private func finished(_ level: Picture, isOpaque: Bool) throws(VipsFailure) -> Picture {
    if needsColour {
      return try ColourConversion.toSRGB(level).inMemory().upright(orientation).inMemory()
    }
    let plain = multipliesAlpha && isOpaque ? try level.withoutAlpha() : level
    return try plain.upright(orientation).inMemory()
  }
}

/// The sizes of one picture that its variants need, made once each.
struct Levels {
  private var pictures: [PixelSize: Picture] = [:]
  /// Whether they have alpha, their colours multiplied by it.
  let isTransparent: Bool

  init(of base: Base, plan: LevelPlan) throws(VipsFailure) {
    let fromDecoded = plan.levels.filter { $0.source == nil }.map(\.size)
    let made = try base.levels(of: fromDecoded)
    for (size, picture) in zip(fromDecoded, made.pictures) { pictures[size] = picture }
    isTransparent = !made.isOpaque
    for level in plan.levels {
      guard let source = level.source else { continue }
      let from = Base(part: pictures[plan.levels[source].size]!)
      pictures[level.size] = try from.levels(of: [level.size]).pictures[0]
    }
  }

  subscript(size: PixelSize) -> Picture { pictures[size]! }
}
