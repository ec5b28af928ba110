import DecoderPool
import Glibc
import TestSupport
import Testing
import Vocabulary

@testable import Imaging

@Suite struct `A PNG` {
  struct Row: CustomTestStringConvertible {
    var kind: PNGFile.Kind
    var depth: Int
    var isInterlaced: Bool
    /// Whether one of the two colours is made invisible by a `tRNS` chunk.
    var hidesLeft: Bool

    var testDescription: String {
      "\(kind) of \(depth) bits\(isInterlaced ? ", interlaced" : "")\(hidesLeft ? ", tRNS" : "")"
    }
  }

  static let rows = PNGFile.Kind.allCases.flatMap { kind in
    kind.depths.flatMap { depth in
      [false, true].flatMap { isInterlaced in
        [false, true].compactMap { hidesLeft -> Row? in
          let hasAlpha = kind == .greyAlpha || kind == .rgba
          return hasAlpha && hidesLeft
            ? nil : Row(kind: kind, depth: depth, isInterlaced: isInterlaced, hidesLeft: hidesLeft)
        }
      }
    }
  }

  /// Two halves, each of one colour, as samples of the row's depth and as what they show.
  private func halves(
    _ row: Row
  ) -> (samples: [[Int]], shown: [[Int]], chunks: [(String, [UInt8])]) {
    let most = (1 << row.depth) - 1
    /// Half of the range where there are so many steps; else the end of it.
    let middle = row.depth == 1 ? most : most / 2
    func shown(_ sample: Int) -> Int { (sample * 255 + most / 2) / most }
    func key(_ samples: [Int]) -> [UInt8] { samples.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] } }
    switch row.kind {
    case .grey:
      return (
        [[middle], [0]], [[shown(middle), shown(middle), shown(middle)], [0, 0, 0]],
        row.hidesLeft ? [("tRNS", key([middle]))] : []
      )
    case .rgb:
      let samples = [[most, middle, 0], [0, middle, most]]
      return (
        samples, samples.map { $0.map(shown) },
        row.hidesLeft ? [("tRNS", key(samples[0]))] : []
      )
    case .palette:
      let palette: [[UInt8]] = [[200, 40, 90], [20, 120, 220]]
      return (
        [[0], [1]], palette.map { $0.map(Int.init) },
        [("PLTE", palette.flatMap { $0 })] + (row.hidesLeft ? [("tRNS", [0])] : [])
      )
    case .greyAlpha:
      let samples = [[middle, 0], [middle, most]]
      return (samples, samples.map { Array(repeating: shown($0[0]), count: 3) }, [])
    case .rgba:
      let samples = [[most, 0, middle, 0], [0, most, middle, most]]
      return (samples, samples.map { $0.prefix(3).map(shown) }, [])
    }
  }

  private func file(_ row: Row) -> (bytes: [UInt8], shown: [[Int]]) {
    let (samples, shown, chunks) = halves(row)
    let png = PNGFile(
      kind: row.kind, depth: row.depth, isInterlaced: row.isInterlaced, width: 42, height: 31,
      chunks: chunks.map { (name: $0.0, data: $0.1) })
    return (png.bytes { x, _ in samples[x < 21 ? 0 : 1] }, shown)
  }

  @Test(arguments: rows)
  func `shows its colours, of any depth and kind`(_ row: Row) async throws {
    let (bytes, shown) = file(row)
    let isLeftHidden = row.hidesLeft || row.kind == .greyAlpha || row.kind == .rgba
    let rendered = try await sharedPool.render(
      bytes,
      [recipe(42, nil, .png), recipe(21, nil, .png), recipe(42, nil, .jpeg) { $0.quality = 95 }])
    #expect(rendered.rendering.warnings.isEmpty)
    for (index, width) in [42, 21].enumerated() {
      let picture = DecodedPicture(rendered.bytes(index))
      #expect(picture.size == PixelSize(width, index == 0 ? 31 : 16))
      let (left, right) = (picture.rgba(width / 6, 8), picture.rgba(width - width / 6, 8))
      if isLeftHidden {
        #expect(left[3] == 0)
      } else {
        #expect(zip(left, shown[0] + [255]).allSatisfy { abs($0 - $1) <= 1 }, "\(left)")
      }
      #expect(zip(right, shown[1] + [255]).allSatisfy { abs($0 - $1) <= 1 }, "\(right)")
    }
    // What is invisible is the background's where there is no alpha.
    let flat = DecodedPicture(rendered.bytes(2))
    let expected = isLeftHidden ? [255, 255, 255] : shown[0]
    #expect(zip(flat.rgba(4, 16), expected).allSatisfy { abs($0 - $1) < 8 }, "\(flat.rgba(4, 16))")
  }

  /// An `iCCP` chunk: the name, a zero, the method, and the profile compressed.
  private func withProfile(_ compressed: [UInt8]) -> [UInt8] {
    PNGFile(
      kind: .rgb, depth: 8, width: 40, height: 30,
      chunks: [("iCCP", Array("profile".utf8) + [0, 0] + compressed)]
    ).bytes { x, _ in x < 20 ? [200, 40, 40] : [40, 40, 200] }
  }

  private static let profile = TestPictures.locked {
    try! vips("profile_load", ["name": .text("p3")], read: { $0.bytes("profile") })
  }

  static let brokenProfiles: [(name: String, chunk: [UInt8])] = [
    ("cut in its compressed bytes", PlainPNG.zlib(profile).dropLast(profile.count / 2)),
    ("cut in itself", PlainPNG.zlib(profile.dropLast(profile.count / 2))),
    ("empty", PlainPNG.zlib([])), ("no bytes at all", []),
    ("of zeros", PlainPNG.zlib([UInt8](repeating: 0, count: 4096))),
    ("of 10 MB of zeros", PlainPNG.zlib([UInt8](repeating: 0, count: 10 << 20))),
  ]

  @Test(arguments: brokenProfiles.indices)
  func `whose profile is broken is shown without it, with a warning`(_ index: Int) async throws {
    let (name, chunk) = Self.brokenProfiles[index]
    let rendered = try await sharedPool.render(withProfile(chunk), [recipe(40, nil, .png)])
    let picture = DecodedPicture(rendered.bytes())
    #expect(picture.distance(at: 5, 5, from: [200, 40, 40]) <= 1, "\(name)")
    #expect(picture.distance(at: 35, 5, from: [40, 40, 200]) <= 1, "\(name)")
    #expect(!rendered.rendering.warnings.isEmpty, "\(name)")
  }

  @Test(arguments: [8, 16])
  func `of a wider gamut is brought to sRGB by its profile`(_ depth: Int) async throws {
    let most = (1 << depth) - 1
    let file = PNGFile(
      kind: .rgb, depth: depth, width: 40, height: 30,
      chunks: [("iCCP", Array("p".utf8) + [0, 0] + PlainPNG.zlib(Self.profile))]
    ).bytes { x, _ in
      x < 20
        ? [most * 200 / 255, most * 80 / 255, most * 80 / 255] : [most / 2, most / 2, most / 2]
    }
    let rendered = try await sharedPool.render(file, [recipe(40, nil, .png)])
    let picture = DecodedPicture(rendered.bytes())
    // Display P3's (200, 80, 80) by its matrix and sRGB's curve; its greys are sRGB's.
    #expect(picture.distance(at: 5, 5, from: [216, 71, 76]) <= 4, "\(picture.pixel(5, 5))")
    #expect(picture.distance(at: 35, 5, from: [127, 127, 127]) <= 1)
    #expect(rendered.rendering.warnings.isEmpty)
  }

  @Test(arguments: [1, 3])
  func `of 16 bits has its whole ramp, from black to white`(_ bands: Int) async throws {
    let file = PNGFile(kind: bands == 1 ? .grey : .rgb, depth: 16, width: 256, height: 16).bytes {
      x, _ in Array(repeating: x * 257, count: bands)
    }
    let picture = try await render(file, recipe(256, nil, .png))
    #expect(picture.bands == bands)
    for x in 0..<256 {
      #expect(picture.distance(at: x, 8, from: Array(repeating: x, count: bands)) <= 1, "\(x)")
    }
  }

  @Test(arguments: [PNGFile.Kind.greyAlpha, .rgba], [false, true])
  func `of 16 bits has its alpha scaled, not cut, with a profile or without`(
    _ kind: PNGFile.Kind, _ hasProfile: Bool
  ) async throws {
    let name = kind == .greyAlpha ? "grey" : "p3"
    let profile = hasProfile && kind == .rgba ? Self.profile : Self.greyProfile
    let chunks = [(name: "iCCP", data: Array(name.utf8) + [0, 0] + PlainPNG.zlib(profile))]
    let file = PNGFile(
      kind: kind, depth: 16, width: 256, height: 16, chunks: hasProfile ? chunks : []
    ).bytes { x, _ in Array(repeating: 30_000, count: kind.samples - 1) + [x * 257] }
    let rendered = try await sharedPool.render(file, [recipe(256, nil, .png)])
    #expect(rendered.rendering.warnings.isEmpty)
    let picture = DecodedPicture(rendered.bytes())
    for x in 0..<256 {
      #expect(abs(picture.rgba(x, 8)[3] - x) <= 1, "\(picture.rgba(x, 8)) at \(x)")
    }
    #expect(abs(picture.rgba(255, 8)[0] - 117) < 6)
  }

  /// Of grey with a gamma of 2.2: the least that a profile needs.
  private static let greyProfile: [UInt8] = {
    let white = Array("XYZ ".utf8) + [0, 0, 0, 0, 0, 0, 0xF6, 0xD6, 0, 1, 0, 0, 0, 0, 0xD3, 0x2D]
    let curve = Array("curv".utf8) + [0, 0, 0, 0, 0, 0, 0, 1, 2, 0x33, 0, 0]
    let text = Array("text".utf8) + [0, 0, 0, 0] + Array("grey".utf8)
    let tags: [(String, [UInt8])] = [
      ("wtpt", white), ("kTRC", curve), ("cprt", text), ("desc", text),
    ]
    var table = PlainPNG.bigEndian(tags.count)
    var data: [UInt8] = []
    for (name, bytes) in tags {
      table += Array(name.utf8) + PlainPNG.bigEndian(132 + tags.count * 12 + data.count)
      table += PlainPNG.bigEndian(bytes.count)
      data += bytes
    }
    var header = [UInt8](repeating: 0, count: 128)
    header.replaceSubrange(0..<4, with: PlainPNG.bigEndian(128 + table.count + data.count))
    header.replaceSubrange(8..<12, with: [2, 0x10, 0, 0])
    header.replaceSubrange(12..<16, with: "mntr".utf8)
    header.replaceSubrange(16..<20, with: "GRAY".utf8)
    header.replaceSubrange(20..<24, with: "XYZ ".utf8)
    header.replaceSubrange(36..<40, with: "acsp".utf8)
    header.replaceSubrange(68..<80, with: [0, 0, 0xF6, 0xD6, 0, 1, 0, 0, 0, 0, 0xD3, 0x2D])
    return header + table + data
  }()
}
