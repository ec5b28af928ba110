import CVips
import DecoderPool
import TestSupport
import Testing
import Vocabulary

@testable import Imaging

/// Makes BMP files of the forms that there are.
private struct BMPWriter {
  var width = 5
  var height = 3
  var bits = 24
  var compression = 0
  /// 12 is OS/2's.
  var headerLength = 40
  var masks: [UInt32] = []
  var palette: [[UInt8]] = []
  var isTopDown = false
  /// As they are stored, filled up to whole words.
  var data: [UInt8]

  var file: [UInt8] {
    let entry = headerLength == 12 ? 3 : 4
    let outside = headerLength == 40 ? masks.count * 4 : 0
    let offset = 14 + headerLength + outside + palette.count * entry
    var bytes = Array("BM".utf8) + word(offset + data.count) + word(0) + word(offset)
    bytes += word(headerLength)
    if headerLength == 12 {
      bytes += half(width) + half(height) + half(1) + half(bits)
    } else {
      bytes += word(width) + word(isTopDown ? -height : height) + half(1) + half(bits)
      bytes +=
        word(compression) + word(data.count) + word(0) + word(0) + word(palette.count) + word(0)
      for mask in masks { bytes += word(Int(mask)) }
      bytes += [UInt8](repeating: 0, count: max(0, 14 + headerLength + outside - bytes.count))
    }
    for colour in palette { bytes += colour.reversed() + (entry == 4 ? [0] : []) }
    return bytes + data
  }

  private func word(_ value: Int) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }

  private func half(_ value: Int) -> [UInt8] { Array(word(value).prefix(2)) }
}

@Suite struct `A BMP file` {
  struct Row: CustomTestStringConvertible {
    let testDescription: String
    let file: [UInt8]
    var bands = 3
  }

  private static let palette: [[UInt8]] = [[10, 20, 30], [250, 0, 0], [0, 250, 0], [0, 0, 250]]
  /// Indices, top to bottom; the colours of all rows below.
  private static let indices = [[1, 1, 2, 2, 3], [0, 0, 0, 0, 0], [3, 2, 1, 0, 1]]

  /// Stored rows, filled up to whole words.
  private static func rows(_ row: ([Int]) -> [UInt8]) -> [UInt8] {
    indices.reversed().flatMap { indices -> [UInt8] in
      let bytes = row(indices)
      return bytes + [UInt8](repeating: 0, count: (4 - bytes.count % 4) % 4)
    }
  }

  private static func packed(_ indices: [Int], bits: Int) -> [UInt8] {
    let text = indices.map { index in
      let digits = String(index, radix: 2)
      return String(repeating: "0", count: bits - digits.count) + digits
    }.joined()
    let whole = text + String(repeating: "0", count: (8 - text.count % 8) % 8)
    return stride(from: 0, to: whole.count, by: 8).map { start in
      UInt8(whole.dropFirst(start).prefix(8), radix: 2)!
    }
  }

  private static func pixels(_ value: @escaping ([UInt8]) -> [UInt8]) -> [UInt8] {
    rows { $0.flatMap { value(palette[$0]) } }
  }

  private static let direct = pixels { $0.reversed() }
  private static let runs8: [UInt8] = [
    1, 3, 1, 2, 1, 1, 1, 0, 1, 1, 0, 0,  // the lowest row, one by one
    5, 0, 0, 0,  // five of one
    0, 5, 1, 1, 2, 2, 3, 0, 0, 1,  // five as they are, and one to make them even
  ]
  private static let runs4: [UInt8] = [
    0, 5, 0x32, 0x10, 0x10, 0, 0, 0,
    0, 2, 0, 1,  // moves a row on
    4, 0x11, 0, 2, 0xFE, 0, 0, 1,
  ]

  static let rows: [Row] = [
    Row(testDescription: "24 bits", file: BMPWriter(data: direct).file),
    Row(
      testDescription: "24 bits, OS/2's header",
      file: BMPWriter(headerLength: 12, data: direct).file
    ),
    Row(
      testDescription: "32 bits",
      file: BMPWriter(bits: 32, data: pixels { $0.reversed() + [7] }).file),
    Row(
      testDescription: "32 bits by masks",
      file: BMPWriter(
        bits: 32, compression: 3, masks: [0xFF, 0xFF00, 0xFF_0000], data: pixels { $0 + [0] }
      ).file),
    Row(
      testDescription: "32 bits with alpha",
      file: BMPWriter(
        bits: 32, compression: 3, headerLength: 124,
        masks: [0xFF_0000, 0xFF00, 0xFF, 0xFF00_0000], data: pixels { $0.reversed() + [128] }
      ).file, bands: 4),
    Row(
      testDescription: "32 bits with an alpha that is zero everywhere",
      file: BMPWriter(
        bits: 32, compression: 3, headerLength: 124,
        masks: [0xFF_0000, 0xFF00, 0xFF, 0xFF00_0000], data: pixels { $0.reversed() + [0] }
      ).file),
    Row(
      testDescription: "16 bits",
      file: BMPWriter(
        bits: 16,
        data: pixels { colour in
          let value = (Int(colour[0]) / 8) << 10 | (Int(colour[1]) / 8) << 5 | Int(colour[2]) / 8
          return [UInt8(value & 255), UInt8(value >> 8)]
        }
      ).file),
    Row(
      testDescription: "16 bits by masks",
      file: BMPWriter(
        bits: 16, compression: 3, masks: [0xF800, 0x7E0, 0x1F],
        data: pixels { colour in
          let value = (Int(colour[0]) / 8) << 11 | (Int(colour[1]) / 4) << 5 | Int(colour[2]) / 8
          return [UInt8(value & 255), UInt8(value >> 8)]
        }
      ).file),
    Row(
      testDescription: "8 bits",
      file: BMPWriter(bits: 8, palette: palette, data: rows { $0.map(UInt8.init) }).file),
    Row(
      testDescription: "4 bits",
      file: BMPWriter(bits: 4, palette: palette, data: rows { packed($0, bits: 4) }).file),
    Row(
      testDescription: "2 bits",
      file: BMPWriter(bits: 2, palette: palette, data: rows { packed($0, bits: 2) }).file),
    Row(
      testDescription: "runs of 8 bits",
      file: BMPWriter(bits: 8, compression: 1, palette: palette, data: runs8).file),
  ]

  private static let allowing: LimitSettings = {
    var limits = LimitSettings()
    limits.formats.insert(.bmp)
    return limits
  }()

  @Test(arguments: rows)
  func `shows its colours`(_ row: Row) async throws {
    let rendered = try await sharedPool.render(
      row.file, limits: Self.allowing, [recipe(5, nil, .png)])
    let picture = DecodedPicture(rendered.bytes())
    #expect(picture.size == PixelSize(5, 3) && picture.bands == row.bands)
    for (y, indices) in Self.indices.enumerated() {
      for (x, index) in indices.enumerated() {
        let colour = Self.palette[index].map(Int.init) + (row.bands == 4 ? [128] : [])
        #expect(picture.distance(at: x, y, from: colour) <= 8, "\(x), \(y)")
      }
    }
  }

  @Test func `in runs of 4 bits may leave pixels out, and run over its rows`() async throws {
    let file = BMPWriter(bits: 4, compression: 2, palette: Self.palette, data: Self.runs4).file
    let rendered = try await sharedPool.render(
      file, limits: Self.allowing, [recipe(5, nil, .png)])
    let picture = DecodedPicture(rendered.bytes())
    #expect(picture.distance(at: 0, 2, from: [0, 0, 250]) == 0)
    #expect(picture.distance(at: 0, 1, from: [10, 20, 30]) == 0)
    #expect(picture.distance(at: 3, 0, from: [250, 0, 0]) == 0)
  }

  @Test func `may stand top to bottom`() async throws {
    let upsideDown = BMPWriter(isTopDown: true, data: Self.direct).file
    let rendered = try await sharedPool.render(
      upsideDown, limits: Self.allowing, [recipe(5, nil, .png)])
    #expect(DecodedPicture(rendered.bytes()).distance(at: 0, 0, from: [0, 0, 250]) == 0)
  }

  private func code(_ file: [UInt8], _ limits: LimitSettings) async -> String? {
    do throws(DecodeFailure) {
      _ = try await sharedPool.render(file, limits: limits, [recipe(5)])
      return nil
    } catch {
      return error.code
    }
  }

  @Test func `is refused where it is cut, strange, too large or not allowed`() async {
    for row in Self.rows {
      #expect(await code(row.file.dropLast(5).map(\.self), Self.allowing) == "truncated", "\(row)")
    }
    let jpegInside = BMPWriter(bits: 0, compression: 4, data: Self.direct).file
    #expect(await code(jpegInside, Self.allowing) == "unsupported-format")
    let huge = BMPWriter(width: 60_000, height: 60_000, data: Self.direct).file
    #expect(await code(huge, Self.allowing) == "too-many-pixels")
    let empty = BMPWriter(width: 0, data: Self.direct).file
    #expect(await code(empty, Self.allowing) == "corrupt-image")
    #expect(await code(Self.rows[0].file, LimitSettings()) == "unsupported-format")
  }

  @Test func `of any bytes whatever is read without a fault`() {
    for row in Self.rows {
      for place in 0..<min(row.file.count, 80) {
        for value: UInt8 in [0, 1, 2, 0x7F, 0x80, 0xFF] {
          var file = row.file
          file[place] = value
          file.withUnsafeBytes { bytes in
            guard let size = BMPHeader.declaredSize(bytes), size.width * size.height < 1 << 16
            else {
              return
            }
            TestPictures.locked { _ = try? BMPFile(bytes).picture() }
          }
        }
      }
    }
  }
}
