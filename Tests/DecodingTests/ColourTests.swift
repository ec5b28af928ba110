import CVips
import DecoderPool
import TestSupport
import Testing
import Vocabulary

@testable import Imaging

@Suite struct `Orientation` {
  /// A picture of 40×60 whose upright upper left corner is red, stored for an EXIF orientation.
  private func file(_ orientation: Int, scale: Int) -> [UInt8] {
    let (width, height) = (40 * scale, 60 * scale)
    let (storedWidth, storedHeight) = orientation >= 5 ? (height, width) : (width, height)
    return TestPictures.file(
      "jpegsave", storedWidth, storedHeight, options: ["Q": .int(95)],
      metadata: { $0.set("orientation", to: orientation) }
    ) { x, y in
      let (right, down) = (storedWidth - 1 - x, storedHeight - 1 - y)
      let upright: (x: Int, y: Int) =
        switch orientation {
        case 2: (right, y)
        case 3: (right, down)
        case 4: (x, down)
        case 5: (y, x)
        case 6: (storedHeight - 1 - y, x)
        case 7: (storedHeight - 1 - y, storedWidth - 1 - x)
        case 8: (y, storedWidth - 1 - x)
        default: (x, y)
        }
      return upright.x < width / 2 && upright.y < height / 3 ? [220, 30, 30] : [30, 30, 220]
    }
  }

  @Test(arguments: 1...8, [1, 10])
  func `is applied once, whatever way the picture is read`(
    _ orientation: Int, _ scale: Int
  ) async throws {
    let rendered = try await sharedPool.render(
      file(orientation, scale: scale), [recipe(20, nil, .png), recipe(10, 10, .png)])
    #expect(rendered.rendering.width == 40 * scale && rendered.rendering.height == 60 * scale)
    let picture = DecodedPicture(rendered.bytes())
    #expect(picture.size == PixelSize(20, 30))
    #expect(picture.orientation == 1)
    #expect(picture.distance(at: 4, 4, from: [220, 30, 30]) < 40)
    for (x, y) in [(15, 4), (4, 20), (15, 25)] {
      #expect(picture.distance(at: x, y, from: [30, 30, 220]) < 40)
    }
  }
}

@Suite struct `Transparency` {
  static let rows: [(saver: String, bands: Int)] = [
    ("pngsave", 4), ("pngsave", 2), ("webpsave", 4), ("gifsave", 4), ("tiffsave", 4),
  ]

  @Test(arguments: rows.indices)
  func `is laid on the background where the format has none`(_ index: Int) async throws {
    let (saver, bands) = Self.rows[index]
    let source = TestPictures.file(
      saver, 64, 64, bands: bands,
      options: saver == "webpsave" ? ["lossless": .bool(true)] : [:]
    ) { x, _ in (bands == 4 ? [255, 0, 0] : [0]) + [x < 32 ? 0 : 255] }
    let picture = try await render(source, recipe(32, nil, .jpeg))
    #expect(picture.distance(at: 4, 16, from: Array(repeating: 255, count: picture.bands)) < 6)
    let colour = bands == 4 ? [254, 0, 0] : Array(repeating: 0, count: picture.bands)
    #expect(picture.distance(at: 27, 16, from: colour) < 12)
  }

  @Test func `makes half-transparent red on white pink, without a dark fringe`() async throws {
    let source = TestPictures.file("pngsave", 128, 128, bands: 4) { x, _ in
      x < 64 ? [0, 0, 0, 0] : [255, 0, 0, 128]
    }
    let picture = try await render(
      source,
      recipe(33, nil, .png) {
        $0.fit = .contain
        $0.height = 33
      })
    // Where it is nearly transparent, the colour is still red, not dark.
    for x in 0..<33 where picture.pixel(x, 16)[3] > 8 {
      #expect(picture.pixel(x, 16)[0] > 230, "\(x): \(picture.pixel(x, 16))")
    }
    let flat = try await render(source, recipe(33, nil, .jpeg) { $0.quality = 100 })
    #expect(flat.distance(at: 28, 16, from: [255, 127, 127]) < 10)
    for x in 0..<33 { #expect(flat.pixel(x, 16)[0] > 240) }
  }

  @Test func `arithmetic agrees with exact division`() {
    for alpha in 0...255 {
      for value in stride(from: 0, through: 255, by: 5) {
        var pixel: [UInt8] = [UInt8(value), UInt8(alpha)]
        _ = pixel.withUnsafeMutableBytes { Alpha.premultiply($0, bands: 2) }
        let exact = (Double(value * alpha) / 255).rounded()
        #expect(Double(pixel[0]) == exact)
      }
    }
  }

  @Test func `that is opaque everywhere counts as none`() async throws {
    let source = TestPictures.file("pngsave", 40, 40, bands: 4) { _, _ in [1, 2, 3, 255] }
    let rendered = try await sharedPool.render(source, [recipe(20)])
    #expect(try rendered.rendering.variants[0].get().format == .jpeg)
  }
}

@Suite struct `Colour` {
  @Test func `of 16 bits is scaled, not cut`() async throws {
    let file = TestPictures.locked {
      let black = try! vips("black", ["width": .int(64), "height": .int(64), "bands": .int(3)])
      let middle = try! vips(
        "linear", ["in": .picture(black), "a": .doubles([1]), "b": .doubles([32_768])])
      let wide = try! vips(
        "cast", ["in": .picture(middle), "format": .int(Int(VIPS_FORMAT_USHORT.rawValue))])
      let named = try! vips(
        "copy",
        [
          "in": .picture(wide),
          "interpretation": .int(Int(VIPS_INTERPRETATION_RGB16.rawValue)),
        ])
      return TestPictures.save(named, "pngsave")
    }
    let picture = try await render(file, recipe(32, nil, .png))
    #expect(picture.distance(at: 9, 9, from: [128, 128, 128]) <= 1)
  }

  @Test func `stays grey where it is grey`() async throws {
    let file = TestPictures.file("jpegsave", 64, 64, bands: 1) { _, _ in [77] }
    let picture = try await render(file, recipe(32, nil, .png))
    #expect(picture.bands == 1)
    #expect(picture.distance(at: 9, 9, from: [77]) <= 1)
  }

  @Test func `of CMYK becomes sRGB, with or without a profile`() async throws {
    let file = TestPictures.locked {
      let ink = try! vips("black", ["width": .int(64), "height": .int(64), "bands": .int(4)])
      let key = try! vips(
        "linear",
        [
          "in": .picture(ink), "a": .doubles([1]), "b": .doubles([0, 0, 0, 255]),
          "uchar": .bool(true),
        ])
      let cmyk = try! vips(
        "copy",
        ["in": .picture(key), "interpretation": .int(Int(VIPS_INTERPRETATION_CMYK.rawValue))])
      return TestPictures.save(cmyk, "jpegsave")
    }
    let rendered = try await sharedPool.render(file, [recipe(32, nil, .png)])
    let picture = DecodedPicture(rendered.bytes())
    #expect(picture.bands == 3)
    #expect(picture.distance(at: 9, 9, from: [0, 0, 0]) < 20)
    #expect(rendered.rendering.warnings.contains { $0.contains("CMYK without") })
  }

  @Test func `of floating point has its alpha scaled`() async throws {
    let file = TestPictures.locked {
      let black = try! vips("black", ["width": .int(32), "height": .int(32), "bands": .int(4)])
      let half = try! vips(
        "linear",
        [
          "in": .picture(black), "a": .doubles([1, 1, 1, 1]), "b": .doubles([0.5, 0.5, 0.5, 0.5]),
        ])
      let named = try! vips(
        "copy",
        ["in": .picture(half), "interpretation": .int(Int(VIPS_INTERPRETATION_scRGB.rawValue))])
      return TestPictures.save(named, "tiffsave")
    }
    let picture = try await render(file, recipe(32, nil, .png))
    #expect(picture.distance(at: 9, 9, from: [188, 188, 188, 128]) <= 2)
  }

  /// A white page with a square in its middle, as a JPEG of four components, which libvips writes with
  /// Adobe's marker and the other way round.
  private func inks(page: [UInt8], square: [UInt8]) -> [UInt8] {
    TestPictures.file(
      "jpegsave", 64, 64, bands: 4, options: ["Q": .int(95)],
      metadata: { $0.image.pointee.Type = VIPS_INTERPRETATION_CMYK }
    ) { x, y in (16..<48).contains(x) && (16..<48).contains(y) ? square : page }
  }

  private func adobeMarker(in file: [UInt8]) throws -> Int {
    try #require(
      file.indices.first { file[$0...].starts(with: [0xFF, 0xEE, 0, 14] + Array("Adobe".utf8)) })
  }

  /// The rule: inks are stored the other way round, also where Adobe's marker was lost on the way.
  @Test func `of CMYK is right with Adobe's marker and without it`() async throws {
    let adobes = inks(page: [0, 0, 0, 0], square: [0, 255, 255, 0])
    var plain = adobes
    let marker = try adobeMarker(in: plain)
    plain.removeSubrange(marker..<marker + 16)
    // YCCK: the colours' brightness and hues in place of three inks.
    var ycck = inks(page: [255, 127, 127, 0], square: [76, 84, 255, 0])
    ycck[try adobeMarker(in: ycck) + 15] = 2
    for (name, file) in [("marked", adobes), ("unmarked", plain), ("YCCK", ycck)] {
      for width in [64, 16] {
        let picture = try await render(file, recipe(width, nil, .png))
        #expect(picture.bands == 3)
        let corner = picture.pixel(2, 2)
        let middle = picture.pixel(width / 2, width / 2)
        #expect(corner.allSatisfy { $0 > 240 }, "\(name): \(corner)")
        #expect(middle[0] > 190 && middle[1] < 70 && middle[2] < 70, "\(name): \(middle)")
      }
    }
  }

  /// Light is linear in it: half of it is 188.
  @Test func `of floating point is scaled, not cut`() async throws {
    let file = TestPictures.locked {
      let ramp = try! vips("identity", ["ushort": .bool(true), "size": .int(256)])
      let light = try! vips(
        "linear", ["in": .picture(ramp), "a": .doubles([1 / 255.0]), "b": .doubles([0])])
      let bands = try! vips("bandjoin", ["in": .pictures([light, light, light])])
      let named = try! vips(
        "copy",
        ["in": .picture(bands), "interpretation": .int(Int(VIPS_INTERPRETATION_scRGB.rawValue))])
      let tall = try! vips(
        "replicate", ["in": .picture(named), "across": .int(1), "down": .int(16)])
      return TestPictures.save(tall, "tiffsave")
    }
    let picture = try await render(file, recipe(256, nil, .png))
    #expect(picture.bands == 3)
    for (x, value) in [(0, 0), (55, 128), (128, 188), (255, 255)] {
      #expect(
        picture.distance(at: x, 8, from: [value, value, value]) <= 2, "\(picture.pixel(x, 8))")
    }
  }

  @Test func `goes on without a profile that is broken`() async throws {
    let file = TestPictures.photo("pngsave", 64, 64) { picture in
      let junk = [UInt8](repeating: 7, count: 500)
      vips_image_set_blob_copy(picture.image, "icc-profile-data", junk, junk.count)
    }
    let rendered = try await sharedPool.render(file, [recipe(32, nil, .jpeg)])
    #expect(try rendered.rendering.variants[0].get().width == 32)
  }
}

@Suite struct `Metadata` {
  /// A JPEG with a place, an author and a turn.
  private let file = TestPictures.photo(
    "jpegsave", 60, 40,
    metadata: { picture in
      vips_image_set_string(picture.image, "exif-ifd0-Copyright", "Ada (Ada, ASCII, 4, 4)")
      vips_image_set_string(picture.image, "exif-ifd3-GPSLatitude", "1/1 2/1 3/1")
      picture.set("orientation", to: 6)
    })

  @Test(arguments: VariantSpec.Metadata.allCases, [VariantSpec.Format.jpeg, .webp, .png])
  func `that is kept is what was asked for`(
    _ metadata: VariantSpec.Metadata, _ format: VariantSpec.Format
  ) async throws {
    let picture = try await render(file, recipe(20, nil, format) { $0.metadata = metadata })
    #expect(picture.size == PixelSize(20, 30))
    #expect(picture.orientation == 1)
    #expect(picture.fields.contains("icc-profile-data") == (metadata != .none))
    #expect(
      picture.fields.contains("exif-ifd0-Copyright")
        == (metadata == .copyright || metadata == .all))
    #expect(picture.fields.contains("exif-ifd3-GPSLatitude") == (metadata == .all))
    if metadata == .none { #expect(!picture.fields.contains("exif-data")) }
  }
}
