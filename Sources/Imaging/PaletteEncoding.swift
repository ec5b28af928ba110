import CVips
import Glibc

/// A PNG with a palette, of a picture that has no more colours than a palette holds.
///
/// libvips makes palettes by quantising, which is free to lose: the file is read back, and counts only
/// where every pixel looks as it did.
struct PaletteEncoding {
  /// Nil where a palette would lose something.
  let bytes: [UInt8]?

  private static let mostColours = 256

  /// - Parameter options: the saver's, for a PNG without a palette.
  init(_ picture: Picture, options: [String: OperationArgument]) throws(VipsFailure) {
    let source = try picture.inMemory()
    guard source.bands >= 3, source.isBytes, Self.hasFewColours(source) else {
      bytes = nil
      return
    }
    let palette: [String: OperationArgument] = [
      "palette": .bool(true), "Q": .int(100), "dither": .double(0), "effort": .int(7),
    ]
    let file = try vips(
      "pngsave_buffer", options.merging(palette) { $1 }, read: { $0.bytes() })
    bytes = try Self.holds(source, file) ? file : nil
  }

  /// Most pictures show too many after some hundred pixels.
  private static func hasFewColours(_ picture: Picture) -> Bool {
    let (bands, pixels) = (picture.bands, picture.pixels)
    var met: Set<UInt32> = []
    var last: UInt32?
    for start in stride(from: 0, to: pixels.count, by: bands) {
      var colour: UInt32 = 0
      for band in 0..<bands { colour = colour << 8 | UInt32(pixels[start + band]) }
      if colour == last { continue }
      last = colour
      if met.insert(colour).inserted, met.count > mostColours { return false }
    }
    return true
  }

  private static func holds(_ picture: Picture, _ file: [UInt8]) throws(VipsFailure) -> Bool {
    try file.withUnsafeBufferPointer { file throws(VipsFailure) in
      let read = try vips(
        "pngload_buffer", ["buffer": .bytes(UnsafeRawBufferPointer(file))]
      ).inMemory()
      guard read.bands == picture.bands else { return false }
      let (ours, theirs) = (picture.pixels, read.pixels)
      guard ours.count == theirs.count else { return false }
      let isSame = memcmp(ours.baseAddress!, theirs.baseAddress!, ours.count) == 0
      return isSame || (picture.hasAlpha && looksAlike(ours, theirs))
    }
  }

  /// Whether only the colours of what is invisible differ.
  private static func looksAlike(
    _ a: UnsafeMutableRawBufferPointer, _ b: UnsafeMutableRawBufferPointer
  ) -> Bool {
    for pixel in stride(from: 0, to: a.count, by: 4) {
      let isInvisible = a[pixel + 3] == 0 && b[pixel + 3] == 0
      let isSame = memcmp(a.baseAddress! + pixel, b.baseAddress! + pixel, 4) == 0
      guard isInvisible || isSame else { return false }
    }
    return true
  }
}
