import CVips
import DecoderPool
import TestSupport
import Testing
import Vocabulary

@testable import Imaging

/// The pool that rendering tests share; its decoders end with the test process.
let sharedPool = try! DecoderPool(executable: decoderExecutable, decoders: 2, memory: 2 << 30)

/// The only variant of a file.
private func render(_ file: [UInt8], _ recipe: Recipe) async throws -> DecodedPicture {
  let rendered = try await sharedPool.render(file, [recipe])
  _ = try rendered.rendering.variants[0].get()
  return DecodedPicture(rendered.bytes())
}

private func failure(_ file: [UInt8], _ recipes: [Recipe] = [recipe(50)]) async -> String? {
  do throws(DecodeFailure) {
    _ = try await sharedPool.render(file, recipes)
    return nil
  } catch {
    return error.code
  }
}

@Suite struct `A variant` {
  @Test func `has the size that its layout says, in every format`() async throws {
    let sources = [
      TestPictures.photo("jpegsave", 592, 674), TestPictures.photo("pngsave", 592, 674),
      TestPictures.photo("webpsave", 592, 674), TestPictures.photo("gifsave", 592, 674),
      TestPictures.photo("tiffsave", 592, 674),
    ]
    let recipes = [
      recipe(nil, 48), recipe(100, 100) { $0.fit = .cover }, recipe(97, 31) { $0.fit = .fill },
      recipe(100, 50) { $0.fit = .contain }, recipe(100, 50) { $0.fit = .outside },
      recipe(nil, 700) { $0.enlarge = true }, recipe(3000),
    ]
    for source in sources {
      let rendered = try await sharedPool.render(source, recipes)
      for (index, variant) in rendered.rendering.variants.enumerated() {
        let made = try variant.get()
        let frame = Layout(source: PixelSize(592, 674), recipe: recipes[index]).frame
        #expect(PixelSize(made.width, made.height) == frame)
        #expect(DecodedPicture(rendered.bytes(index)).size == frame)
        #expect(rendered.bytes(index).count == made.bytes)
      }
    }
  }

  @Test(arguments: VariantSpec.Format.allCases)
  func `comes in the format asked for`(_ format: VariantSpec.Format) async throws {
    let transparent = TestPictures.file("pngsave", 40, 30, bands: 4) { x, _ in
      [200, 100, 50, x < 20 ? 0 : 255]
    }
    let made = try await sharedPool.render(transparent, [recipe(20, nil, format)])
    let expected = format == .auto ? ImageFormat.webp : format.imageFormat!
    let variant = try made.rendering.variants[0].get()
    #expect(variant.format == expected)
    #expect(DecodedPicture(made.bytes()).size == PixelSize(20, 15))
    let opaque = try await sharedPool.render(
      TestPictures.photo("pngsave", 40, 30), [recipe(20, nil, format)])
    #expect(
      try opaque.rendering.variants[0].get().format
        == (format == .auto ? .jpeg : format.imageFormat!))
  }

  @Test func `is cut where the position says`() async throws {
    let source = TestPictures.file("pngsave", 90, 30) { x, _ in
      x < 30 ? [250, 0, 0] : x < 60 ? [0, 250, 0] : [0, 0, 250]
    }
    for (position, colour) in [
      (VariantSpec.Position.west, [250, 0, 0]), (.centre, [0, 250, 0]), (.northeast, [0, 0, 250]),
    ] {
      let picture = try await render(
        source,
        recipe(30, 30, .png) {
          $0.fit = .cover
          $0.position = position
        })
      #expect(picture.distance(at: 15, 15, from: colour) < 3, "\(position)")
    }
  }

  @Test(arguments: [VariantSpec.Position.attention, .entropy])
  func `is cut around what is there to see`(_ position: VariantSpec.Position) async throws {
    let source = TestPictures.file("pngsave", 200, 50) { x, y in
      (150..<190).contains(x) && (x / 4 + y / 4) % 2 == 0 ? [250, 40, 40] : [90, 90, 90]
    }
    let picture = try await render(
      source,
      recipe(50, 50, .png) {
        $0.fit = .cover
        $0.position = position
      })
    let reds = (0..<50).filter { picture.pixel($0, 25)[0] > 150 }.count
    #expect(reds > 10)
  }

  @Test(arguments: [VariantSpec.Position.west, .centre, .east, .attention])
  func `is made of the longest and thinnest`(_ position: VariantSpec.Position) async throws {
    let source = TestPictures.file("pngsave", 10_000, 1) { x, _ in
      x < 3000 ? [250, 0, 0] : x < 7000 ? [0, 250, 0] : [0, 0, 250]
    }
    let rendered = try await sharedPool.render(
      source,
      [
        recipe(200, 200, .png) {
          $0.fit = .cover
          $0.enlarge = true
          $0.position = position
        },
        recipe(200, 200, .png) { $0.fit = .cover },
      ])
    #expect(try rendered.rendering.variants[1].get().isCapped)
    #expect(try !rendered.rendering.variants[0].get().isCapped)
    let picture = DecodedPicture(rendered.bytes())
    #expect(picture.size == PixelSize(200, 200))
    let colours: [VariantSpec.Position: [Int]] = [
      .west: [250, 0, 0], .centre: [0, 250, 0], .east: [0, 0, 250],
    ]
    if let colour = colours[position] {
      #expect(picture.distance(at: 100, 100, from: colour) < 4)
    }
  }

  @Test func `is padded with the background`() async throws {
    let source = TestPictures.file("pngsave", 60, 60, bands: 1) { _, _ in [120] }
    let picture = try await render(
      source,
      recipe(60, 20, .png) {
        $0.fit = .contain
        $0.position = .east
        $0.background = VariantSpec.Color("#204060")!
      })
    #expect(picture.size == PixelSize(60, 20))
    #expect(picture.pixel(5, 10) == [32, 64, 96])
    #expect(picture.distance(at: 50, 10, from: [120, 120, 120]) <= 1)
  }

  @Test func `meets its budget, or says that it cannot`() async throws {
    let source = TestPictures.photo("jpegsave", 400, 300)
    let rendered = try await sharedPool.render(
      source,
      [
        recipe(400, nil, .jpeg) { $0.maxBytes = 8000 },
        recipe(400, nil, .jpeg) { $0.maxBytes = 100 },
        recipe(400, nil, .png) { $0.maxBytes = 1000 },
      ])
    #expect(try rendered.rendering.variants[0].get().bytes <= 8000)
    #expect(try rendered.rendering.variants[0].get().bytes > 4000)
    for variant in rendered.rendering.variants[1...] {
      #expect(throws: DecodeFailure.self) { try variant.get() }
      if case .failure(let failure) = variant { #expect(failure.code == "variant-too-large") }
    }
  }

  @Test func `that cannot be made leaves its siblings alone`() async throws {
    let rendered = try await sharedPool.render(
      TestPictures.file("pngsave", 2, 2000) { _, _ in [9, 9, 9] },
      [
        recipe(50, nil, .jpeg) { $0.enlarge = true }, recipe(nil, 100, .jpeg),
        recipe(20, nil, .webp) { $0.enlarge = true },
      ])
    #expect(try rendered.rendering.variants[1].get().height == 100)
    let codes = rendered.rendering.variants.map { variant in
      if case .failure(let failure) = variant { failure.code } else { "" }
    }
    #expect(codes == ["", "", "unsupported-setting"])
  }

  @Test func `is the same bytes each time`() async throws {
    let source = TestPictures.photo("jpegsave", 700, 500)
    let recipes = [recipe(300, nil, .jpeg), recipe(100, 100, .webp) { $0.fit = .cover }]
    let (a, b) = (
      try await sharedPool.render(source, recipes), try await sharedPool.render(source, recipes)
    )
    for index in recipes.indices { #expect(a.bytes(index) == b.bytes(index)) }
  }

  @Test func `is the same bytes whichever decoder makes it`() async throws {
    let sources = [
      TestPictures.photo("jpegsave", 700, 500), TestPictures.photo("pngsave", 300, 301),
      TestPictures.file("pngsave", 90, 90, bands: 4) { x, y in [9, 200, 30, UInt8(x + y)] },
    ]
    let recipes = VariantSpec.Format.allCases.flatMap { format in
      [
        recipe(64, nil, format), recipe(50, 40, format) { $0.fit = .cover },
        recipe(120, nil, format) {
          $0.enlarge = true
          $0.metadata = .all
          $0.effort = .small
        },
      ]
    }
    var made: [[[UInt8]]] = []
    for _ in 0..<2 {
      let pool = try DecoderPool(executable: decoderExecutable, decoders: 1, memory: 1 << 30)
      for source in sources {
        let rendered = try await pool.render(source, recipes)
        for variant in rendered.rendering.variants { _ = try variant.get() }
        made.append(rendered.outputs.map(\.bytes))
      }
      await pool.stop()
    }
    for index in sources.indices { #expect(made[index] == made[sources.count + index]) }
  }

  @Test func `of a WebP without loss has none, unless a quality is named`() async throws {
    let lossless = TestPictures.photo("webpsave", 80, 60, options: ["lossless": .bool(true)])
    let lossy = TestPictures.photo("webpsave", 80, 60)
    let recipes = [
      recipe(80, nil, .webp), recipe(80, nil, .webp) { $0.quality = 80 },
      recipe(80, nil, .webp) { $0.maxBytes = 3000 },
    ]
    func isLossless(_ bytes: [UInt8]) -> Bool {
      bytes.withUnsafeBytes { WebPContainer.isLossless($0) }
    }
    #expect(isLossless(lossless) && !isLossless(lossy))
    let kept = try await sharedPool.render(lossless, recipes)
    #expect(kept.outputs.map { isLossless($0.bytes) } == [true, false, false])
    #expect(DecodedPicture(kept.bytes()).hasPixels(of: DecodedPicture(lossless)))
    #expect(kept.bytes(2).count <= 3000)
    let lost = try await sharedPool.render(lossy, recipes)
    #expect(!isLossless(lost.bytes()))
  }

  @Test(arguments: [3, 4])
  func `has a palette in PNG where that loses nothing`(_ bands: Int) async throws {
    let flat = TestPictures.file("pngsave", 90, 60, bands: bands) { x, y in
      Array([UInt8(x / 30 * 80), UInt8(y / 20 * 90), 40, x < 30 ? 0 : 255].prefix(bands))
    }
    let rich = TestPictures.file("pngsave", 90, 60, bands: bands) { x, y in
      Array([UInt8(x), UInt8(y * 4), UInt8(x ^ y), 255].prefix(bands))
    }
    for (source, hasPalette) in [(flat, true), (rich, false)] {
      let rendered = try await sharedPool.render(source, [recipe(90, nil, .png)])
      // The colour type, after the header's two sides and depth.
      #expect((rendered.bytes()[25] == 3) == hasPalette)
      let same = DecodedPicture(rendered.bytes())
      let opaque = DecodedPicture(source)
      for (x, y) in [(40, 5), (89, 59), (31, 30)] {
        #expect(same.pixel(x, y).prefix(3) == opaque.pixel(x, y).prefix(3))
      }
    }
  }

  @Test func `comes in any number from one original`() async throws {
    let recipes = (1...200).map { recipe($0, nil, .jpeg) }
    let rendered = try await sharedPool.render(TestPictures.photo("jpegsave", 300, 200), recipes)
    for (index, variant) in rendered.rendering.variants.enumerated() {
      #expect(try variant.get().width == index + 1)
    }
  }
}

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

  @Test func `goes on without a profile that is broken`() async throws {
    let file = TestPictures.photo("pngsave", 64, 64) { picture in
      let junk = [UInt8](repeating: 7, count: 500)
      vips_image_set_blob_copy(picture.image, "icc-profile-data", junk, junk.count)
    }
    let rendered = try await sharedPool.render(file, [recipe(32, nil, .jpeg)])
    #expect(try rendered.rendering.variants[0].get().width == 32)
  }
}

@Suite struct `A file that ends early` {
  private static var savers: [(name: String, options: [String: OperationArgument])] {
    [
      ("jpegsave", [:]), ("jpegsave", ["interlace": .bool(true)]), ("pngsave", [:]),
      ("pngsave", ["interlace": .bool(true)]), ("webpsave", [:]), ("gifsave", [:]),
      ("tiffsave", [:]), ("heifsave", ["compression": .int(4)]),
    ]
  }

  @Test(arguments: 0..<8, [50, 90])
  func `fails, and says so`(_ index: Int, _ percent: Int) async {
    let saver = Self.savers[index]
    let whole = TestPictures.photo(saver.name, 300, 200, options: saver.options)
    #expect(await failure(whole) == nil, "\(saver.name) whole")
    let code = await failure(Array(whole.prefix(whole.count * percent / 100)))
    #expect(
      code == "truncated" || (code == "corrupt-image" && saver.name == "tiffsave"),
      "\(saver.name) at \(percent) %: \(code ?? "made")")
  }

  @Test(arguments: [1, 2, 4, 8, 30])
  func `fails however it is shrunk while it is read`(_ divisor: Int) async {
    for options in [[:], ["interlace": OperationArgument.bool(true)]] {
      let whole = TestPictures.photo("jpegsave", 800, 600, options: options)
      for cut in [3, 40, 400, whole.count / 2] {
        #expect(
          await failure(whole.dropLast(cut), [recipe(800 / divisor)]) == "truncated", "\(cut)")
      }
    }
  }

  @Test func `but lacks only a JPEG's end marker is made, with a warning`() async throws {
    let whole = TestPictures.photo("jpegsave", 300, 200)
    let rendered = try await sharedPool.render(whole.dropLast(2), [recipe(100), recipe(50)])
    #expect(rendered.rendering.warnings == ["the JPEG's end marker is missing"])
    #expect(try rendered.rendering.variants[0].get().width == 100)
  }

  @Test func `is empty`() async {
    #expect(await failure([]) == "not-an-image")
  }
}

@Suite struct `A flaw` {
  @Test func `after the end or before it passes, with a warning where there is one`() async throws {
    let whole = TestPictures.photo("jpegsave", 300, 200)
    #expect(await failure(whole + [1, 2, 3]) == nil)
    let junk = Array(whole.dropLast(2)) + [0, 0, 0, 0, 0xFF, 0xD9]
    #expect(await failure(junk) == nil)
    // The spectral selection's end, three bytes before the scan's data.
    var scan = whole
    let start = try #require(
      scan.indices.dropLast().first { scan[$0] == 0xFF && scan[$0 + 1] == 0xDA })
    scan[start + 12] = 61
    let rendered = try await sharedPool.render(scan, [recipe(100)])
    #expect(try rendered.rendering.variants[0].get().width == 100)
  }

  @Test func `in one image does not show in the next`() async throws {
    let marked = TestPictures.file("pngsave", 200, 200) { _, _ in [255, 0, 255] }
    var broken = TestPictures.photo("pngsave", 200, 200)
    broken[broken.count / 2] ^= 0xFF
    for _ in 0..<4 {
      #expect(await failure(marked) == nil)
      #expect(["corrupt-image", "truncated"].contains(await failure(broken)))
    }
  }
}

@Suite struct `Limits` {
  private func code(_ file: [UInt8], _ change: (inout LimitSettings) -> Void) async -> String? {
    var limits = LimitSettings()
    change(&limits)
    do throws(DecodeFailure) {
      _ = try await sharedPool.render(file, limits: limits, [recipe(10)])
      return nil
    } catch {
      return error.code
    }
  }

  @Test func `hold on pixels and formats`() async {
    let file = TestPictures.photo("pngsave", 100, 100)
    #expect(await code(file) { $0.maxPixels = 10_000 } == nil)
    #expect(await code(file) { $0.maxPixels = 9999 } == "too-many-pixels")
    #expect(await code(file) { $0.formats = [.jpeg] } == "unsupported-format")
    #expect(await code(Array("<svg xmlns=''/>".utf8)) { $0.formats.insert(.svg) } != nil)
  }

  @Test func `hold on what a header claims, before anything is decoded`() async {
    var png = TestPictures.photo("pngsave", 10, 10)
    png.replaceSubrange(16..<24, with: [0, 0x0C, 0x03, 0xEA, 0, 0x0C, 0x03, 0xEA])
    #expect(await failure(png) == "too-many-pixels")
    let webp: [UInt8] =
      Array("RIFF".utf8) + [34, 0, 0, 0] + Array("WEBPVP8L".utf8)
      + [10, 0, 0, 0, 0x2F, 0xFE, 0xFF, 0xFF, 0x0F, 0, 0, 0, 0, 0, 0, 0, 0]
    #expect(await failure(webp) == "too-many-pixels")
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

@Suite struct `Animation` {
  /// Three frames of one colour each, shown for different times, played twice.
  private func file(_ saver: String, frames: Int = 3) -> [UInt8] {
    TestPictures.file(
      saver, 40, 30 * frames,
      metadata: { picture in
        picture.set("page-height", to: 30)
        picture.set("delay", to: (0..<frames).map { Int32(100 * ($0 + 1)) })
        picture.set("loop", to: 2)
      }
    ) { _, y in [[250, 0, 0], [0, 250, 0], [0, 0, 250]][y / 30 % 3] }
  }

  @Test(arguments: ["gifsave", "webpsave"], [VariantSpec.Format.gif, .webp, .auto])
  func `is kept with its times`(_ saver: String, _ format: VariantSpec.Format) async throws {
    let rendered = try await sharedPool.render(file(saver), [recipe(20, nil, format)])
    #expect(rendered.rendering.frames == 3)
    let variant = try rendered.rendering.variants[0].get()
    #expect((variant.width, variant.height) == (20, 15))
    let picture = DecodedPicture(rendered.bytes(), allFrames: true)
    #expect(picture.size == PixelSize(20, 45))
    #expect(picture.pages == 3)
    #expect(picture.delays == [100, 200, 300])
    #expect(picture.loop == 2)
    #expect(
      picture.distance(at: 10, 22, from: [0, 250, 0] + (picture.bands == 4 ? [255] : [])) < 30)
  }

  @Test func `becomes its first frame where that is asked for, or the format has no other`()
    async throws
  {
    let rendered = try await sharedPool.render(
      file("gifsave"), [recipe(20, nil, .webp) { $0.animation = .first }, recipe(20, nil, .jpeg)])
    #expect(DecodedPicture(rendered.bytes(0)).pages == 1)
    #expect(DecodedPicture(rendered.bytes(1)).distance(at: 10, 7, from: [250, 0, 0]) < 20)
    #expect(rendered.rendering.warnings.isEmpty)
  }

  @Test func `becomes its first frame over the limits, with a warning`() async throws {
    var limits = LimitSettings()
    limits.maxFrames = 4
    let rendered = try await sharedPool.render(
      file("gifsave", frames: 5), limits: limits, [recipe(20, nil, .webp)])
    #expect(DecodedPicture(rendered.bytes()).pages == 1)
    #expect(rendered.rendering.warnings.contains { $0.hasPrefix("animation reduced") })
  }
}
