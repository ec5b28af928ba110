import CVips

/// Reads BMP files: libvips leaves them to ImageMagick, which strangers' bytes must never reach.
///
/// Palettes of 1 to 8 bits, also in runs, and 16, 24 and 32 bits, with alpha where a mask names it.
struct BMPFile {
  private let file: UnsafeRawBufferPointer
  private let header: BMPHeader

  init(_ file: UnsafeRawBufferPointer) throws(VipsFailure) {
    self.file = file
    header = try BMPHeader(file)
  }

  /// All of it in memory: red, green, blue and, where it says anything, alpha.
  func picture() throws(VipsFailure) -> Picture {
    let bands = header.hasAlpha ? 4 : 3
    let size = header.size
    var pixels = [UInt8](repeating: 0, count: size.pixels * bands)
    switch header.compression {
    case .none: try fill(&pixels, bands: bands)
    case .runs8, .runs4: try fillFromRuns(&pixels)
    }
    // Many a writer leaves alpha at zero and means none.
    let isInvisible =
      bands == 4 && stride(from: 3, to: pixels.count, by: 4).allSatisfy { pixels[$0] == 0 }
    if isInvisible { for at in stride(from: 3, to: pixels.count, by: 4) { pixels[at] = 255 } }
    guard
      let image = vips_image_new_from_memory_copy(
        pixels, pixels.count, gint(size.width), gint(size.height), gint(bands),
        VIPS_FORMAT_UCHAR)
    else { throw VipsFailure.take() }
    image.pointee.Type = VIPS_INTERPRETATION_sRGB
    return Picture(owning: image)
  }

  /// Where a stored row's pixels go.
  private func row(_ stored: Int) -> Int {
    header.isTopDown ? stored : header.size.height - 1 - stored
  }

  // MARK: Plain rows

  private func fill(_ pixels: inout [UInt8], bands: Int) throws(VipsFailure) {
    let (width, height) = (header.size.width, header.size.height)
    guard header.offset + header.stride * height <= file.count else {
      throw VipsFailure(words: "unexpected end of the BMP's pixels")
    }
    for stored in 0..<height {
      let source = header.offset + stored * header.stride
      let target = row(stored) * width * bands
      switch header.bitsPerPixel {
      case 24:
        for x in 0..<width {
          for band in 0..<3 { pixels[target + x * 3 + band] = file[source + x * 3 + 2 - band] }
        }
      case 16, 32:
        let bytes = header.bitsPerPixel / 8
        for x in 0..<width {
          let pixel = UInt32(file.littleEndian(at: source + x * bytes, bytes: bytes)!)  // checked
          for band in 0..<bands {
            pixels[target + x * bands + band] = header.channels[band].value(of: pixel)
          }
        }
      case let bits:
        for x in 0..<width {
          let byte = file[source + x * bits / 8]
          let shift = 8 - bits - x * bits % 8
          put(Int(byte >> shift) & (1 << bits - 1), at: target + x * 3, &pixels)
        }
      }
    }
  }

  /// An index beyond the palette is black, as everywhere.
  private func put(_ index: Int, at place: Int, _ pixels: inout [UInt8]) {
    guard header.palette.indices.contains(index) else { return }
    for band in 0..<3 { pixels[place + band] = header.palette[index][band] }
  }

  // MARK: Runs

  /// Pairs of bytes: a count and an index, or (0, what follows): 0 ends a row, 1 the picture, 2 moves
  /// on, more are that many indices as they are. What is moved over has index 0.
  private func fillFromRuns(_ pixels: inout [UInt8]) throws(VipsFailure) {
    let (width, height) = (header.size.width, header.size.height)
    let isHalf = header.compression == .runs4
    for place in 0..<width * height { put(0, at: place * 3, &pixels) }
    var (at, x, y) = (header.offset, 0, 0)
    func index(_ byte: UInt8, _ number: Int) -> Int {
      isHalf ? Int(number % 2 == 0 ? byte >> 4 : byte & 15) : Int(byte)
    }
    func set(_ index: Int) {
      if x < width, y < height { put(index, at: (row(y) * width + x) * 3, &pixels) }
      x += 1
    }
    while y < height {
      guard at + 2 <= file.count else {
        throw VipsFailure(words: "unexpected end of the BMP's runs")
      }
      let (count, value) = (Int(file[at]), file[at + 1])
      at += 2
      switch (count, value) {
      case (0, 0): (x, y) = (0, y + 1)
      case (0, 1): return
      case (0, 2):
        guard at + 2 <= file.count else {
          throw VipsFailure(words: "unexpected end of the BMP's runs")
        }
        (x, y) = (x + Int(file[at]), y + Int(file[at + 1]))
        at += 2
      case (0, _):
        let length = isHalf ? (Int(value) + 1) / 2 : Int(value)
        guard at + length <= file.count else {
          throw VipsFailure(words: "unexpected end of the BMP's runs")
        }
        for number in 0..<Int(value) {
          set(index(file[at + (isHalf ? number / 2 : number)], number))
        }
        at += length + length % 2
      default: for number in 0..<count { set(index(value, number)) }
      }
    }
  }
}
