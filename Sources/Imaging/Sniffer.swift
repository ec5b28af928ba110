import Vocabulary

/// What a file's first bytes say it is.
package enum Sniffed: Sendable, Equatable {
  case image(ImageFormat)
  /// An image, but of a kind that we have no place for.
  case otherImage(name: String)
  /// Anything else, by its name where it has one.
  case notAnImage(name: String?)

  /// How many bytes are looked at.
  package static let reach = 4096

  package init(_ file: UnsafeRawBufferPointer) {
    let head = file.prefix(Self.reach)
    self =
      Self.boxFormat(head)
      ?? Self.signatures.first { $0.matches(head) }?.meaning
      ?? Self.textFormat(head)
  }

  private struct Signature {
    let bytes: [UInt8]
    var offset = 0
    let meaning: Sniffed

    init(_ bytes: [UInt8], at offset: Int = 0, _ meaning: Sniffed) {
      self.bytes = bytes
      self.offset = offset
      self.meaning = meaning
    }

    init(_ text: String, at offset: Int = 0, _ meaning: Sniffed) {
      self.init(Array(text.utf8), at: offset, meaning)
    }

    func matches(_ head: Slice<UnsafeRawBufferPointer>) -> Bool {
      head.dropFirst(offset).starts(with: bytes)
    }
  }

  /// The first that matches counts.
  private static let signatures: [Signature] = [
    Signature([0xFF, 0xD8, 0xFF], .image(.jpeg)),
    Signature([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], .image(.png)),
    Signature("GIF87a", .image(.gif)),
    Signature("GIF89a", .image(.gif)),
    Signature("WEBP", at: 8, .image(.webp)),
    Signature("CR", at: 8, .otherImage(name: "a Canon raw file")),
    Signature([0x49, 0x49, 0x2A, 0x00], .image(.tiff)),
    Signature([0x4D, 0x4D, 0x00, 0x2A], .image(.tiff)),
    Signature([0x49, 0x49, 0x2B, 0x00, 0x08], .image(.tiff)),
    Signature([0x4D, 0x4D, 0x00, 0x2B, 0x00, 0x08], .image(.tiff)),
    Signature([0x00, 0x00, 0x00, 0x0C, 0x6A, 0x50, 0x20, 0x20], .image(.jp2)),
    Signature([0xFF, 0x4F, 0xFF, 0x51], .image(.jp2)),
    Signature("%PDF-", .image(.pdf)),
    Signature("BM", .image(.bmp)),
    Signature([0xFF, 0x0A], .otherImage(name: "JPEG XL")),
    Signature([0x00, 0x00, 0x00, 0x0C, 0x4A, 0x58, 0x4C, 0x20], .otherImage(name: "JPEG XL")),
    Signature("8BPS", .otherImage(name: "Photoshop")),
    Signature([0x00, 0x00, 0x01, 0x00], .otherImage(name: "ICO")),
    Signature([0x00, 0x00, 0x02, 0x00], .otherImage(name: "CUR")),
    Signature([0x76, 0x2F, 0x31, 0x01], .otherImage(name: "OpenEXR")),
    Signature("#?RADIANCE", .otherImage(name: "Radiance HDR")),
    Signature("SIMPLE  =", .otherImage(name: "FITS")),
    Signature("%!PS", .otherImage(name: "PostScript")),
    Signature("/* XPM */", .otherImage(name: "XPM")),
    Signature([0x08, 0xF2, 0xA6, 0xB6], .otherImage(name: "libvips")),
    Signature([0xB6, 0xA6, 0xF2, 0x08], .otherImage(name: "libvips")),
    Signature([0x1F, 0x8B], .notAnImage(name: "gzip data")),
    Signature("PK", .notAnImage(name: "a ZIP archive")),
    Signature([0x7F, 0x45, 0x4C, 0x46], .notAnImage(name: "a program")),
  ]

  // MARK: ISO base media files

  /// HEIF and AVIF share their box structure with MP4: the brands in the first box tell.
  private static func boxFormat(_ head: Slice<UnsafeRawBufferPointer>) -> Sniffed? {
    guard head.dropFirst(4).starts(with: "ftyp".utf8), head.count >= 16 else { return nil }
    let length = head.prefix(4).reduce(0) { $0 << 8 | Int($1) }
    var brands = [brand(head, at: 8)]
    brands += stride(from: 16, to: min(length, head.count) - 3, by: 4).map { brand(head, at: $0) }
    if brands.contains(where: ["avif", "avis"].contains) { return .image(.avif) }
    let heif = ["heic", "heix", "heim", "heis", "hevc", "hevx", "hevm", "hevs", "mif1", "msf1"]
    if brands.contains(where: heif.contains) { return .image(.heic) }
    if brands[0] == "crx " { return .otherImage(name: "a Canon raw file") }
    return .notAnImage(name: "a video")
  }

  /// Whether a HEIF file says in the first place that its pictures are shown one after the other.
  static func isSequence(_ file: UnsafeRawBufferPointer) -> Bool {
    ["avis", "hevc", "hevx", "hevm", "hevs", "msf1"].contains(brand(file.prefix(12), at: 8))
  }

  private static func brand(_ head: Slice<UnsafeRawBufferPointer>, at offset: Int) -> String {
    String(decoding: head.dropFirst(offset).prefix(4), as: UTF8.self)
  }

  // MARK: Text

  private static func textFormat(_ head: Slice<UnsafeRawBufferPointer>) -> Sniffed {
    guard !head.isEmpty else { return .notAnImage(name: "an empty file") }
    // UTF-16 has a zero byte in each character of markup; without them it reads as UTF-8 does.
    let text = String(decoding: head.lazy.filter { $0 != 0 }, as: UTF8.self).lowercased()
    let start = text.drop { $0.isWhitespace || $0 == "\u{FEFF}" || $0 == "\u{FFFD}" }
    if start.hasPrefix("<!doctype html") || start.hasPrefix("<html") {
      return .notAnImage(name: "an HTML page")
    }
    if text.contains("<svg") { return .image(.svg) }
    if start.hasPrefix("<?xml") || start.hasPrefix("<") { return .notAnImage(name: "markup") }
    if start.hasPrefix("{") || start.hasPrefix("[") { return .notAnImage(name: "JSON") }
    if isPortableAnymap(head) { return .otherImage(name: "a portable anymap") }
    return .notAnImage(name: nil)
  }

  private static func isPortableAnymap(_ head: Slice<UnsafeRawBufferPointer>) -> Bool {
    let bytes = Array(head.prefix(3))
    return bytes.count == 3 && bytes[0] == UInt8(ascii: "P")
      && (UInt8(ascii: "1")...UInt8(ascii: "7")).contains(bytes[1])
      && [0x0A, 0x0D, 0x20, 0x09].contains(bytes[2])
  }
}
