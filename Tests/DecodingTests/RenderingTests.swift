import CVips
import DecoderPool
import TestSupport
import Testing
import Vocabulary

@testable import Imaging

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

  @Test func `that cannot be made takes nothing from the one that follows it`() async throws {
    let recipes = (0..<120).map { index in
      recipe(30 + index / 2, nil, .png) { if index % 2 == 0 { $0.maxBytes = 1 } }
    }
    let source = TestPictures.photo("jpegsave", 100, 80)
    let rendered = try await sharedPool.render(source, recipes)
    for (index, variant) in rendered.rendering.variants.enumerated() {
      guard case .success(let made) = variant else {
        #expect(index % 2 == 0)
        continue
      }
      #expect(rendered.bytes(index).count == made.bytes)
      #expect(DecodedPicture(rendered.bytes(index)).size.width == 30 + index / 2)
    }
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
