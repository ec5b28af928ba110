import CVips
import Glibc
import Synchronization
import TestSupport
import Testing
import Threading
import Vocabulary

@testable import DecoderPool
@testable import Imaging

@Suite struct `The memory of a pool` {
  struct Row: CustomTestStringConvertible {
    let wanted: Int
    let memory: Int
    let decoders: Int
    let room: Int
    var testDescription: String { "\(wanted) decoders of \(memory >> 20) MiB" }
  }

  @Test(arguments: [
    Row(wanted: 2, memory: 2 << 30, decoders: 2, room: 1920 << 20),
    Row(wanted: 64, memory: 2 << 30, decoders: 16, room: 1 << 30),
    Row(wanted: 4, memory: 300 << 20, decoders: 2, room: 172 << 20),
    Row(wanted: 8, memory: 128 << 20, decoders: 1, room: 64 << 20),
  ])
  func `is shared out so that all decoders together stay within it`(_ row: Row) {
    let shares = MemoryShares(decoders: row.wanted, memory: row.memory)
    #expect(shares.decoders == row.decoders)
    #expect(shares.room == row.room)
    let own = MemoryShares.ownMemory + MemoryShares.headerMemory
    #expect(shares.decoders * own + shares.room <= row.memory)
  }

  @Test func `goes to whoever asked first, however little another wants`() {
    var line = MemoryLine<String>(free: 100)
    #expect(line.join("a", bytes: 60) == ["a"])
    #expect(line.join("large", bytes: 90) == [])
    #expect(line.join("small", bytes: 10) == [])
    #expect(line.free == 40)
    #expect(line.giveBack(60) == ["large", "small"])
    #expect(line.free == 0)
    #expect(line.giveBack(90) == [])
    #expect(line.giveBack(10) == [])
    #expect(line.free == 100)
  }

  private final class Watch: Sendable {
    let isOver = Atomic(false)
    let most = Atomic(0)
  }

  /// Fifty take a minute.
  private static let pictures = Soak.images == nil ? 6 : 50

  /// 20 MP each, which an interlaced PNG takes whole: there is room for one and a half.
  @Test func `holds for many large pictures at once`() async throws {
    let memory = 256 << 20
    let large = TestPictures.locked {
      let black = try! vips(
        "black", ["width": .int(5000), "height": .int(4000), "bands": .int(3)])
      let grey = try! vips(
        "linear",
        ["in": .picture(black), "a": .doubles([1]), "b": .doubles([99]), "uchar": .bool(true)])
      return TestPictures.save(
        grey, "pngsave", ["interlace": .bool(true), "compression": .int(1)])
    }
    let named = NamedDecoder()
    let pool = try DecoderPool(executable: named.path, decoders: 2, memory: memory)
    let watch = Watch()
    let failures = await withTaskGroup(of: DecodeFailure?.self) { group in
      for _ in 0..<Self.pictures {
        group.addTask { await failure(of: large, in: pool) }
      }
      group.addTask {
        while !watch.isOver.load(ordering: .relaxed) {
          watch.most.max(named.privateMemory, ordering: .relaxed)
          try? await Task.sleep(for: .milliseconds(2))  // ends with the others
        }
        return nil
      }
      var failures: [DecodeFailure] = []
      var ended = 0
      for await failure in group {
        if let failure { failures.append(failure) }
        ended += 1
        if ended == Self.pictures { watch.isOver.store(true, ordering: .relaxed) }
      }
      return failures
    }
    #expect(failures.isEmpty)
    let peak = watch.most.load(ordering: .relaxed)
    // One has 60 MiB of pixels; two at once would have 150 MiB with what they are themselves.
    #expect(peak > 60 << 20 && peak < 120 << 20, "\(peak >> 20) MiB")
    await pool.stop()
  }

  @Test func `is kept from a decoder that asks for more than there is`() async throws {
    let pool = try DecoderPool(executable: decoderExecutable, decoders: 1, memory: 128 << 20)
    let large = TestPictures.locked {
      let black = try! vips(
        "black", ["width": .int(5000), "height": .int(4000), "bands": .int(3)])
      return TestPictures.save(black, "pngsave", ["interlace": .bool(true)])
    }
    let failed = await failure(of: large, in: pool)
    #expect(failed?.code == "decoder-memory")
    #expect(failed?.disposition == .giveUp)
    await pool.stop()
  }

  /// libvips holds five canvases of an animated WebP, whichever of its frames is shown.
  @Test func `is estimated high enough for a large animation of which little is shown`()
    async throws
  {
    let file = TestPictures.locked {
      let black = try! vips(
        "black", ["width": .int(4000), "height": .int(4000), "bands": .int(3)])
      let white = try! vips("invert", ["in": .picture(black)])
      let strip = try! vips("arrayjoin", ["in": .pictures([black, white]), "across": .int(1)])
        .withOwnMetadata()
      strip.set("page-height", to: 4000)
      return TestPictures.save(
        strip, "webpsave", ["lossless": .bool(true), "effort": .int(0)])
    }
    let pool = try DecoderPool(executable: decoderExecutable, decoders: 1, memory: 1 << 30)
    var limits = LimitSettings()
    limits.decodeTimeout = .seconds(600)
    limits.maxFrames = 1
    let rendered = try await pool.render(file, limits: limits, [recipe(40, nil, .webp)])
    #expect(try rendered.rendering.variants[0].get().width == 40)
    #expect(rendered.rendering.warnings.contains { $0.hasPrefix("animation reduced") })
    await pool.stop()
  }

  @Test func `is refused to the one variant that takes too much`() async throws {
    let pool = try DecoderPool(executable: decoderExecutable, decoders: 1, memory: 128 << 20)
    let rendered = try await pool.render(
      TestPictures.photo("jpegsave", 100, 80),
      [recipe(50), recipe(8000, nil, .png) { $0.enlarge = true }, recipe(40)])
    let codes = rendered.rendering.variants.map { variant in
      if case .failure(let failure) = variant { failure.code } else { "" }
    }
    #expect(codes == ["", "decoder-memory", ""])
    await pool.stop()
  }

  private func failure(of file: [UInt8], in pool: DecoderPool) async -> DecodeFailure? {
    do throws(DecodeFailure) {
      var limits = LimitSettings()
      limits.decodeTimeout = .seconds(600)  // its subject is not how soon
      _ = try await pool.render(file, limits: limits, [recipe(320, nil, .jpeg)])
      return nil
    } catch {
      return error
    }
  }
}
