import CVips
import DecoderPool
import TestSupport
import Testing
import Vocabulary

@testable import Imaging

/// One picture as every format that originals come in, and by each way that its reader has.
private struct Path: CustomTestStringConvertible {
  var name: String
  var file: @Sendable (_ width: Int, _ height: Int) -> [UInt8]

  var testDescription: String { name }

  init(_ name: String, _ file: @escaping @Sendable (_ width: Int, _ height: Int) -> [UInt8]) {
    self.name = name
    self.file = file
  }

  init(saver: String, _ name: String, _ options: [String: OperationArgument] = [:], bands: Int = 3)
  {
    nonisolated(unsafe) let options = options  // values only
    self.init("\(saver), \(name)") { width, height in
      TestPictures.file(saver, width, height, bands: bands, options: options) { x, y in
        Array([UInt8(x * 255 / width), UInt8(y * 255 / height), 120, 200].suffix(bands))
      }
    }
  }

  static let all: [Path] = [
    Path(saver: "jpegsave", "baseline"), Path(saver: "jpegsave", "grey", bands: 1),
    Path(saver: "jpegsave", "in several scans", ["interlace": .bool(true)]),
    Path(saver: "pngsave", "in rows"), Path(saver: "pngsave", "with alpha", bands: 4),
    Path(saver: "pngsave", "interlaced", ["interlace": .bool(true)]),
    Path(saver: "webpsave", "lossy"),
    Path(saver: "webpsave", "lossless", ["lossless": .bool(true)]),
    Path(saver: "gifsave", "still"), Path(saver: "tiffsave", "in strips"),
    Path(saver: "tiffsave", "in tiles", ["tile": .bool(true)]),
    Path(saver: "heifsave", "AV1", ["compression": .int(4), "effort": .int(0)]),
    Path("jpegsave, CMYK") { width, height in
      TestPictures.locked {
        let inks = try! vips(
          "black", ["width": .int(width), "height": .int(height), "bands": .int(4)])
        inks.image.pointee.Type = VIPS_INTERPRETATION_CMYK
        return TestPictures.save(inks, "jpegsave")
      }
    },
    Path("jpegsave, on its side") { width, height in
      TestPictures.file(
        "jpegsave", height, width, metadata: { $0.set("orientation", to: 6) }
      ) { x, y in [UInt8(x * 255 / height), UInt8(y * 255 / width), 120] }
    },
    Path("png, 16 bits") { width, height in
      PNGFile(kind: .rgb, depth: 16, width: width, height: height).bytes { x, y in
        [x * 65_535 / width, y * 65_535 / height, 30_000]
      }
    },
  ]
}

@Suite struct `The size of a variant` {
  /// The rule, by integers alone: the side that constrains is exact, the other is the true ratio rounded
  /// half up, at least 1; nothing grows unless asked.
  private func expected(_ source: PixelSize, _ recipe: Recipe) -> PixelSize {
    func scaled(_ side: Int, _ numerator: Int, _ denominator: Int) -> Int {
      max(1, (2 * side * numerator + denominator) / (2 * denominator))
    }
    func byWidth(_ width: Int) -> PixelSize {
      PixelSize(width, scaled(source.height, width, source.width))
    }
    func byHeight(_ height: Int) -> PixelSize {
      PixelSize(scaled(source.width, height, source.height), height)
    }
    guard let width = recipe.width else {
      let height = recipe.height!
      return height > source.height && !recipe.enlarge ? source : byHeight(height)
    }
    guard let height = recipe.height else {
      return width > source.width && !recipe.enlarge ? source : byWidth(width)
    }
    let box = PixelSize(width, height)
    /// The box's shape is the narrower one where its width is met first.
    let isWidthFirst = source.width * height >= source.height * width
    let isRoomFree = width >= source.width && height >= source.height
    let isTooSmall = width > source.width || height > source.height
    switch recipe.fit {
    case .contain: return box
    case .fill:
      return recipe.enlarge ? box : PixelSize(min(width, source.width), min(height, source.height))
    case .inside:
      if isRoomFree, !recipe.enlarge { return source }
      return isWidthFirst ? byWidth(width) : byHeight(height)
    case .outside:
      if isTooSmall, !recipe.enlarge { return source }
      return isWidthFirst ? byHeight(height) : byWidth(width)
    case .cover:
      if !isTooSmall || recipe.enlarge { return box }
      // The box's shape within what is there.
      return source.width * height <= source.height * width
        ? PixelSize(source.width, scaled(height, source.width, width))
        : PixelSize(scaled(width, source.height, height), source.height)
    }
  }

  private func isCapped(_ source: PixelSize, _ recipe: Recipe) -> Bool {
    guard recipe.fit == .cover, !recipe.enlarge, let width = recipe.width,
      let height = recipe.height
    else { return false }
    return width > source.width || height > source.height
  }

  /// Boxes of any shape and size about the source's, by a fixed sequence.
  private func recipes(_ count: Int, about source: PixelSize, seed: UInt64) -> [Recipe] {
    var state = seed
    func next(_ limit: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return 1 + Int(state >> 33) % limit
    }
    return (0..<count).map { index in
      let (width, height) = (next(source.width * 2), next(source.height * 2))
      return recipe(index % 7 == 0 ? nil : width, index % 7 == 1 ? nil : height, .jpeg) {
        $0.fit = VariantSpec.Fit.allCases[index % 5]
        $0.enlarge = index % 3 == 0
      }
    }
  }

  @Test(arguments: Path.all)
  private func `follows the rule by every way that a picture is read`(_ path: Path) async throws {
    for (index, source) in [
      PixelSize(97, 61), PixelSize(61, 97), PixelSize(64, 64), PixelSize(130, 3), PixelSize(1, 40),
    ].enumerated() {
      let recipes = recipes(60, about: source, seed: UInt64(index))
      let rendered = try await sharedPool.render(path.file(source.width, source.height), recipes)
      #expect(
        (rendered.rendering.width, rendered.rendering.height) == (source.width, source.height))
      for (recipe, variant) in zip(recipes, rendered.rendering.variants) {
        let made = try variant.get()
        let size = expected(source, recipe)
        #expect(
          PixelSize(made.width, made.height) == size,
          "\(source) \(recipe.fit) \(recipe.width ?? 0)×\(recipe.height ?? 0)")
        #expect(made.isCapped == isCapped(source, recipe))
      }
      // What is said of a file is true of it.
      for place in stride(from: 0, to: recipes.count, by: 20) {
        let header = try #require(ImageHeader(rendered.bytes(place)))
        let made = try rendered.rendering.variants[place].get()
        #expect((header.width, header.height) == (made.width, made.height))
      }
    }
  }

  @Test func `follows the rule however a JPEG is shrunk while it is read`() async throws {
    for source in [PixelSize(1013, 757), PixelSize(640, 1000)] {
      let file = TestPictures.photo("jpegsave", source.width, source.height)
      for divisor in [2, 4, 8, 16, 33] {
        let recipes = recipes(
          100, about: PixelSize(source.width / divisor, source.height / divisor),
          seed: UInt64(divisor))
        let rendered = try await sharedPool.render(file, recipes)
        for (recipe, variant) in zip(recipes, rendered.rendering.variants) {
          let made = try variant.get()
          #expect(PixelSize(made.width, made.height) == expected(source, recipe))
        }
      }
    }
  }

  @Test func `is the rule's over thousands of sizes`() {
    for index in 0..<60 {
      let source = PixelSize(1 + index * index * 7 % 5000, 1 + index * index * 13 % 3000)
      for recipe in recipes(100, about: source, seed: UInt64(index)) {
        #expect(Layout(source: source, recipe: recipe).frame == expected(source, recipe))
      }
    }
  }
}
