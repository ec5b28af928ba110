import CVips
import DecoderPool
import TestSupport
import Testing
import Vocabulary

@testable import Imaging

/// Of every format, small and large, sound and broken.
private let varied: [[UInt8]] = {
  var files = [
    TestPictures.photo("jpegsave", 500, 400),
    TestPictures.photo("jpegsave", 301, 207, options: ["interlace": .bool(true)]),
    TestPictures.photo("pngsave", 300, 200),
    TestPictures.photo("pngsave", 64, 64, options: ["interlace": .bool(true)]),
    TestPictures.photo("webpsave", 200, 150), TestPictures.photo("gifsave", 120, 90),
    TestPictures.photo("tiffsave", 200, 150),
    TestPictures.photo("heifsave", 80, 60, options: ["compression": .int(4), "effort": .int(0)]),
    TestPictures.file("pngsave", 90, 70, bands: 4) { x, y in [UInt8(x), UInt8(y), 9, UInt8(x + y)]
    },
  ]
  files += files.prefix(6).map { Array($0.prefix($0.count * 2 / 3)) }
  return files
}()

private let recipes = [
  recipe(200, nil, .jpeg), recipe(64, 64, .webp) { $0.fit = .cover }, recipe(32, nil, .png),
  recipe(48, nil, .gif),
]

@Suite(.serialized) struct `Many images` {
  /// Objects of libvips, and what it has taken, in this process.
  private struct Held: Equatable {
    var objects = 0
    var bytes = 0

    init() {
      vips_object_map(
        { _, count, _ in
          count!.assumingMemoryBound(to: Int.self).pointee += 1
          return nil
        }, &objects, nil)
      bytes = vips_tracked_get_mem()
    }
  }

  private func renderAll(_ files: [[UInt8]]) {
    for file in files {
      let rendering = Rendering(
        recipes: recipes,
        limits: ImagingLimits(
          maxPixels: 1 << 24, maxFrames: 16, maxMemory: 1 << 30,
          formats: ImageFormat.allowedByDefault),
        admit: { _ in }, opened: { _ in }, seen: { _ in }, finished: { _, _ in })
      _ = file.withUnsafeBytes { bytes in try? rendering.run(bytes) }
    }
  }

  @Test func `leave no picture behind, whether they are sound or not`() {
    let files = varied
    TestPictures.locked {
      renderAll(files)  // what is made once for all stays
      let before = Held()
      for _ in 0..<2 { renderAll(files) }
      #expect(Held() == before)
    }
  }

  @Test func `find no operation kept, and one thread`() {
    TestPictures.locked {
      #expect(vips_cache_get_max() == 0)
      #expect(vips_cache_get_max_mem() == 0)
      #expect(vips_cache_get_max_files() == 0)
      #expect(vips_concurrency_get() == 1)
    }
  }

  private static let count = max(240, Soak.images ?? 0)

  @Test(arguments: [1, 2])
  func `leave decoders no larger than a tenth of them did`(_ decoders: Int) async throws {
    let named = NamedDecoder()
    let pool = try DecoderPool(executable: named.path, decoders: decoders, memory: 1 << 30)
    func renderSome(_ count: Int) async {
      await withTaskGroup(of: Void.self) { group in
        for worker in 0..<decoders {
          group.addTask {
            for index in stride(from: worker, to: count, by: decoders) {
              _ = try? await pool.render(varied[index % varied.count], recipes)
            }
          }
        }
      }
    }
    await renderSome(Self.count / 10)
    let early = named.privateMemory
    await renderSome(Self.count)
    let late = named.privateMemory
    #expect(early > 1 << 20)
    #expect(late < early * 13 / 10, "\(early >> 10) KiB, then \(late >> 10) KiB")
    await pool.stop()
  }
}
