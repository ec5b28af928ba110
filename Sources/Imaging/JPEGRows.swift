import CJPEG
import CVips

/// A JPEG's rows straight from libjpeg-turbo: libvips' way to them copies each row three times and
/// clears the room for it before.
///
/// For grey and colour; CMYK, whose inks are stored one way or the other, stays with libvips, and so
/// does everything that is not pixels.
struct JPEGRows: RowSource {
  private let file: UnsafeRawBufferPointer
  private let shrink: Int
  private let strictness: VipsFailOn
  let size: PixelSize
  /// Its last column and row may stand for less than a whole one of the shrunk picture.
  let extent: SIMD2<Double>
  private let bands: Int

  /// As libvips has it.
  private static let mostScans = 100
  private static let stripHeight = 16

  /// Nil where these rows are not to be had this way.
  ///
  /// - Parameters:
  ///   - storedSize: not shrunk.
  ///   - header: the same file, opened by libvips.
  init?(
    of file: UnsafeRawBufferPointer, _ storedSize: PixelSize, shrink: Int, strictness: VipsFailOn,
    header: Picture
  ) {
    let isPlain = header.bands == 3 && header.interpretation == VIPS_INTERPRETATION_sRGB
    let isGrey = header.bands == 1 && header.interpretation == VIPS_INTERPRETATION_B_W
    guard header.isBytes, isPlain || isGrey else { return nil }
    self.file = file
    self.shrink = shrink
    self.strictness = strictness
    bands = header.bands
    size = PixelSize(
      (storedSize.width + shrink - 1) / shrink, (storedSize.height + shrink - 1) / shrink)
    extent =
      SIMD2(Double(storedSize.width), Double(storedSize.height)) / Double(shrink)
  }

  func forEachRow(
    mayChange: Bool, _ body: (UnsafeMutableBufferPointer<UInt8>) -> Void
  ) throws(VipsFailure) {
    // Never moved: it holds pointers into itself.
    let reader = UnsafeMutablePointer<tw_jpeg_reader>.allocate(capacity: 1)
    defer { reader.deallocate() }
    let status = tw_jpeg_start(
      reader, file.baseAddress!.assumingMemoryBound(to: UInt8.self), file.count, Int32(shrink),
      Int32(Self.mostScans))
    defer { tw_jpeg_close(reader) }
    try check(status, reader)
    let jpeg = reader.pointee.jpeg
    guard PixelSize(Int(jpeg.output_width), Int(jpeg.output_height)) == size,
      Int(jpeg.output_components) == bands
    else { throw VipsFailure(words: "its header is read in two ways") }
    try readRows(reader, body)
    try check(tw_jpeg_end(reader), reader)
    if reader.pointee.faults.manager.num_warnings > 0 { WarningLog.add(reader.words) }
  }

  private func readRows(
    _ reader: UnsafeMutablePointer<tw_jpeg_reader>,
    _ body: (UnsafeMutableBufferPointer<UInt8>) -> Void
  ) throws(VipsFailure) {
    let row = size.width * bands
    let strip = UnsafeMutablePointer<UInt8>.allocate(capacity: row * Self.stripHeight)
    defer { strip.deallocate() }
    for top in stride(from: 0, to: size.height, by: Self.stripHeight) {
      let height = min(Self.stripHeight, size.height - top)
      try check(tw_jpeg_read(reader, strip, Int32(height)), reader)
      for y in 0..<height { body(UnsafeMutableBufferPointer(start: strip + y * row, count: row)) }
    }
  }

  /// libjpeg goes on after a warning: whether that will do is the original's strictness to say.
  private func check(
    _ status: Int32, _ reader: UnsafeMutablePointer<tw_jpeg_reader>
  ) throws(VipsFailure) {
    let faults = reader.pointee.faults
    let isFlawed = strictness == VIPS_FAIL_ON_WARNING && faults.manager.num_warnings > 0
    guard status == 0, faults.is_cut == 0, !isFlawed else {
      throw VipsFailure(words: faults.is_cut != 0 ? "Premature end of JPEG file" : reader.words)
    }
  }
}

extension UnsafeMutablePointer<tw_jpeg_reader> {
  fileprivate var words: String {
    withUnsafeBytes(of: pointee.faults.words) {
      String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
    }
  }
}
