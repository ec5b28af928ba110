import CVips
import DecoderPool
import TestSupport
import Testing
import Vocabulary

@testable import Imaging

@Suite struct `A variant's file` {
  private let photo = TestPictures.photo("jpegsave", 320, 240)

  private func files(_ recipes: [Recipe], of source: [UInt8]? = nil) async throws -> [[UInt8]] {
    let rendered = try await sharedPool.render(source ?? photo, recipes)
    for variant in rendered.rendering.variants { _ = try variant.get() }
    return rendered.outputs.map(\.bytes)
  }

  /// ITU T.81: the start of a frame in several scans.
  private func isProgressive(_ file: [UInt8]) -> Bool {
    zip(file, file.dropFirst()).contains { $0 == 0xFF && $1 == 0xC2 }
  }

  @Test func `as a JPEG comes in several scans and with tables of its own where it is to be small`()
    async throws
  {
    let made = try await files(
      VariantSpec.Effort.allCases.map { effort in recipe(300, nil, .jpeg) { $0.effort = effort } })
    #expect(made.map(isProgressive) == [false, false, true])
    #expect(made[2].count < made[1].count)
    #expect(DecodedPicture(made[2]).hasPixels(of: DecodedPicture(made[1])))
  }

  @Test func `as a PNG is the same picture for any effort, and smaller for more`() async throws {
    let made = try await files(
      VariantSpec.Effort.allCases.map { effort in recipe(300, nil, .png) { $0.effort = effort } })
    #expect(made[2].count < made[0].count, "\(made.map(\.count))")
    for file in made { #expect(DecodedPicture(file).hasPixels(of: DecodedPicture(made[0]))) }
  }

  @Test(arguments: [(VariantSpec.Format.jpeg, 80), (.webp, 80), (.avif, 50)])
  func `has its format's quality where none is named`(
    _ format: VariantSpec.Format, _ quality: Int
  ) async throws {
    let made = try await files([
      recipe(100, nil, format), recipe(100, nil, format) { $0.quality = quality },
      recipe(100, nil, format) { $0.quality = quality + 15 },
    ])
    #expect(made[0] == made[1] && made[0].count < made[2].count)
  }

  @Test(arguments: [VariantSpec.Format.jpeg, .webp, .avif])
  func `is the best that its budget allows`(_ format: VariantSpec.Format) async throws {
    let ends = try await files([
      recipe(120, nil, format), recipe(120, nil, format) { $0.quality = 1 },
    ])
    let most = (ends[0].count + ends[1].count) / 2
    let made = try await files(
      [recipe(120, nil, format) { $0.maxBytes = most }]
        + (1...79).map { quality in recipe(120, nil, format) { $0.quality = quality } })
    #expect(made[0].count <= most)
    // No better quality would do; an AVIF of a better one may be smaller.
    guard format != .avif else { return }
    let quality = try #require(made.dropFirst().firstIndex(of: made[0]))
    if made.indices.contains(quality + 1) { #expect(made[quality + 1].count > most) }
  }

  @Test func `is lossless as a PNG, and as WebP of a WebP without loss`() async throws {
    let source = TestPictures.file("webpsave", 60, 40, options: ["lossless": .bool(true)]) { x, y in
      [UInt8(x * 4), UInt8(y * 6), UInt8((x * y) & 255)]
    }
    for file in try await files([recipe(60, nil, .png), recipe(60, nil, .webp)], of: source) {
      #expect(DecodedPicture(file).hasPixels(of: DecodedPicture(source)))
    }
  }
}

@Suite struct `A JPEG by arithmetic coding` {
  /// 32×16, the left half red and the right half blue: libjpeg-turbo writes it, libvips does not.
  private static let files = [
    "ffd8ffdb0043000302020302020303030304030304050805050404050a070706080c0a0c0c0b0a"
      + "0b0b0d0e12100d0e110e0b0b1016101113141515150c0f171816141812141514ffdb0043010304"
      + "0405040509050509140d0b0d141414141414141414141414141414141414141414141414141414"
      + "1414141414141414141414141414141414141414141414ffc90011080010002003012200021101"
      + "031101ffcc000a0010100501101105ffda000c03010002110311003f00ff00d1ed86c33f6b2395"
      + "a9613784ffd9",
    "ffd8ffdb0043000302020302020303030304030304050805050404050a070706080c0a0c0c0b0a"
      + "0b0b0d0e12100d0e110e0b0b1016101113141515150c0f171816141812141514ffdb0043010304"
      + "0405040509050509140d0b0d141414141414141414141414141414141414141414141414141414"
      + "1414141414141414141414141414141414141414141414ffca0011080010002003012200021101"
      + "031101ffcc000600100110ffda000c03010002100310000001ff00a3de83dd9ce91a9fbf303eff"
      + "cc00041005ffda0008010100010502c0ffcc00041105ffda0008010301013f01c0ffcc00041105"
      + "ffda0008010201013f01c0ffcc00041005ffda0008010100063f02c0ffcc00041005ffda000801"
      + "0100013f21c0ffda000c03010002000300000010ff00e0ffcc00041105ffda0008010301013f10"
      + "c0ffcc00041105ffda0008010201013f10c0ffcc00041005ffda0008010100013f10c0ffd9",
  ]

  @Test(arguments: files.indices)
  func `is read as any other, and told when it is cut`(_ index: Int) async throws {
    let digits = Array(Self.files[index])
    let file = stride(from: 0, to: digits.count, by: 2).map {
      UInt8(digits[$0].hexDigitValue! << 4 | digits[$0 + 1].hexDigitValue!)
    }
    let rendered = try await sharedPool.render(file, [recipe(32, nil, .png), recipe(8, nil, .png)])
    #expect(rendered.rendering.warnings.isEmpty)
    for (place, width) in [32, 8].enumerated() {
      let picture = DecodedPicture(rendered.bytes(place))
      #expect(picture.distance(at: width / 8, 1, from: [220, 30, 30]) < 12)
      #expect(picture.distance(at: width - width / 8, 1, from: [20, 30, 200]) < 12)
    }
    #expect(await failure(file.dropLast(12)) == "truncated")
  }
}
