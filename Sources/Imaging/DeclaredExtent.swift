import Vocabulary

/// What a file's own structure says of its size, before libvips sees it.
enum DeclaredExtent {
  /// Width and height in pixels, where the format has them at a fixed place and libvips would take
  /// memory for them before it tells.
  static func size(
    of file: UnsafeRawBufferPointer, _ format: ImageFormat
  ) -> (width: Int, height: Int)? {
    switch format {
    case .png: pngSize(file)
    case .webp: webpSize(file)
    case .bmp: BMPHeader.declaredSize(file)
    default: nil
    }
  }

  /// Whether the file is shorter than its structure says.
  static func isCut(_ file: UnsafeRawBufferPointer, _ format: ImageFormat) -> Bool {
    switch format {
    case .png: pngIsCut(file)
    case .webp: (file.littleEndian(at: 4, bytes: 4) ?? 0) + 8 > file.count
    case .avif, .heic: boxesAreCut(file)
    default: false
    }
  }

  // MARK: PNG: chunks of length, name, data and checksum

  private static func pngSize(_ file: UnsafeRawBufferPointer) -> (width: Int, height: Int)? {
    guard let width = file.bigEndian(at: 16), let height = file.bigEndian(at: 20) else {
      return nil
    }
    return (width, height)
  }

  private static func pngIsCut(_ file: UnsafeRawBufferPointer) -> Bool {
    var at = 8
    while let length = file.bigEndian(at: at), let name = file.bigEndian(at: at + 4) {
      at += 12 + length
      if at > file.count { return true }
      if name == 0x4945_4E44 { return false }  // IEND
    }
    return true
  }

  // MARK: WebP: RIFF chunks, of which the first tells

  private static func webpSize(_ file: UnsafeRawBufferPointer) -> (width: Int, height: Int)? {
    guard let kind = file.bigEndian(at: 12) else { return nil }
    switch kind {
    case 0x5650_3858:  // VP8X: two sides less one, in 24 bits each
      guard let width = file.littleEndian(at: 24, bytes: 3),
        let height = file.littleEndian(at: 27, bytes: 3)
      else { return nil }
      return (width + 1, height + 1)
    case 0x5650_384C:  // VP8L: two sides less one, in 14 bits each
      guard let bits = file.littleEndian(at: 21, bytes: 4) else { return nil }
      return (bits & 0x3FFF + 1, bits >> 14 & 0x3FFF + 1)
    case 0x5650_3820:  // VP8: two sides in 14 bits each, after the start code
      guard let width = file.littleEndian(at: 26, bytes: 2),
        let height = file.littleEndian(at: 28, bytes: 2)
      else { return nil }
      return (width & 0x3FFF, height & 0x3FFF)
    default: return nil
    }
  }

  // MARK: HEIF: boxes of length and name

  private static func boxesAreCut(_ file: UnsafeRawBufferPointer) -> Bool {
    var at = 0
    while at < file.count {
      guard let length = file.bigEndian(at: at) else { return true }
      // 0: to the end of the file; 1: a length of 64 bits, which no picture needs.
      if length < 8 { return false }
      at += length
    }
    return at > file.count
  }
}

extension UnsafeRawBufferPointer {
  /// Four bytes; nil where they are not all there.
  func bigEndian(at offset: Int) -> Int? {
    guard offset >= 0, offset + 4 <= count else { return nil }
    return self[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
  }

  /// Nil where they are not all there.
  func littleEndian(at offset: Int, bytes: Int) -> Int? {
    guard offset + bytes <= count else { return nil }
    return self[offset..<offset + bytes].reversed().reduce(0) { $0 << 8 | Int($1) }
  }
}
