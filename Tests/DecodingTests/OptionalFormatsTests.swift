import CVips
import DecoderPool
import Glibc
import TestSupport
import Testing
import Vocabulary

@testable import Imaging

@Suite(.serialized) struct `Formats that a job must allow` {
  private static let formats: Set<ImageFormat> = [.svg, .pdf, .jp2, .bmp]

  private static let limits: LimitSettings = {
    var limits = LimitSettings()
    limits.formats.formUnion(formats)
    limits.decodeTimeout = .seconds(120)
    return limits
  }()

  private func pool(_ formats: Set<ImageFormat> = limits.formats) throws -> DecoderPool {
    try DecoderPool(
      executable: decoderExecutable, decoders: 1, memory: 1 << 30, formats: formats)
  }

  private static let svg = """
    <svg xmlns="http://www.w3.org/2000/svg" width="60" height="40">\
    <rect width="30" height="40" fill="#e01414"/></svg>
    """
  private static let pdf = """
    %PDF-1.4
    1 0 obj <</Type /Catalog /Pages 2 0 R>> endobj
    2 0 obj <</Type /Pages /Kids [3 0 R] /Count 1>> endobj
    3 0 obj <</Type /Page /Parent 2 0 R /MediaBox [0 0 60 40] /Contents 4 0 R>> endobj
    4 0 obj <</Length 28>> stream
    0.88 0.08 0.08 rg 0 0 30 40 re f
    endstream endobj
    trailer <</Root 1 0 R>>

    """

  @Test(arguments: [(svg, PixelSize(60, 40)), (pdf, PixelSize(120, 80))])
  func `are drawn where it does`(_ text: String, _ size: PixelSize) async throws {
    let pool = try pool()
    let rendered = try await pool.render(
      Array(text.utf8), limits: Self.limits, [recipe(30, nil, .jpeg)])
    #expect((rendered.rendering.width, rendered.rendering.height) == (size.width, size.height))
    let picture = DecodedPicture(rendered.bytes())
    #expect(picture.size == PixelSize(30, 20))
    #expect(picture.distance(at: 6, 10, from: [224, 20, 20]) < 12)
    #expect(picture.distance(at: 24, 10, from: [255, 255, 255]) < 12)
    await pool.stop()
  }

  @Test func `are refused by their content where it does not`() async throws {
    let pool = try pool(ImageFormat.allowedByDefault)
    for text in [Self.svg, Self.pdf] {
      // A job that allows it does not open what its decoder was started without.
      for limits in [LimitSettings(), Self.limits] {
        let failure = await #expect(throws: DecodeFailure.self) {
          try await pool.render(Array(text.utf8), limits: limits, [recipe(30)])
        }
        #expect(failure?.code == "unsupported-format")
      }
    }
    await pool.stop()
  }

  @Test func `follow no reference out of the file`() async throws {
    let red = TestPictures.file("pngsave", 4, 4) { _, _ in [224, 20, 20] }
    let path = "/tmp/thumbworker-reference-\(getpid()).png"
    let descriptor = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0o600)
    _ = write(descriptor, red, red.count)
    close(descriptor)
    defer { unlink(path) }
    let pool = try pool()
    let svg = """
      <svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" \
      width="40" height="40"><image xlink:href="file://\(path)" width="40" height="40"/></svg>
      """
    let rendered = try await pool.render(
      Array(svg.utf8), limits: Self.limits, [recipe(20, nil, .jpeg)])
    #expect(DecodedPicture(rendered.bytes()).distance(at: 10, 10, from: [255, 255, 255]) < 5)
    await pool.stop()
  }

  private func drawing(_ width: Int, _ height: Int, _ content: String) -> [UInt8] {
    Array(
      """
      <svg xmlns="http://www.w3.org/2000/svg" width="\(width)" height="\(height)">\(content)</svg>
      """.utf8)
  }

  @Test func `are as sharp as they are large`() async throws {
    let pool = try pool()
    let file = drawing(10, 10, "<rect width='5' height='10' fill='#000'/>")
    let rendered = try await pool.render(
      file, limits: Self.limits,
      [
        recipe(400, nil, .png) { $0.enlarge = true },
        recipe(400, 20, .png) {
          $0.enlarge = true
          $0.fit = .fill
        },
      ])
    for (index, height) in [400, 20].enumerated() {
      let picture = DecodedPicture(rendered.bytes(index))
      #expect(picture.size == PixelSize(400, height))
      let greys = (0..<400).filter { (1..<255).contains(picture.rgba($0, height / 2)[3]) }
      #expect(greys.count <= (index == 0 ? 2 : 12), "\(greys)")
    }
    await pool.stop()
  }

  @Test(arguments: ["<path d='M1 2L3 4z' fill='red'/>", "<g/>"])
  func `are given what their markup takes`(_ element: String) async throws {
    let pool = try pool()
    let file = drawing(40, 30, String(repeating: element, count: 40_000))
    let rendered = try await pool.render(file, limits: Self.limits, [recipe(20, nil, .png)])
    #expect(try rendered.rendering.variants[0].get().width == 20)
    await pool.stop()
  }

  /// What is estimated for such a strip is too little: it is made once more, beside a variant that was made
  /// before.
  @Test func `are drawn again with all memory where too little was set aside`() async throws {
    let pool = try pool()
    let file = Array(
      """
      <svg xmlns="http://www.w3.org/2000/svg" width="800" height="20">
      <rect width="10" height="10"/><text x="1" y="20" font-size="16">hello</text></svg>
      """.utf8)
    let rendered = try await pool.render(
      file, limits: Self.limits,
      [
        recipe(200, 200, .jpeg) {
          $0.fit = .cover
          $0.position = .entropy
        },
        recipe(64, nil, .webp),
      ])
    for index in 0..<2 {
      #expect((try? rendered.rendering.variants[index].get()) != nil)
      #expect(DecodedPicture(rendered.bytes(index)).size.width > 0)
    }
    await pool.stop()
  }

  @Test(arguments: [(10_000, 1), (1, 10_000), (3, 3), (4000, 4000)])
  func `are drawn in every shape`(_ width: Int, _ height: Int) async throws {
    let pool = try pool()
    let source = PixelSize(width, height)
    let recipes = VariantSpec.Fit.allCases.flatMap { fit in
      [(100, 100), (1, 50), (50, 1)].flatMap { box in
        [false, true].map { enlarge in
          recipe(box.0, box.1, .png) {
            $0.fit = fit
            $0.enlarge = enlarge
          }
        }
      }
    }
    let rendered = try await pool.render(
      drawing(width, height, "<rect width='100%' height='100%' fill='#e01414'/>"),
      limits: Self.limits, recipes)
    for (recipe, variant) in zip(recipes, rendered.rendering.variants) {
      let layout = Layout(source: source, recipe: recipe)
      guard layout.scaled.pixels < 1 << 20 else { continue }  // more than is to be afforded
      let made = try variant.get()
      #expect(PixelSize(made.width, made.height) == layout.frame)
    }
    await pool.stop()
  }

  /// Where no font may be read, each letter is a box.
  @Test(.enabled(if: access("/usr/share/fonts", R_OK) == 0, "there are no fonts"))
  func `are drawn with their text`() async throws {
    let pool = try pool()
    for family in ["serif", "sans-serif", "monospace"] {
      var ink: [Int] = []
      for letter in [".", "M"] {
        let file = drawing(
          60, 60, "<text x='5' y='50' font-size='50' font-family='\(family)'>\(letter)</text>")
        // Each drawing has its own look at the fonts.
        let rendered = try await pool.render(file, limits: Self.limits, [recipe(60, nil, .jpeg)])
        #expect(rendered.rendering.warnings.isEmpty)
        let picture = DecodedPicture(rendered.bytes())
        ink.append((0..<3600).count { picture.rgba($0 % 60, $0 / 60)[0] < 128 })
      }
      #expect(ink[0] > 0 && ink[0] * 4 < ink[1], "\(family): \(ink)")
    }
    await pool.stop()
  }

  @Test func `may be packed where they are drawings, and no larger than they may be`() async throws
  {
    let pool = try pool()
    let plain = Array(Self.svg.utf8)
    func code(_ file: [UInt8], _ limits: LimitSettings = Self.limits) async -> String? {
      do throws(DecodeFailure) {
        let rendered = try await pool.render(file, limits: limits, [recipe(30, nil, .jpeg)])
        let picture = DecodedPicture(rendered.bytes())
        #expect(picture.distance(at: 6, 10, from: [224, 20, 20]) < 12)
        return nil
      } catch {
        return error.code
      }
    }
    let packed = PlainPNG.gzip(plain)
    #expect(await code(packed) == nil)
    #expect(await code(packed.dropLast(20)) == "truncated")
    #expect(await code(packed, LimitSettings()) == "not-an-image")
    #expect(await code(PlainPNG.gzip(TestPictures.photo("jpegsave", 20, 20))) == "not-an-image")
    let spaces = [UInt8](repeating: 0x20, count: SVGFile.mostBytes)
    #expect(await code(PlainPNG.gzip(plain + spaces)) == "unsupported-format")
    #expect(await code(plain + spaces) == "unsupported-format")
    for place in 10..<40 {
      var broken = packed
      broken[place] ^= 0xFF
      #expect(["corrupt-image", "truncated", "not-an-image"].contains(await code(broken)))
    }
    await pool.stop()
  }

  @Test func `are held to the limits`() async throws {
    let pool = try pool()
    let huge = """
      <svg xmlns="http://www.w3.org/2000/svg" width="333333" height="333333"><g/></svg>
      """
    let failure = await #expect(throws: DecodeFailure.self) {
      try await pool.render(Array(huge.utf8), limits: Self.limits, [recipe(30)])
    }
    #expect(failure?.code == "too-many-pixels")
    await pool.stop()
  }

  @Test(.enabled(if: ImageCorpus.shared != nil, "there is no corpus beside this checkout"))
  func `of the corpus do what its index says`() async throws {
    let pool = try pool()
    var limits = Self.limits
    limits.decodeTimeout = .seconds(20)
    let kinds = ["svg", "svgz", "pdf", "bmp", "jp2", "j2k"]
    // Found as UTF-16 by its first bytes, and drawn.
    let better: Set = ["odd/svg-utf16.svg"]
    for file in ImageCorpus.shared!.files where kinds.contains(file.format) {
      do throws(DecodeFailure) {
        let rendered = try await pool.render(
          readFile(file.path)!, limits: limits, [recipe(96, 96)])
        #expect(file.expected != "fails" || better.contains(file.name), "\(file)")
        for variant in rendered.rendering.variants { _ = try variant.get() }
      } catch {
        #expect(
          file.expected != "decodes",
          "\(file): \(error.code): \(error.message)")
        #expect(error.disposition == .giveUp, "\(file): \(error.message)")
      }
    }
    await pool.stop()
  }
}
