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
        let plain = try! ColourConversion.toSRGB(upright)
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
    guard reference.bands == ours.bands, reference.size == ours.size else { continue }
    found[width] = Likeness(ours.allPixels, reference.pixels, width: width, bands: ours.bands)
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

  @Test(.enabled(if: ImageCorpus.shared != nil, "there is no corpus beside this checkout"))
  func `are those of the exact resize of real photographs`() async throws {
    let names = [
      "camera-casio-ex-z3.jpg", "camera-olympus-e-p3.jpg", "camera-samsung-j327-orientation-6.jpg",
      "fashion-caps-cap-01.jpg", "astronomy-RoofBinoculars.jpg", "socks-catsocks.jpg",
      "boutique-watch.jpg",
    ]
    let files = ImageCorpus.shared!.files.filter { names.contains("\($0.name.dropFirst(7))") }
    #expect(files.count == names.count)
    var all: [Int: [Double]] = [:]
    for file in files {
      let found = try await likeness(
        of: readFile(file.path)!, .jpeg, widths: [640, 320, 96], name: file.name)
      for (width, likeness) in found {
        #expect(likeness.decibels > leastDecibels, "\(file) at \(width): \(likeness.decibels) dB")
        #expect(likeness.structure > leastStructure, "\(file) at \(width): \(likeness.structure)")
        all[width, default: []].append(likeness.decibels)
      }
    }
    for (width, decibels) in all {
      let mean = decibels.reduce(0, +) / Double(decibels.count)
      #expect(mean > meanDecibels, "\(mean) dB on average at \(width)")
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
