import CVips
import Synchronization
import Vocabulary

@testable import Imaging

/// Pictures that the tests make and read by themselves, with libvips in the test's own process.
enum TestPictures {
  private static let started: Void = {
    try! Imaging.start(outOfMemoryStatus: 71)
  }()
  /// libvips has one error buffer for the process.
  private static let turn = Mutex(())

  static func locked<Result>(_ body: () throws -> Result) rethrows -> Result {
    _ = started
    return try turn.withLock { _ in try body() }
  }

  /// A file of pixels that a function gives, 8 bits a band.
  static func file(
    _ saver: String, _ width: Int, _ height: Int, bands: Int = 3,
    options: [String: OperationArgument] = [:], metadata: (Picture) -> Void = { _ in },
    pixel: (_ x: Int, _ y: Int) -> [UInt8]
  ) -> [UInt8] {
    var pixels: [UInt8] = []
    for y in 0..<height { for x in 0..<width { pixels += pixel(x, y) } }
    return locked {
      let image = vips_image_new_from_memory_copy(
        pixels, pixels.count, gint(width), gint(height), gint(bands), VIPS_FORMAT_UCHAR)!
      image.pointee.Type = bands < 3 ? VIPS_INTERPRETATION_B_W : VIPS_INTERPRETATION_sRGB
      let picture = Picture(owning: image)
      metadata(picture)
      return save(picture, saver, options)
    }
  }

  /// - Precondition: called within `locked`.
  static func save(
    _ picture: Picture, _ saver: String, _ options: [String: OperationArgument] = [:]
  ) -> [UInt8] {
    try! vips(
      saver + "_buffer", options.merging(["in": .picture(picture)]) { $1 }, read: { $0.bytes() })
  }

  /// A photograph's like: smooth, with some noise that no encoder can squeeze away.
  static func photo(
    _ saver: String, _ width: Int, _ height: Int, options: [String: OperationArgument] = [:],
    metadata: (Picture) -> Void = { _ in }
  ) -> [UInt8] {
    var state: UInt32 = 1
    return file(saver, width, height, options: options, metadata: metadata) { x, y in
      state = state &* 1_664_525 &+ 1_013_904_223
      let noise = Int(state >> 27)
      return [UInt8(x * 200 / width + noise), UInt8(y * 200 / height + noise), UInt8(90 + noise)]
    }
  }
}

/// A file's pixels and metadata, as libvips sees them.
struct DecodedPicture {
  let size: PixelSize
  let bands: Int
  let pages: Int
  let fields: [String]
  let delays: [Int32]?
  let loop: Int?
  let orientation: Int
  private let pixels: [UInt8]

  /// Rows from the top, without gaps.
  var allPixels: [UInt8] { pixels }

  init(_ file: [UInt8], allFrames: Bool = false) {
    self = TestPictures.locked {
      file.withUnsafeBytes { bytes in
        guard case .image(let format) = Sniffed(bytes) else { fatalError("not an image") }
        let loader = format == .avif ? "heif" : format.rawValue
        var options: [String: OperationArgument] = ["buffer": .bytes(bytes)]
        if allFrames { options["n"] = .int(-1) }
        let picture = try! vips("\(loader)load_buffer", options).inMemory()
        return DecodedPicture(picture)
      }
    }
  }

  private init(_ picture: Picture) {
    size = picture.size
    bands = picture.bands
    pages = picture.int(MetadataField.pages) ?? 1
    fields = picture.fields
    delays = picture.ints(MetadataField.delays)
    loop = picture.int(MetadataField.loop)
    orientation = Int(vips_image_get_orientation(picture.image))
    pixels = Array(picture.pixels)
  }

  func pixel(_ x: Int, _ y: Int) -> [Int] {
    let start = (y * size.width + x) * bands
    return pixels[start..<start + bands].map(Int.init)
  }

  /// The pixel as red, green, blue and alpha, whatever bands there are.
  func rgba(_ x: Int, _ y: Int) -> [Int] {
    let values = pixel(x, y)
    return switch bands {
    case 1: [values[0], values[0], values[0], 255]
    case 2: [values[0], values[0], values[0], values[1]]
    case 3: values + [255]
    default: values
    }
  }

  /// All pixels without alpha, as they look on white.
  var onWhite: [UInt8] {
    guard bands % 2 == 0 else { return pixels }
    return stride(from: 0, to: pixels.count, by: bands).flatMap { start in
      let alpha = Int(pixels[start + bands - 1])
      return (0..<bands - 1).map { band in
        UInt8((Int(pixels[start + band]) * alpha + 255 * (255 - alpha) + 127) / 255)
      }
    }
  }

  func hasPixels(of other: DecodedPicture) -> Bool {
    size == other.size && bands == other.bands && pixels == other.pixels
  }

  /// The largest difference of a band.
  func distance(at x: Int, _ y: Int, from colour: [Int]) -> Int {
    zip(pixel(x, y), colour).map { abs($0 - $1) }.max()!
  }
}
