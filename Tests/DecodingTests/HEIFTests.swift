import CVips
import DecoderPool
import TestSupport
import Testing
import Vocabulary

@testable import Imaging

@Suite struct `A HEIF file` {
  /// 60×40, red on the left, with a quarter turn against the clock among its properties.
  ///
  /// The turn takes the place of `pixi`, the last property of four, which libvips writes and nobody
  /// needs.
  private func turned(turnFirst: Bool) throws -> [UInt8] {
    var file = TestPictures.file(
      "heifsave", 60, 40,
      options: ["compression": .int(Int(VIPS_FOREIGN_HEIF_COMPRESSION_AV1.rawValue))]
    ) { x, _ in x < 30 ? [230, 20, 20] : [20, 20, 230] }
    let property = try #require(file.place(of: "pixi"))
    file.replaceSubrange(property..<property + 5, with: Array("irot".utf8) + [1])
    let associations = try #require(file.place(of: "ipma")) + 15
    #expect(file[associations..<associations + 4].map { $0 & 0x7F } == [1, 2, 3, 4])
    if turnFirst { file.swapAt(associations + 2, associations + 3) }
    return file
  }

  @Test(arguments: [false, true])
  func `is turned wherever the turn stands among its properties`(_ turnFirst: Bool) async throws {
    let file = try turned(turnFirst: turnFirst)
    let rendered = try await sharedPool.render(file, [recipe(20, nil, .png)])
    #expect((rendered.rendering.width, rendered.rendering.height) == (40, 60))
    let picture = DecodedPicture(rendered.bytes())
    #expect(picture.size == PixelSize(20, 30))
    #expect(picture.distance(at: 10, 27, from: [230, 20, 20]) < 30)
    #expect(picture.distance(at: 10, 3, from: [20, 20, 230]) < 30)
  }

  @Test func `that is cut or lies about its lengths is left as it is`() throws {
    let file = try turned(turnFirst: true)
    #expect(file.withUnsafeBytes(HEIFProperties.ordered) == (try turned(turnFirst: false)))
    for length in 0..<file.count {
      let cut = Array(file.prefix(length)).withUnsafeBytes(HEIFProperties.ordered)
      #expect(cut == nil || cut?.count == length)
    }
    for place in 0..<400 {
      for value: UInt8 in [0, 1, 0x7F, 0xFF] {
        var other = file
        other[place] = value
        let ordered = other.withUnsafeBytes(HEIFProperties.ordered)
        #expect(ordered == nil || ordered?.count == other.count)
      }
    }
  }

  @Test func `of a sequence gives its cover, with a warning`() async throws {
    var file = try turned(turnFirst: false)
    let brand = try #require(file.place(of: "ftypavif")) + 4
    file.replaceSubrange(brand..<brand + 4, with: "avis".utf8)
    let rendered = try await sharedPool.render(file, [recipe(20, nil, .png)])
    #expect(rendered.rendering.warnings.contains { $0.hasPrefix("a sequence of pictures") })
  }
}

@Suite struct `A HEIC picture` {
  /// Nil where this libheif does not write it.
  private static let file: [UInt8]? = {
    TestPictures.locked {
      guard Abilities.reads.contains(.heic) else { return nil }
      let red = try! vips("black", ["width": .int(64), "height": .int(48), "bands": .int(3)])
      let bright = try! vips(
        "linear",
        [
          "in": .picture(red), "a": .doubles([1]), "b": .doubles([220, 30, 30]),
          "uchar": .bool(true),
        ])
      let plain = try! vips(
        "copy",
        ["in": .picture(bright), "interpretation": .int(Int(VIPS_INTERPRETATION_sRGB.rawValue))])
      return try? vips(
        "heifsave_buffer", ["in": .picture(plain), "compression": .int(1)], read: { $0.bytes() })
    }
  }()

  @Test(.enabled(if: file != nil, "this libheif has no HEVC"))
  func `is read, told apart from AVIF, and may be forbidden`() async throws {
    let file = try #require(Self.file)
    let rendered = try await sharedPool.render(file, [recipe(32, nil, .png)])
    #expect(rendered.rendering.format == .heic)
    #expect(DecodedPicture(rendered.bytes()).distance(at: 16, 12, from: [220, 30, 30]) < 8)
    var limits = LimitSettings()
    limits.formats.remove(.heic)
    let failure = await #expect(throws: DecodeFailure.self) {
      try await sharedPool.render(file, limits: limits, [recipe(32)])
    }
    #expect(failure?.code == "unsupported-format")
  }

  @Test func `of which there is only the header is truncated, not unsupported`() async throws {
    let header: [UInt8] =
      [0, 0, 0, 24] + Array("ftypheic".utf8) + [0, 0, 0, 0] + Array("mif1heic".utf8)
    let isRead = TestPictures.locked { Abilities.reads.contains(.heic) }
    #expect(
      await failure(header)
        == (isRead ? "corrupt-image" : "unsupported-format"))
    if let file = Self.file {
      for cut in [200, file.count / 2, file.count - 1] {
        #expect(await failure(Array(file.prefix(cut))) == "truncated", "\(cut)")
      }
    }
  }
}

@Suite struct `A JPEG of four components` {
  private func file(transform: UInt8) throws -> [UInt8] {
    var file = TestPictures.locked {
      let red = try! vips(
        "black", ["width": .int(32), "height": .int(32), "bands": .int(4)])
      red.image.pointee.Type = VIPS_INTERPRETATION_CMYK
      return TestPictures.save(red, "jpegsave")
    }
    let marker = try #require(file.place(of: "Adobe"))
    file[marker + 11] = transform
    return file
  }

  @Test(arguments: [0, 2] as [UInt8])
  func `is inks, or colours and black, as its marker says`(_ transform: UInt8) async throws {
    let rendered = try await sharedPool.render(file(transform: transform), [recipe(8)])
    _ = try rendered.rendering.variants[0].get()
  }

  @Test(arguments: [1, 3, 199, 255] as [UInt8])
  func `is refused where its marker says neither`(_ transform: UInt8) async throws {
    let file = try file(transform: transform)
    let failure = await #expect(throws: DecodeFailure.self) {
      try await sharedPool.render(file, [recipe(8)])
    }
    #expect(failure?.code == "corrupt-image")
    #expect(failure?.message.contains("colour transform \(transform)") == true)
  }
}

extension [UInt8] {
  fileprivate func place(of text: String) -> Int? {
    let text = Array(text.utf8)
    return indices.first { self[$0...].starts(with: text) }
  }
}
