import Imaging
import Testing
import Vocabulary

@Suite struct `A file's first bytes` {
  struct Row: CustomTestStringConvertible, Sendable {
    var name: String
    var bytes: [UInt8]
    var expected: Sniffed

    init(_ name: String, _ bytes: [UInt8], _ expected: Sniffed) {
      (self.name, self.bytes, self.expected) = (name, bytes, expected)
    }

    init(_ name: String, _ text: String, _ expected: Sniffed) {
      self.init(name, Array(text.utf8), expected)
    }

    var testDescription: String { name }
  }

  static func box(_ brands: String...) -> [UInt8] {
    let content = "ftyp" + brands[0] + "\0\0\0\0" + brands.dropFirst().joined()
    return [0, 0, 0, UInt8(content.utf8.count + 4)] + content.utf8
  }

  static let rows = [
    Row("JPEG", [0xFF, 0xD8, 0xFF, 0xE0], .image(.jpeg)),
    Row("PNG", [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], .image(.png)),
    Row("GIF", "GIF89a", .image(.gif)),
    Row("WebP", "RIFF1234WEBPVP8 ", .image(.webp)),
    Row("TIFF", [0x4D, 0x4D, 0x00, 0x2A], .image(.tiff)),
    Row("BigTIFF", [0x49, 0x49, 0x2B, 0x00, 0x08, 0x00], .image(.tiff)),
    Row("AVIF", box("avif", "mif1"), .image(.avif)),
    Row("AVIF by a later brand", box("mif1", "miaf", "avif"), .image(.avif)),
    Row("HEIC", box("heic", "mif1"), .image(.heic)),
    Row("HEIF", box("mif1", "heic"), .image(.heic)),
    Row("MP4", box("isom", "mp42"), .notAnImage(name: "a video")),
    Row("JPEG XL", [0xFF, 0x0A, 0xFA], .otherImage(name: "JPEG XL")),
    Row("JPEG 2000", [0xFF, 0x4F, 0xFF, 0x51], .image(.jp2)),
    Row("BMP", "BM6\0\0\0", .image(.bmp)),
    Row("PDF", "%PDF-1.4", .image(.pdf)),
    Row("SVG", "<?xml version=\"1.0\"?><!-- x --><svg xmlns=", .image(.svg)),
    Row("SVG with a mark", "\u{FEFF}<svg>", .image(.svg)),
    Row("Photoshop", "8BPS", .otherImage(name: "Photoshop")),
    Row("PPM", "P6\n4 4\n255\n", .otherImage(name: "a portable anymap")),
    Row("HTML", "\n<!DOCTYPE html><svg>", .notAnImage(name: "an HTML page")),
    Row("JSON", "{\"error\": 404}", .notAnImage(name: "JSON")),
    Row("ELF", "\u{7F}ELF", .notAnImage(name: "a program")),
    Row("gzip", [0x1F, 0x8B, 8], .notAnImage(name: "gzip data")),
    Row("nothing", [], .notAnImage(name: "an empty file")),
    Row("text", "push graphic-context", .notAnImage(name: nil)),
  ]

  @Test(arguments: rows)
  func `tell what it is`(_ row: Row) {
    #expect(row.bytes.withUnsafeBytes { Sniffed($0) } == row.expected)
  }
}
