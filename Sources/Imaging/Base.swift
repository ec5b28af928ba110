import CVips
import Vocabulary

/// The decoded picture that levels are made from, and what is still to be done to them.
struct Base {
  let picture: Picture
  /// EXIF's number; the levels are turned, since they are smaller.
  let orientation: Int
  /// Whether the levels are to be converted to sRGB, for the same reason.
  let needsColour: Bool
  /// Whether it has alpha, its colours multiplied by it.
  let isTransparent: Bool

  /// A still picture. Pixels are computed now unless they can stream into the only level.
  init(
    still decoded: Picture, orientation: Int, streams: Bool
  ) throws(VipsFailure) {
    self.orientation = orientation
    if ColourConversion.canFollowResizing(decoded) {
      picture = streams ? decoded : try decoded.inMemory()
      needsColour = true
      isTransparent = false
    } else {
      let converted = try ColourConversion.toSRGB(decoded).ownPixels()
      needsColour = false
      isTransparent =
        converted.hasAlpha
        && !Alpha.premultiply(
          converted.pixels, bands: converted.bands)
      picture = isTransparent ? converted : try converted.withoutAlpha()
    }
  }

  /// A part of a picture that is sRGB already.
  init(part: Picture, isTransparent: Bool) {
    picture = part
    orientation = 1
    needsColour = false
    self.isTransparent = isTransparent
  }

  /// - Parameter size: upright.
  func level(of size: PixelSize) throws(VipsFailure) -> Picture {
    let stored = orientation >= 5 ? size.transposed : size
    let resized = try picture.resized(to: stored)
    let converted = needsColour ? try ColourConversion.toSRGB(resized) : resized
    // Turning reads columns, a streaming picture gives rows.
    let held = orientation > 1 ? try converted.inMemory().upright(orientation) : converted
    return try held.inMemory()
  }
}

/// The sizes of one picture that its variants need, made once each.
struct Levels {
  private var pictures: [PixelSize: Picture] = [:]
  let isTransparent: Bool

  init(of base: Base, plan: LevelPlan) throws(VipsFailure) {
    isTransparent = base.isTransparent
    for level in plan.levels {
      if let source = level.source {
        let from = Base(
          part: pictures[plan.levels[source].size]!, isTransparent: base.isTransparent)
        pictures[level.size] = try from.level(of: level.size)
      } else {
        pictures[level.size] = try base.level(of: level.size)
      }
    }
  }

  subscript(size: PixelSize) -> Picture { pictures[size]! }
}
