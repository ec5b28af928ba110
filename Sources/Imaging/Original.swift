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
  /// Where it has been read with its header.
  private let whole: Picture?
  /// Whether it can only be decoded whole: interlaced or in several scans.
  let needsAllAtOnce: Bool

  init(
    _ file: UnsafeRawBufferPointer, _ format: ImageFormat, limits: ImagingLimits,
    strictness: VipsFailOn = VIPS_FAIL_ON_TRUNCATED
  ) throws(ImagingFailure) {
    self.file = file
    self.format = format
    self.strictness = strictness
    try Self.checkDeclaredSize(of: file, format, limits)
    let header: Picture
    do {
      header = try Self.load(file, format, strictness, options: [:])
    } catch {
      throw ImagingFailure(reading: error, of: file, format)
    }
    whole = format == .bmp ? header : nil
    storedSize = header.size
    bands = header.bands
    bytesPerPixel = header.bytesPerPixel
    orientation = Int(vips_image_get_orientation(header.image))
    pages = max(1, header.int(MetadataField.pages) ?? 1)
    needsAllAtOnce = header.has("jpeg-multiscan") || header.has("interlaced")
    try Self.check(width: storedSize.width, height: storedSize.height, limits)
    try checkInks()
  }

  /// Before libvips sees the file, where its structure tells.
  static func checkDeclaredSize(
    of file: UnsafeRawBufferPointer, _ format: ImageFormat, _ limits: ImagingLimits
  ) throws(ImagingFailure) {
    guard let (width, height) = DeclaredExtent.size(of: file, format) else { return }
    try check(width: width, height: height, limits)
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
    if let whole { return whole }
    return try Self.load(
      file, format, strictness, options: shrink > 1 ? ["shrink": .int(shrink)] : [:])
  }

  /// Whether it is drawn at whatever size is asked for.
  var isDrawing: Bool { format == .svg || format == .pdf }

  /// The first page of a drawing.
  ///
  /// - Parameter scale: of both sides, more than 0.
  func picture(scale: Double) throws(VipsFailure) -> Picture {
    try Self.load(file, format, strictness, options: ["scale": .double(scale)])
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
    if format == .bmp { return try BMPFile(file).picture() }
    let common: [String: OperationArgument] = [
      "buffer": .bytes(file), "access": .int(Int(VIPS_ACCESS_SEQUENTIAL.rawValue)),
      "fail-on": .int(Int(strictness.rawValue)),
    ]
    return try vips(
      format.loader, common.merging(options) { $1 }.merging(format.loadOptions) { $1 })
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
}

extension ImageFormat {
  /// Two pixels for each of a PDF's points: enough for a screen.
  fileprivate var loadOptions: [String: OperationArgument] {
    self == .pdf ? ["dpi": .double(144)] : [:]
  }

  /// libvips' operation that reads it from memory.
  var loader: String {
    switch self {
    case .avif, .heic: "heifload_buffer"
    case .jp2: "jp2kload_buffer"
    default: "\(rawValue)load_buffer"
    }
  }
}
