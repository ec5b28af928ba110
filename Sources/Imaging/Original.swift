import CVips
import Vocabulary

/// What a decoder may spend on one image.
package struct ImagingLimits: Sendable {
  package var maxPixels: Int
  package var maxFrames: Int
  /// Bytes.
  package var maxMemory: Int
  package var formats: Set<ImageFormat>

  package init(maxPixels: Int, maxFrames: Int, maxMemory: Int, formats: Set<ImageFormat>) {
    self.maxPixels = maxPixels
    self.maxFrames = maxFrames
    self.maxMemory = maxMemory
    self.formats = formats
  }

  /// No original may have a longer side, in pixels.
  package static let maxSide = 32_768
}

/// An image file whose header has been read and is within the limits.
///
/// The loader is called by name after the file's first bytes; libvips never guesses.
struct Original {
  let file: UnsafeRawBufferPointer
  let format: ImageFormat
  /// How much of a flaw libvips lets pass.
  let strictness: VipsFailOn
  /// As the file stores it.
  let storedSize: PixelSize
  /// EXIF's number, 1 to 8.
  let orientation: Int
  let bands: Int
  let bytesPerPixel: Int
  /// Images in the file: frames of an animation, pages, pictures of a set.
  let pages: Int
  /// Whether it can only be decoded whole: interlaced or in several scans.
  let needsAllAtOnce: Bool

  init(
    _ file: UnsafeRawBufferPointer, _ format: ImageFormat, limits: ImagingLimits,
    strictness: VipsFailOn = VIPS_FAIL_ON_TRUNCATED
  ) throws(ImagingFailure) {
    self.file = file
    self.format = format
    self.strictness = strictness
    if let (width, height) = DeclaredExtent.size(of: file, format) {
      try Self.check(width: width, height: height, limits)
    }
    let header: Picture
    do {
      header = try Self.load(file, format, strictness, options: [:])
    } catch {
      throw ImagingFailure(reading: error, of: file, format)
    }
    storedSize = header.size
    bands = header.bands
    bytesPerPixel = header.bytesPerPixel
    orientation = Int(vips_image_get_orientation(header.image))
    pages = max(1, header.int(MetadataField.pages) ?? 1)
    needsAllAtOnce = header.has("jpeg-multiscan") || header.has("interlaced")
    try Self.check(width: storedSize.width, height: storedSize.height, limits)
    try checkInks()
  }

  /// Four components are four inks as they are or three colours and black, and stored the other way
  /// round: Adobe's marker tells. Where it tells neither, any picture would be made up.
  private func checkInks() throws(ImagingFailure) {
    guard format == .jpeg, bands == 4, let transform = JPEGMarkers.adobeTransform(of: file),
      transform != 0, transform != 2
    else { return }
    throw ImagingFailure(
      .corrupt, "its Adobe marker names colour transform \(transform), which there is not")
  }

  var size: PixelSize { orientation >= 5 ? storedSize.transposed : storedSize }

  /// Whether its pages are shown one after the other.
  var isAnimation: Bool { pages > 1 && (format == .gif || format == .webp) }

  /// Whether it is a WebP without loss; of an animation, its first frame.
  var isLosslessWebP: Bool { format == .webp && WebPContainer.isLossless(file) }

  /// The first picture.
  ///
  /// - Parameter shrink: 1, 2, 4 or 8, by the JPEG decoder; 1 for the other formats.
  func picture(shrink: Int = 1) throws(VipsFailure) -> Picture {
    try Self.load(
      file, format, strictness, options: shrink > 1 ? ["shrink": .int(shrink)] : [:])
  }

  /// - Parameter picture: what `picture` gave for this shrink.
  /// - Returns: a shorter way to its rows, if there is one.
  func rows(of picture: Picture, shrink: Int) -> (any RowSource)? {
    guard format == .jpeg else { return nil }
    return JPEGRows(
      of: file, storedSize, shrink: shrink, strictness: strictness, header: picture)
  }

  /// All frames, one below the other.
  func frames() throws(VipsFailure) -> Picture {
    try Self.load(file, format, strictness, options: ["n": .int(-1)])
  }

  private static func load(
    _ file: UnsafeRawBufferPointer, _ format: ImageFormat, _ strictness: VipsFailOn,
    options: [String: OperationArgument]
  ) throws(VipsFailure) -> Picture {
    let common: [String: OperationArgument] = [
      "buffer": .bytes(file), "access": .int(Int(VIPS_ACCESS_SEQUENTIAL.rawValue)),
      "fail-on": .int(Int(strictness.rawValue)),
    ]
    return try vips(loader(of: format), common.merging(options) { $1 })
  }

  private static func loader(of format: ImageFormat) -> String {
    switch format {
    case .avif, .heic: "heifload_buffer"
    default: "\(format.rawValue)load_buffer"
    }
  }

  private static func check(
    width: Int, height: Int, _ limits: ImagingLimits
  ) throws(ImagingFailure) {
    let most = ImagingLimits.maxSide
    guard width <= most, height <= most else {
      throw ImagingFailure(
        .tooManyPixels, "it has \(width)×\(height) pixels; a side may have \(most)")
    }
    guard width * height <= limits.maxPixels else {
      throw ImagingFailure(
        .tooManyPixels,
        "it has \(width)×\(height) = \(width * height) pixels; \(limits.maxPixels) are allowed")
    }
  }

  /// Refuses what would not fit before a pixel is decoded.
  ///
  /// - Parameter pixels: how many are held at once besides what the format's decoder holds: each
  ///   with four bands, and a copy for what is done to them.
  func checkMemory(holding pixels: Int, limits: ImagingLimits) throws(ImagingFailure) {
    let needed = decodersMemory + pixels * 8
    guard needed <= limits.maxMemory else {
      throw ImagingFailure(
        .memory,
        "decoding \(size) pixels needs about \(ByteSizeText.format(needed)); "
          + "a decoder has \(ByteSizeText.format(limits.maxMemory))")
    }
  }

  /// Bytes that the format's decoder holds besides the pixels that it gives.
  private var decodersMemory: Int {
    let stored = storedSize.pixels
    return switch format {
    // Coefficients of all scans: two bytes each.
    case .jpeg: needsAllAtOnce ? stored * bands * 2 : 0
    case .png: needsAllAtOnce ? stored * bytesPerPixel : 0
    // Whole pictures, as planes and as pixels.
    case .avif, .heic: stored * (bytesPerPixel + 4)
    // A canvas or two, and a third where frames are laid over each other.
    case .webp, .gif: stored * (isAnimation ? 12 : 8)
    default: stored * bytesPerPixel
    }
  }
}
