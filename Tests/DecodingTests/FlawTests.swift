import CVips
import DecoderPool
import TestSupport
import Testing
import Vocabulary

@testable import Imaging

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

  /// What is made of the half that came is nobody's picture.
  @Test func `leaves no variant behind`() async throws {
    let whole = TestPictures.photo("jpegsave", 300, 200)
    let (original, output) = (MemoryFile(Array(whole.prefix(whole.count / 2))), MemoryFile())
    let failure = await #expect(throws: DecodeFailure.self) {
      try await sharedPool.render(
        RenderRequest(
          original: original.descriptor, limits: LimitSettings(),
          variants: [(recipe(100), output.descriptor)]))
    }
    #expect(failure?.code == "truncated" && output.bytes.isEmpty)
  }

  @Test func `in its second scan fails with few words`() async throws {
    let whole = TestPictures.photo("jpegsave", 300, 200, options: ["interlace": .bool(true)])
    let scans = whole.indices.dropLast().filter { whole[$0] == 0xFF && whole[$0 + 1] == 0xDA }
    let cut = Array(whole.prefix(scans[1] + 60))
    let failure = await #expect(throws: DecodeFailure.self) {
      try await sharedPool.render(cut, [recipe(100)])
    }
    #expect(failure?.code == "truncated")
    #expect(failure.map { (1...500).contains($0.message.utf8.count) } == true)
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

  /// What is there is a picture by itself: with an end marker put back nothing would be missed.
  @Test func `between two scans of a JPEG fails`() async throws {
    let whole = TestPictures.photo("jpegsave", 300, 200, options: ["interlace": .bool(true)])
    let scans = whole.indices.dropLast().filter { whole[$0] == 0xFF && whole[$0 + 1] == 0xDA }
    // Each scan's tables stand in front of it.
    let boundaries = scans.dropFirst().map { scan in
      var at = scan
      while let table = (at - 400..<at).last(where: { whole[$0] == 0xFF && whole[$0 + 1] == 0xC4 }),
        table + 2 + Int(whole[table + 2]) << 8 + Int(whole[table + 3]) == at
      {
        at = table
      }
      return at
    }
    #expect(boundaries.count > 3)
    for boundary in boundaries + [whole.count - 2] {
      #expect(await failure(Array(whole.prefix(boundary))) == "truncated", "\(boundary)")
    }
  }

  @Test func `is empty`() async {
    #expect(await failure([]) == "not-an-image")
  }
}

@Suite struct `A flaw` {
  private func warnings(_ file: [UInt8]) async throws -> [String] {
    let rendered = try await sharedPool.render(file, [recipe(100), recipe(30, nil, .png)])
    #expect(try rendered.rendering.variants[0].get().width == 100)
    return rendered.rendering.warnings
  }

  @Test func `after the end passes`() async throws {
    let whole = TestPictures.photo("jpegsave", 300, 200)
    #expect(try await warnings(whole).isEmpty)
    #expect(try await warnings(whole + [1, 2, 3]).isEmpty)
    #expect(try await warnings(whole + [UInt8](repeating: 7, count: 100_000)).isEmpty)
    let png = TestPictures.photo("pngsave", 300, 200)
    #expect(try await warnings(png + [1, 2, 3]).isEmpty)
  }

  @Test(arguments: [false, true])
  func `that harms no pixel passes, with a warning`(_ isInterlaced: Bool) async throws {
    let whole = TestPictures.photo(
      "jpegsave", 300, 200, options: ["interlace": .bool(isInterlaced)])
    // More than the decoder takes in advance of what it needs.
    let junk = Array(whole.dropLast(2)) + [UInt8](repeating: 0, count: 40) + [0xFF, 0xD9]
    #expect(try await warnings(junk).count == 1)
    guard !isInterlaced else { return }
    // The spectral selection's end, three bytes before the scan's data.
    var scan = whole
    let start = try #require(
      scan.indices.dropLast().first { scan[$0] == 0xFF && scan[$0 + 1] == 0xDA })
    scan[start + 12] = 61
    #expect(try await warnings(scan).count == 1)
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
