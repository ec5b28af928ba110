import CVips
import DecoderPool
import Glibc
import TestSupport
import Testing
import Vocabulary

@testable import Imaging

@Suite struct `A colour profile` {
  /// One of libvips' own.
  private func builtIn(_ name: String) -> [UInt8] {
    TestPictures.locked {
      try! vips("profile_load", ["name": .text(name)], read: { $0.bytes("profile") })
    }
  }

  private func isSRGB(_ profile: [UInt8]) -> Bool? {
    profile.withUnsafeBytes { ICCProfile($0)?.isSRGB }
  }

  /// A matrix profile with one tone curve for all channels.
  private func matrixProfile(
    red: [Double] = [0.43607, 0.22249, 0.01392], curve: [UInt8]
  ) -> [UInt8] {
    func number(_ value: Int) -> [UInt8] {
      (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
    }
    func colour(_ xyz: [Double]) -> [UInt8] {
      Array("XYZ ".utf8) + number(0) + xyz.flatMap { number(Int(($0 * 65_536).rounded())) }
    }
    let tags: [(String, [UInt8])] = [
      ("rXYZ", colour(red)), ("gXYZ", colour([0.38515, 0.71687, 0.09708])),
      ("bXYZ", colour([0.14307, 0.06061, 0.71410])), ("rTRC", curve), ("gTRC", curve),
      ("bTRC", curve),
    ]
    var header = [UInt8](repeating: 0, count: 128)
    header.replaceSubrange(16..<20, with: "RGB ".utf8)
    header.replaceSubrange(36..<40, with: "acsp".utf8)
    var table = number(tags.count)
    var data: [UInt8] = []
    for (name, bytes) in tags {
      table += Array(name.utf8) + number(132 + tags.count * 12 + data.count) + number(bytes.count)
      data += bytes
    }
    return header + table + data
  }

  private func table(of count: Int, _ light: (Double) -> Double) -> [UInt8] {
    Array("curv".utf8) + [0, 0, 0, 0, 0, 0, UInt8(count >> 8), UInt8(count & 255)]
      + (0..<count).flatMap { index -> [UInt8] in
        let value = Int((light(Double(index) / Double(count - 1)) * 65_535).rounded())
        return [UInt8(value >> 8), UInt8(value & 255)]
      }
  }

  private func srgbLight(_ stored: Double) -> Double {
    stored <= 0.04045 ? stored / 12.92 : pow((stored + 0.055) / 1.055, 2.4)
  }

  @Test func `of sRGB is known, in each form`() {
    #expect(isSRGB(builtIn("srgb")) == true)
    #expect(isSRGB(matrixProfile(curve: table(of: 1024, srgbLight))) == true)
    // g, a, b, c and d of sRGB as 16.16 bits.
    let parameters: [UInt8] =
      Array("para".utf8) + [0, 0, 0, 0, 0, 3, 0, 0]
      + [0, 2, 0x66, 0x66, 0, 0, 0xF2, 0xA7, 0, 0, 0x0D, 0x59, 0, 0, 0x13, 0xD0, 0, 0, 0x0A, 0x5B]
    #expect(isSRGB(matrixProfile(curve: parameters)) == true)
  }

  @Test func `of anything else is not taken for it`() {
    #expect(isSRGB(builtIn("p3")) == false)
    #expect(isSRGB(builtIn("cmyk")) == false)
    #expect(isSRGB(matrixProfile(curve: table(of: 1024) { pow($0, 2.2) })) == false)
    #expect(
      isSRGB(
        matrixProfile(red: [0.51512, 0.24120, -0.00105], curve: table(of: 1024, srgbLight)))
        == false)
  }

  @Test func `that is cut or lies about its lengths is not taken for it`() {
    let whole = matrixProfile(curve: table(of: 1024, srgbLight))
    for length in stride(from: 0, to: whole.count, by: 7) {
      #expect(isSRGB(Array(whole.prefix(length))) != true)
    }
    var lying = whole
    lying.replaceSubrange(128..<132, with: [0xFF, 0xFF, 0xFF, 0xFF])
    _ = isSRGB(lying)
    for place in 128..<204 {
      var broken = whole
      broken[place] ^= 0xFF
      _ = isSRGB(broken)
    }
  }

  @Test func `of sRGB leaves colours as they are`() async throws {
    let profile = builtIn("srgb")
    let file = TestPictures.file(
      "pngsave", 40, 40,
      metadata: {
        vips_image_set_blob_copy($0.image, "icc-profile-data", profile, profile.count)
      }
    ) { x, y in [UInt8(x / 20 * 90), UInt8(y / 20 * 200), 77] }
    let rendered = try await sharedPool.render(file, [recipe(20, nil, .png)])
    let picture = DecodedPicture(rendered.bytes())
    #expect(picture.pixel(2, 2) == [0, 0, 77] && picture.pixel(17, 17) == [90, 200, 77])
    #expect(rendered.rendering.warnings.isEmpty)
  }
}
