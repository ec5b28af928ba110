/// What a BMP file says of its pixels before they begin.
///
/// Source: Microsoft's BITMAPFILEHEADER, BITMAPCOREHEADER and BITMAPINFOHEADER to BITMAPV5HEADER, and
/// OS/2's 64 bytes; all numbers little-endian.
struct BMPHeader {
  enum Compression {
    case none, runs8, runs4
  }

  /// Where a colour's bits lie in a pixel.
  struct Channel {
    let shift: UInt32
    /// The largest value; 0 where the channel is missing.
    let most: UInt32

    init(mask: UInt32) {
      shift = mask == 0 ? 0 : UInt32(mask.trailingZeroBitCount)
      most = mask >> shift
    }

    func value(of pixel: UInt32) -> UInt8 {
      most == 0 ? 0 : UInt8(UInt64(pixel >> shift & most) * 255 / UInt64(most))
    }
  }

  let size: PixelSize
  let isTopDown: Bool
  let bitsPerPixel: Int
  let compression: Compression
  /// Red, green, blue and alpha, for 16 and 32 bits.
  let channels: [Channel]
  /// Red, green and blue of each index.
  let palette: [SIMD3<UInt8>]
  /// Where the pixels begin.
  let offset: Int

  var hasAlpha: Bool { channels.last.map { $0.most > 0 } ?? false }

  /// Bytes of a row, filled up to a multiple of four.
  var stride: Int { (size.width * bitsPerPixel + 31) / 32 * 4 }

  /// Width and height as they stand there, which may be anything.
  static func declaredSize(_ file: UnsafeRawBufferPointer) -> (width: Int, height: Int)? {
    guard let length = file.littleEndian(at: 14, bytes: 4) else { return nil }
    if length == 12 {
      guard let width = file.littleEndian(at: 18, bytes: 2),
        let height = file.littleEndian(at: 20, bytes: 2)
      else { return nil }
      return (width, height)
    }
    guard let width = file.signed(at: 18), let height = file.signed(at: 22) else { return nil }
    return (width, abs(height))
  }

  /// - Throws: in words that `ImagingFailure` sorts.
  init(_ file: UnsafeRawBufferPointer) throws(VipsFailure) {
    guard let (width, height) = Self.declaredSize(file),
      let length = file.littleEndian(at: 14, bytes: 4),
      let bits = file.littleEndian(at: length == 12 ? 24 : 28, bytes: 2)
    else { throw VipsFailure(words: "unexpected end of the BMP's header") }
    guard width > 0, height > 0, length == 12 || (16...256).contains(length) else {
      throw VipsFailure(words: "the BMP's header makes no sense")
    }
    size = PixelSize(width, height)
    isTopDown = length > 12 && file.signed(at: 22)! < 0
    bitsPerPixel = bits
    let method = length >= 20 ? file.littleEndian(at: 30, bytes: 4) ?? 0 : 0
    compression = try Self.compression(method, bits: bits, headerLength: length)
    let masks = Self.masks(file, method, bits: bits, headerLength: length)
    channels = masks.map(Channel.init)
    let paletteStart = 14 + length + (method == 3 && length == 40 ? 12 : 0)
    let entry = length == 12 ? 3 : 4
    let used = length >= 36 ? file.littleEndian(at: 46, bytes: 4) ?? 0 : 0
    let count = bits > 8 ? 0 : used == 0 ? 1 << bits : min(used, 1 << bits)
    palette = (0..<count).compactMap { index in
      let at = paletteStart + index * entry
      guard at + 3 <= file.count else { return nil }
      return SIMD3(file[at + 2], file[at + 1], file[at])
    }
    let stated = file.littleEndian(at: 10, bytes: 4) ?? 0
    offset = max(stated, paletteStart)
  }

  private static func compression(
    _ method: Int, bits: Int, headerLength: Int
  ) throws(VipsFailure) -> Compression {
    switch (method, bits) {
    case (0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (0, 24), (0, 32): return .none
    case (1, 8): return .runs8
    case (2, 4): return .runs4
    // OS/2 means Huffman's code by it.
    case (3, 16), (3, 32), (6, 16), (6, 32):
      if headerLength == 40 || headerLength >= 52 && headerLength != 64 { return .none }
      fallthrough
    default:
      throw VipsFailure(words: "unsupported BMP: compression \(method) at \(bits) bits a pixel")
    }
  }

  /// Of red, green, blue and alpha; without any for palettes and 24 bits.
  private static func masks(
    _ file: UnsafeRawBufferPointer, _ method: Int, bits: Int, headerLength: Int
  ) -> [UInt32] {
    guard bits == 16 || bits == 32 else { return [] }
    guard method == 3 || method == 6 else {
      return bits == 16 ? [0x7C00, 0x3E0, 0x1F, 0] : [0xFF_0000, 0xFF00, 0xFF, 0]
    }
    let hasAlpha = method == 6 || headerLength >= 56
    return [54, 58, 62, 66].map { at in
      at == 66 && !hasAlpha ? 0 : UInt32(file.littleEndian(at: at, bytes: 4) ?? 0)
    }
  }
}

extension UnsafeRawBufferPointer {
  /// A 32-bit number with its sign.
  fileprivate func signed(at offset: Int) -> Int? {
    littleEndian(at: offset, bytes: 4).map { Int(Int32(truncatingIfNeeded: $0)) }
  }
}
