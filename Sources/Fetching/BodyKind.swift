/// What a body seems to be, by its first bytes: said in errors, decided upon nowhere.
enum BodyKind {
  /// - Returns: a word for people; nil where there are no bytes or none that mean anything.
  static func name(ofBytes bytes: [UInt8]) -> String? {
    for (magic, name) in binary where bytes.starts(with: magic) { return name }
    if bytes.count >= 12, bytes[..<4].elementsEqual("RIFF".utf8),
      bytes[8..<12].elementsEqual("WEBP".utf8)
    {
      return "WebP"
    }
    if bytes.count >= 8, bytes[4..<8].elementsEqual("ftyp".utf8) { return "AVIF, HEIC or MP4" }
    return textName(String(decoding: bytes, as: UTF8.self))
  }

  private static let binary: [([UInt8], String)] = [
    ([0xFF, 0xD8, 0xFF], "JPEG"),
    ([0x89, 0x50, 0x4E, 0x47], "PNG"),
    (Array("GIF8".utf8), "GIF"),
    ([0x49, 0x49, 0x2A, 0x00], "TIFF"),
    ([0x4D, 0x4D, 0x00, 0x2A], "TIFF"),
    (Array("%PDF".utf8), "PDF"),
    ([0x1F, 0x8B], "gzip"),
    ([0x50, 0x4B, 0x03, 0x04], "a ZIP archive"),
  ]

  private static func textName(_ text: String) -> String? {
    let start = text.drop { $0 == "\u{FEFF}" || $0.isWhitespace }.lowercased()
    if start.hasPrefix("<!doctype html") || start.hasPrefix("<html") { return "HTML" }
    if start.hasPrefix("<svg") { return "SVG" }
    if start.hasPrefix("<?xml") { return "XML" }
    if start.hasPrefix("<") { return "HTML or XML" }
    if start.hasPrefix("{") || start.hasPrefix("[") { return "JSON" }
    return nil
  }
}
