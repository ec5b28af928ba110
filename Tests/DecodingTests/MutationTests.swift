import CVips
import DecoderPool
import Glibc
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

  /// Of each file; more by `THUMBWORKER_MUTATIONS`.
  private static let count =
    getenv("THUMBWORKER_MUTATIONS").flatMap { Int(String(cString: $0)) } ?? 120

  @Test(arguments: files.indices)
  func `give codes, and nothing else`(_ index: Int) async throws {
    let (name, whole) = Self.files[index]
    let allowed: Set = [
      "not-an-image", "unsupported-format", "corrupt-image", "truncated", "too-many-pixels",
      "decoder-memory",
    ]
    let recipes = [
      recipe(16, nil, .png), recipe(20, 20, .webp) { $0.fit = .cover }, recipe(12, nil, .jpeg),
    ]
    #expect(await failure(whole, recipes) == nil, "\(name)")
    var mutations = Mutations(seed: UInt64(index + 1))
    for number in 0..<Self.count {
      let file = mutations.next(of: whole)
      do throws(DecodeFailure) {
        let rendered = try await sharedPool.render(file, recipes)
        for (place, variant) in rendered.rendering.variants.enumerated() {
          guard case .success(let made) = variant else { continue }
          #expect(rendered.bytes(place).count == made.bytes)
        }
      } catch {
        #expect(
          allowed.contains(error.code), "\(name), number \(number): \(error.code): \(error.message)"
        )
        #expect(error.disposition == .giveUp)
      }
    }
    // Whatever it has seen, the pool makes the next picture.
    #expect(await failure(whole, recipes) == nil, "\(name)")
  }
}
