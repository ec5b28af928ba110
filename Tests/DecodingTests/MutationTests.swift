import CVips
import DecoderPool
import TestSupport
import Testing
import Vocabulary

@testable import Imaging

/// Files that were cut and in which bits were turned, by a fixed sequence: so a failure can be repeated.
private struct Mutations {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  private mutating func next(_ limit: Int) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int(state >> 33) % max(1, limit)
  }

  mutating func next(of file: [UInt8]) -> [UInt8] {
    var file = file
    switch next(8) {
    case 0: return Array(file.prefix(next(file.count)))
    case 1:
      // What stands in front decides most.
      file[next(min(64, file.count))] = UInt8(next(256))
    case 2:
      let start = next(file.count)
      file.removeSubrange(start..<min(file.count, start + 1 + next(16)))
    case 3:
      let start = next(file.count)
      file.insert(contentsOf: (0..<1 + next(16)).map { _ in UInt8(next(256)) }, at: start)
    case 4:
      // Lengths and sizes are where many zeros or ones stand.
      let start = next(file.count)
      for place in start..<min(file.count, start + 4) { file[place] = 0xFF }
    default:
      for _ in 0...next(6) { file[next(file.count)] ^= UInt8(1 << next(8)) }
    }
    return file
  }
}

@Suite(.serialized) struct `Damaged files` {
  private static func picture(
    _ saver: String, _ options: [String: OperationArgument] = [:], bands: Int = 3
  ) -> [UInt8] {
    TestPictures.file(saver, 40, 28, bands: bands, options: options) { x, y in
      Array([UInt8(x * 6), UInt8(y * 9), UInt8((x ^ y) * 4), UInt8(255 - x * 3)].prefix(bands))
    }
  }

  private static func animation(_ saver: String) -> [UInt8] {
    TestPictures.file(
      saver, 24, 60, bands: 4,
      metadata: {
        $0.set("page-height", to: 20)
        $0.set("delay", to: [20, 50, 100])
      }
    ) { x, y in [UInt8(x * 10), UInt8(y * 4), 90, x > 12 ? 255 : 0] }
  }

  static let files: [(name: String, bytes: [UInt8])] = [
    ("JPEG", picture("jpegsave")), ("grey JPEG", picture("jpegsave", bands: 1)),
    ("JPEG in scans", picture("jpegsave", ["interlace": .bool(true)])),
    (
      "JPEG with EXIF and a profile",
      TestPictures.photo(
        "jpegsave", 40, 28, options: ["profile": .text("p3")],
        metadata: { $0.set("orientation", to: 6) })
    ),
    ("PNG", picture("pngsave", bands: 4)),
    ("interlaced PNG", picture("pngsave", ["interlace": .bool(true)])),
    ("PNG with a palette", picture("pngsave", ["palette": .bool(true)])),
    ("GIF", picture("gifsave")), ("animated GIF", animation("gifsave")),
    ("WebP", picture("webpsave", bands: 4)),
    ("WebP without loss", picture("webpsave", ["lossless": .bool(true)])),
    ("animated WebP", animation("webpsave")), ("TIFF", picture("tiffsave")),
    ("TIFF by Deflate", picture("tiffsave", ["compression": .int(2), "predictor": .int(2)])),
    ("TIFF by LZW in tiles", picture("tiffsave", ["compression": .int(5), "tile": .bool(true)])),
    ("TIFF by JPEG", picture("tiffsave", ["compression": .int(1)])),
    ("AVIF", picture("heifsave", ["compression": .int(4), "effort": .int(0)])),
  ]

  /// Of each file.
  private static let count = Soak.images.map { max(60, $0 / 10) } ?? 60

  private static let recipes = [
    recipe(16, nil, .png), recipe(20, 20, .webp) { $0.fit = .cover }, recipe(12, nil, .jpeg),
  ]

  @Test(arguments: files.indices)
  func `give codes, and nothing else`(_ index: Int) async throws {
    let (name, whole) = Self.files[index]
    await expectCodes(of: whole, name, seed: UInt64(index + 1), in: sharedPool)
  }

  private static let drawings: [(name: String, text: String)] = [
    (
      "SVG",
      """
      <svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" \
      width="40" height="28" viewBox="0 0 40 28"><style>.a { fill: #e01414 }</style>\
      <defs><linearGradient id="g"><stop offset="0" stop-color="red"/><stop offset="1"/>\
      </linearGradient><filter id="f"><feGaussianBlur stdDeviation="1"/></filter></defs>\
      <g transform="rotate(10 20 14)"><path class="a" d="M2 2 L30 4 C 30 20 10 20 2 2 z"/>\
      <rect width="9" height="9" fill="url(#g)" filter="url(#f)"/></g>\
      <text x="3" y="20" font-family="serif" font-size="9">a<tspan dy="2">b</tspan></text>\
      <image xlink:href="a.png" width="9" height="9"/><use xlink:href="#f"/></svg>
      """
    ),
    (
      "PDF",
      """
      %PDF-1.4
      1 0 obj <</Type /Catalog /Pages 2 0 R>> endobj
      2 0 obj <</Type /Pages /Kids [3 0 R] /Count 1>> endobj
      3 0 obj <</Type /Page /Parent 2 0 R /MediaBox [0 0 40 28] /Contents 4 0 R /Resources \
      <</Font <</F1 5 0 R>>>>>> endobj
      4 0 obj <</Length 66>> stream
      0.88 0.08 0.08 rg 0 0 20 28 re f BT /F1 9 Tf 4 8 Td (abc) Tj ET   
      endstream endobj
      5 0 obj <</Type /Font /Subtype /Type1 /BaseFont /Helvetica>> endobj
      trailer <</Root 1 0 R>>

      """
    ),
  ]

  @Test(arguments: drawings.indices)
  func `of the formats that a job must allow give no other`(_ index: Int) async throws {
    let (name, text) = Self.drawings[index]
    let formats = ImageFormat.allowedByDefault.union([.svg, .pdf])
    let pool = try DecoderPool(
      executable: decoderExecutable, decoders: 2, memory: 1 << 30, formats: formats)
    await expectCodes(of: Array(text.utf8), name, seed: 99, in: pool, formats)
    await pool.stop()
  }

  private func expectCodes(
    of whole: [UInt8], _ name: String, seed: UInt64, in pool: DecoderPool,
    _ formats: Set<ImageFormat> = ImageFormat.allowedByDefault
  ) async {
    let allowed: Set = [
      "not-an-image", "unsupported-format", "corrupt-image", "truncated", "too-many-pixels",
      "decoder-memory",
    ]
    var limits = LimitSettings()
    limits.formats = formats
    limits.maxPixels = 1 << 24
    func failure(of file: [UInt8]) async -> DecodeFailure? {
      do throws(DecodeFailure) {
        let rendered = try await pool.render(file, limits: limits, Self.recipes)
        for (place, variant) in rendered.rendering.variants.enumerated() {
          guard case .success(let made) = variant else { continue }
          #expect(rendered.bytes(place).count == made.bytes)
        }
        return nil
      } catch {
        return error
      }
    }
    #expect(await failure(of: whole) == nil, "\(name)")
    var mutations = Mutations(seed: seed)
    for number in 0..<Self.count {
      guard let failed = await failure(of: mutations.next(of: whole)) else { continue }
      #expect(allowed.contains(failed.code), "\(name), number \(number): \(failed)")
      #expect(failed.disposition == .giveUp)
    }
    // Whatever it has seen, the pool makes the next picture.
    #expect(await failure(of: whole) == nil, "\(name)")
  }
}
