import CVips
import DecoderPool
import TestSupport
import Testing
import Vocabulary

@testable import Imaging

/// What a picture should become: decoded whole by libvips, upright, sRGB, resized once by its Lanczos-3.
private struct Reference {
  let size: PixelSize
  let bands: Int
  let pixels: [UInt8]

  init(_ file: [UInt8], _ format: ImageFormat, to size: PixelSize) {
    self = TestPictures.locked {
      file.withUnsafeBytes { bytes in
        let decoded = try! vips(format.loader, ["buffer": .bytes(bytes)])
        let upright = try! vips("autorot", ["in": .picture(decoded)]).inMemory()
        let plain = Reference.flat(try! ColourConversion.toSRGB(upright))
        let resized = try! vips(
          "resize",
          [
            "in": .picture(plain), "scale": .double(Double(size.width) / Double(plain.size.width)),
            "vscale": .double(Double(size.height) / Double(plain.size.height)),
          ]
        ).inMemory()
        return Reference(size: resized.size, bands: resized.bands, pixels: Array(resized.pixels))
      }
    }
  }

  /// On white: what shows of a picture with alpha, which is what is to be alike.
  private static func flat(_ picture: Picture) -> Picture {
    guard picture.hasAlpha else { return picture }
    return try! vips("flatten", ["in": .picture(picture), "background": .doubles([255])])
  }

  private init(size: PixelSize, bands: Int, pixels: [UInt8]) {
    (self.size, self.bands, self.pixels) = (size, bands, pixels)
  }
}

/// The bounds: what no eye tells from the exact resize. An 80 % JPEG of it has 37 dB.
private let (leastDecibels, meanDecibels, leastStructure) = (34.0, 49.0, 0.97)

/// - Returns: of each width, how alike the variant and the exact resize are.
private func likeness(
  of file: [UInt8], _ format: ImageFormat, widths: [Int], name: String
) async throws -> [Int: Likeness] {
  let recipes = widths.map { recipe($0, nil, .png) }
  let rendered = try await sharedPool.render(file, recipes)
  var found: [Int: Likeness] = [:]
  for (index, width) in widths.enumerated() {
    let made = try rendered.rendering.variants[index].get()
    guard made.width == width else { continue }  // too small a picture
    let ours = DecodedPicture(rendered.bytes(index))
    let reference = Reference(file, format, to: ours.size)
    #expect(reference.size == ours.size, "\(name) at \(width)")
    let pixels = ours.onWhite
    guard pixels.count == reference.pixels.count else {
      Issue.record("\(name) has other bands than its reference")
      continue
    }
    found[width] = Likeness(pixels, reference.pixels, width: width, bands: reference.bands)
  }
  return found
}

@Suite(.serialized) struct `A variant's pixels` {
  @Test(arguments: ["jpegsave", "pngsave", "webpsave", "tiffsave"])
  func `are those of the exact resize`(_ saver: String) async throws {
    let file = TestPictures.photo(saver, 1100, 800)
    let format = ImageFormat(rawValue: String(saver.dropLast(4)))!
    for (width, likeness) in try await likeness(
      of: file, format, widths: [500, 200, 60], name: saver)
    {
      #expect(likeness.decibels > leastDecibels, "\(width)")
      #expect(likeness.structure > leastStructure, "\(width): \(likeness.structure)")
    }
  }

  /// Whose first picture libvips reads by itself as we do, and which are larger than their variants.
  ///
  /// All photographs take minutes.
  private static let files = (ImageCorpus.shared?.files ?? []).filter { file in
    let formats = ["jpeg", "png", "webp", "gif", "avif", "heif", "tiff"]
    guard file.expected == "decodes", formats.contains(file.format),
      !file.name.hasPrefix("hostile"),
      let width = file.width, let height = file.height, width >= 96, height >= 96
    else { return false }
    return width * height <= (Soak.images == nil ? 600_000 : 1 << 26)
  }

  /// Files whose pixels are another picture where they are made by another way.
  private static let strange: Set = [
    // The end of its data is missing, and made up.
    "odd/gif-invalid-multiframe.gif"
  ]

  @Test(.enabled(if: ImageCorpus.shared != nil, "there is no corpus beside this checkout"))
  func `are those of the exact resize of the corpus`() async throws {
    var all: [Int: [Double]] = [:]
    var compared: Set<String> = []
    for file in Self.files where !Self.strange.contains(file.name) {
      let bytes = readFile(file.path)!
      guard case .image(let format) = bytes.withUnsafeBytes({ Sniffed($0) }) else { continue }
      let found = try await likeness(of: bytes, format, widths: [320, 96], name: file.name)
      if !found.isEmpty { compared.insert(file.name) }
      for (width, likeness) in found {
        #expect(likeness.decibels > leastDecibels, "\(file) at \(width): \(likeness.decibels) dB")
        #expect(likeness.structure > leastStructure, "\(file) at \(width): \(likeness.structure)")
        if format == .jpeg { all[width, default: []].append(likeness.decibels) }
      }
    }
    #expect(compared.count > 80, "\(compared.count) of \(Self.files.count)")
    for (width, decibels) in all {
      let mean = decibels.reduce(0, +) / Double(decibels.count)
      #expect(mean > meanDecibels, "\(mean) dB on average at \(width), of \(decibels.count)")
    }
  }

  @Test func `of which some are others are told to be`() {
    let plain = [UInt8](repeating: 100, count: 64 * 64)
    #expect(Likeness(plain, plain, width: 64, bands: 1).decibels == 99)
    let noisy = plain.indices.map { UInt8(100 + ($0 * 7919) % 41) }
    let likeness = Likeness(plain, noisy, width: 64, bands: 1)
    #expect(likeness.decibels < 30 && likeness.structure < 0.5)
  }
}
