import CVips
import DecoderPool
import TestSupport
import Testing
import Vocabulary

@testable import Imaging

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

  @Test func `becomes its first frame where its pixels are over the limits, never a strip`()
    async throws
  {
    var limits = LimitSettings()
    limits.maxPixels = 40 * 30 * 5 - 1
    for saver in ["gifsave", "webpsave"] {
      let rendered = try await sharedPool.render(
        file(saver, frames: 5), limits: limits, [recipe(20, nil, .webp), recipe(20, nil, .gif)])
      for index in 0..<2 {
        let picture = DecodedPicture(rendered.bytes(index), allFrames: true)
        #expect(picture.size == PixelSize(20, 15))
      }
      #expect(rendered.rendering.frames == 5)
      #expect(rendered.rendering.warnings.contains { $0.hasPrefix("animation reduced") })
    }
  }

  @Test func `is turned upright, frame by frame`() async throws {
    let file = TestPictures.file(
      "webpsave", 40, 60, options: ["lossless": .bool(true)],
      metadata: { picture in
        picture.set("page-height", to: 30)
        picture.set("delay", to: [100, 100])
        picture.set("orientation", to: 6)
      }
    ) { x, y in x < 20 ? [250, 0, 0] : y < 30 ? [0, 250, 0] : [0, 0, 250] }
    let rendered = try await sharedPool.render(
      file, [recipe(15, nil, .webp) { $0.metadata = .all }, recipe(15, nil, .gif)])
    #expect((rendered.rendering.width, rendered.rendering.height) == (30, 40))
    for index in 0..<2 {
      let picture = DecodedPicture(rendered.bytes(index), allFrames: true)
      #expect(picture.size == PixelSize(15, 40) && picture.orientation == 1)
      for (y, colour) in [
        (5, [250, 0, 0]), (15, [0, 250, 0]), (25, [250, 0, 0]), (35, [0, 0, 250]),
      ] {
        #expect(picture.distance(at: 7, y, from: colour) < 40, "\(index) at \(y)")
      }
    }
  }

  /// Red all over; then a green square in its middle, disposed of as asked; then a blue one in a corner.
  private func disposing(_ disposal: UInt8) -> [UInt8] {
    GIFFile(
      width: 48, height: 48, palette: [[250, 0, 0], [0, 250, 0], [0, 0, 250]], loop: nil,
      frames: [
        .init(width: 48, height: 48, colour: 0),
        .init(
          x: 16, y: 16, width: 16, height: 16, disposal: disposal, transparent: 3, colour: 1),
        .init(width: 16, height: 16, colour: 2),
      ]
    ).bytes
  }

  @Test(
    arguments: [(0, [0, 250, 0]), (1, [0, 250, 0]), (2, nil), (3, [250, 0, 0])]
      as [(UInt8, [Int]?)], [VariantSpec.Format.gif, .webp])
  func `shows what is left of each frame`(
    _ row: (disposal: UInt8, middle: [Int]?), _ format: VariantSpec.Format
  ) async throws {
    let rendered = try await sharedPool.render(
      disposing(row.disposal), [recipe(48, nil, format), recipe(24, nil, format)])
    for (index, side) in [48, 24].enumerated() {
      let picture = DecodedPicture(rendered.bytes(index), allFrames: true)
      #expect(picture.size == PixelSize(side, side * 3))
      let (middle, third) = (side / 2, side * 2)
      func shows(_ x: Int, _ y: Int, _ colour: [Int], sourceLine: Int = #line) {
        let found = picture.rgba(x, y)
        let distance = zip(found, colour + [255]).map { abs($0 - $1) }.max()!
        #expect(distance < 40, "\(found) at \(x), \(y), not \(colour); line \(sourceLine)")
      }
      shows(middle, middle, [250, 0, 0])
      shows(middle, side + middle, [0, 250, 0])
      shows(2, side + 2, [250, 0, 0])
      shows(2, third + 2, [0, 0, 250])
      shows(side - 2, third + side - 2, [250, 0, 0])
      if let colour = row.middle {
        shows(middle, third + middle, colour)
      } else {
        #expect(picture.rgba(middle, third + middle)[3] == 0)
      }
    }
  }

  /// How often it is shown, 0 for ever, and for how long each frame is, in milliseconds: by the bytes.
  private func times(_ file: [UInt8]) -> (plays: Int, delays: [Int]) {
    var delays: [Int] = []
    func number(_ at: Int, _ bytes: Int) -> Int {
      (0..<bytes).reduce(0) { $0 | Int(file[at + $1]) << (8 * $1) }
    }
    guard file.starts(with: "GIF".utf8) else {
      var plays = 0
      var at = 12
      while at + 8 < file.count {
        let name = String(decoding: file[at..<at + 4], as: UTF8.self)
        if name == "ANIM" { plays = number(at + 12, 2) }
        if name == "ANMF" { delays.append(number(at + 20, 3)) }
        let length = number(at + 4, 4)
        at += 8 + length + length % 2
      }
      return (plays, delays)
    }
    var plays = 1
    for at in 0..<file.count - 8 {
      if file[at...].starts(with: "NETSCAPE2.0".utf8) {
        // Repetitions; each player shows it once more.
        plays = number(at + 13, 2) == 0 ? 0 : number(at + 13, 2) + 1
      }
      if file[at...].starts(with: [0x21, 0xF9, 4]) { delays.append(number(at + 4, 2) * 10) }
    }
    return (plays, delays)
  }

  @Test(arguments: [nil, 0, 1, 2, 5] as [Int?], [VariantSpec.Format.gif, .webp])
  func `is played as often and as fast as before`(
    _ loop: Int?, _ format: VariantSpec.Format
  ) async throws {
    let file = GIFFile(
      width: 20, height: 20, palette: [[250, 0, 0], [0, 250, 0]], loop: loop,
      frames: [2, 10, 250].enumerated().map { index, delay in
        .init(width: 20, height: 20, delay: delay, colour: UInt8(index % 2))
      }
    ).bytes
    let rendered = try await sharedPool.render(file, [recipe(10, nil, format)])
    let (before, after) = (times(file), times(rendered.bytes()))
    #expect(before.delays == [20, 100, 2500])
    #expect(after.delays == before.delays)
    #expect(after.plays == before.plays)
  }

  /// Two hundred and fifty frames that are each a job of their own.
  @Test func `that takes too long is that image's failure alone`() async throws {
    let frames = (0..<250).map { index in
      GIFFile.Frame(width: 120, height: 120, colour: UInt8(index % 4))
    }
    let file = GIFFile(
      width: 120, height: 120, palette: [[250, 0, 0], [0, 250, 0], [0, 0, 250]], loop: 0,
      frames: frames
    ).bytes
    let pool = try DecoderPool(executable: decoderExecutable, decoders: 2, memory: 2 << 30)
    var limits = LimitSettings()
    limits.decodeTimeout = .milliseconds(20)
    async let slow = code(of: file, limits, [recipe(100, nil, .webp) { $0.effort = .small }], pool)
    let plain = TestPictures.photo("jpegsave", 100, 80)
    for _ in 0..<20 {
      #expect(await code(of: plain, LimitSettings(), [recipe(50)], pool) == nil)
    }
    #expect(await slow == "decoder-timeout")
    await pool.stop()
  }

  private func code(
    of file: [UInt8], _ limits: LimitSettings, _ recipes: [Recipe], _ pool: DecoderPool
  ) async -> String? {
    do throws(DecodeFailure) {
      _ = try await pool.render(file, limits: limits, recipes)
      return nil
    } catch {
      return error.code
    }
  }
}
