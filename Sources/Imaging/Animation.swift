import CVips
import Vocabulary

/// All frames of an animation in memory, and how long each is shown.
struct Animation {
  /// The frames one below the other, 8-bit sRGB.
  private let strip: Picture
  /// As the file stores it.
  private let frameSize: PixelSize
  /// EXIF's number; frames are turned one by one.
  private let orientation: Int
  private let count: Int
  private let isTransparent: Bool
  /// Milliseconds for each frame; nil where the file does not say.
  private let delays: [Int32]?
  /// How often it is played; 0 is for ever.
  private let loop: Int?

  init(of original: Original) throws(VipsFailure) {
    let frames = try original.frames()
    frameSize = PixelSize(
      frames.size.width, frames.int(MetadataField.pageHeight) ?? original.storedSize.height)
    count = frames.size.height / frameSize.height
    orientation = original.orientation
    delays = frames.ints(MetadataField.delays)
    loop = frames.int(MetadataField.loop)
    let whole = try Base(frames, orientation: 1).levels(of: [frames.size])
    strip = whole.pictures[0]
    isTransparent = !whole.isOpaque
  }

  /// The variant's frames one below the other, alpha no longer multiplied.
  func rendered(_ recipe: Recipe) throws(VipsFailure) -> Picture {
    let layout = Layout(
      source: orientation >= 5 ? frameSize.transposed : frameSize, recipe: recipe)
    var frames: [Picture] = []
    for index in 0..<count {
      let frame = try strip.cropped(x: 0, y: index * frameSize.height, to: frameSize)
        .upright(orientation)
      let level = try Base(part: frame).levels(of: [layout.level]).pictures[0]
      let scaled = try level.scaled(layout, recipe: recipe)
      let framed = try scaled.framed(layout, recipe: recipe, isTransparent: isTransparent)
      frames.append(try framed.inMemory())
    }
    let joined = try vips("arrayjoin", ["in": .pictures(frames), "across": .int(1)])
    let finished = isTransparent ? try joined.unpremultiplied() : try joined.inMemory()
    return try timed(finished, frameHeight: layout.frame.height)
  }

  private func timed(
    _ picture: Picture, frameHeight: Int
  ) throws(VipsFailure) -> Picture {
    let timed = try picture.withOwnMetadata()
    timed.set(MetadataField.pageHeight, to: frameHeight)
    if let delays { timed.set(MetadataField.delays, to: Array(delays.prefix(count))) }
    if let loop { timed.set(MetadataField.loop, to: loop) }
    return timed
  }
}

extension Recipe {
  /// Whether an animation is to stay one: asked for, in a format that can.
  var keepsAnimation: Bool {
    animation == .keep && [.webp, .gif, .auto].contains(format)
  }
}
