/// What a picture's file says of itself, and whether the file is there to its end. Reads the formats
/// that variants are made in, without a codec.
package struct ImageHeader: Sendable, Hashable, CustomStringConvertible {
  package enum Format: String, Sendable {
    case jpeg, png, webp
  }

  package var format: Format
  package var width: Int
  package var height: Int
  /// Whether the file ends where its structure says.
  package var isWhole: Bool

  package var description: String {
    "\(width)×\(height) \(format.rawValue)\(isWhole ? "" : ", cut short")"
  }

  /// Nil for any other file.
  package init?(_ file: [UInt8]) {
    let bytes = Bytes(file: file)
    guard let header = Self.jpeg(bytes) ?? Self.png(bytes) ?? Self.webp(bytes) else { return nil }
    self = header
  }

  private init(_ format: Format, _ width: Int, _ height: Int, isWhole: Bool) {
    self.format = format
    self.width = width
    self.height = height
    self.isWhole = isWhole
  }

  private struct Bytes {
    let file: [UInt8]

    func bigEndian(at offset: Int, bytes: Int) -> Int? {
      guard offset + bytes <= file.count else { return nil }
      return file[offset..<offset + bytes].reduce(0) { $0 << 8 | Int($1) }
    }

    func littleEndian(at offset: Int, bytes: Int) -> Int? {
      guard offset + bytes <= file.count else { return nil }
      return file[offset..<offset + bytes].reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    func holds(_ text: String, at offset: Int) -> Bool {
      file.dropFirst(offset).starts(with: text.utf8)
    }
  }

  /// ITU T.81 §B.2: segments up to the frame header.
  private static func jpeg(_ bytes: Bytes) -> ImageHeader? {
    guard bytes.bigEndian(at: 0, bytes: 3) == 0xFFD8FF else { return nil }
    let isWhole = bytes.file.suffix(2) == [0xFF, 0xD9]
    var offset = 2
    while let marker = bytes.bigEndian(at: offset, bytes: 2), marker >= 0xFFC0,
      let length = bytes.bigEndian(at: offset + 2, bytes: 2)
    {
      let isFrame =
        (0xFFC0...0xFFCF).contains(marker) && ![0xFFC4, 0xFFC8, 0xFFCC].contains(marker)
      if isFrame, let height = bytes.bigEndian(at: offset + 5, bytes: 2),
        let width = bytes.bigEndian(at: offset + 7, bytes: 2)
      {
        return ImageHeader(.jpeg, width, height, isWhole: isWhole)
      }
      offset += 2 + length
    }
    return nil
  }

  private static func png(_ bytes: Bytes) -> ImageHeader? {
    guard bytes.holds("PNG", at: 1), let width = bytes.bigEndian(at: 16, bytes: 4),
      let height = bytes.bigEndian(at: 20, bytes: 4)
    else { return nil }
    return ImageHeader(
      .png, width, height, isWhole: bytes.holds("IEND", at: bytes.file.count - 8))
  }

  /// RFC 9649: an extended file says its canvas, a simple one its only picture.
  private static func webp(_ bytes: Bytes) -> ImageHeader? {
    guard bytes.holds("RIFF", at: 0), bytes.holds("WEBP", at: 8),
      let length = bytes.littleEndian(at: 4, bytes: 4)
    else { return nil }
    let isWhole = length + 8 == bytes.file.count
    if bytes.holds("VP8X", at: 12), let width = bytes.littleEndian(at: 24, bytes: 3),
      let height = bytes.littleEndian(at: 27, bytes: 3)
    {
      return ImageHeader(.webp, width + 1, height + 1, isWhole: isWhole)
    }
    if bytes.holds("VP8L", at: 12), let bits = bytes.littleEndian(at: 21, bytes: 4) {
      return ImageHeader(.webp, bits & 0x3FFF + 1, bits >> 14 & 0x3FFF + 1, isWhole: isWhole)
    }
    if bytes.holds("VP8 ", at: 12), let width = bytes.littleEndian(at: 26, bytes: 2),
      let height = bytes.littleEndian(at: 28, bytes: 2)
    {
      return ImageHeader(.webp, width & 0x3FFF, height & 0x3FFF, isWhole: isWhole)
    }
    return nil
  }
}
