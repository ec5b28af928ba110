import DecoderPool
import Glibc
import Imaging
import TestSupport
import Testing
import Vocabulary

@Suite(
  .serialized, .enabled(if: ImageCorpus.shared != nil, "there is no corpus beside this checkout"))
struct `The corpus` {
  /// Its subject is what is made, not how soon: this may be an unoptimised build on a busy machine.
  private static let limits: LimitSettings = {
    var limits = LimitSettings()
    limits.decodeTimeout = .seconds(600)
    return limits
  }()
  private static let recipes = [recipe(320, 320), recipe(96, 96) { $0.fit = .cover }]

  /// How one file went.
  private enum End {
    case made(Rendered)
    case failed(DecodeFailure)
  }

  private func run(
    _ files: [ImageCorpus.File], _ check: (ImageCorpus.File, End) -> Void
  ) async throws {
    let pool = try DecoderPool(executable: decoderExecutable, decoders: 2, memory: 2 << 30)
    await withTaskGroup(of: (ImageCorpus.File, End).self) { group in
      var rest = files[...]
      for _ in 0..<3 { if let file = rest.popFirst() { add(file, pool, to: &group) } }
      for await (file, end) in group {
        check(file, end)
        if let file = rest.popFirst() { add(file, pool, to: &group) }
      }
    }
    await pool.stop()
  }

  private func add(
    _ file: ImageCorpus.File, _ pool: DecoderPool,
    to group: inout TaskGroup<(ImageCorpus.File, End)>
  ) {
    group.addTask {
      do throws(DecodeFailure) {
        return (
          file,
          .made(
            try await pool.render(
              readFile(file.path)!, limits: Self.limits, Self.recipes))
        )
      } catch {
        return (file, .failed(error))
      }
    }
  }

  /// Whether the file is of a kind that we take.
  private func isOurs(_ file: ImageCorpus.File) -> Bool {
    ["jpeg", "png", "webp", "gif", "avif", "heif", "tiff"].contains(file.format)
  }

  @Test(arguments: ["photos", "odd"])
  func `does what its index says`(_ folder: String) async throws {
    // A sequence, whose cover is shown; and two whose turn stands in front of their size.
    let better = [
      "odd/avif-animated.avif", "odd/avif-kimono-rotate90.avif",
      "odd/avif-kimono-mirror-vertical-rotate270-crop.avif",
    ]
    try await run(ImageCorpus.shared!.files(in: folder)) { file, end in
      switch end {
      case .made(let rendered):
        #expect(file.expected == "decodes" || better.contains(file.name), "\(file)")
        checkVariants(of: file, rendered)
      case .failed(let failure):
        let isRefused = ["unsupported-format", "not-an-image"].contains(failure.code)
        #expect(
          file.expected == "fails" || (!isOurs(file) && isRefused),
          "\(file): \(failure.code): \(failure.message)")
        #expect(!failure.code.hasPrefix("decoder-"), "\(file): \(failure.message)")
        if file.kind == "truncated" {
          #expect(failure.code == "truncated", "\(file): \(failure.code): \(failure.message)")
        }
      }
    }
  }

  private func checkVariants(of file: ImageCorpus.File, _ rendered: Rendered) {
    let rendering = rendered.rendering
    let size = PixelSize(rendering.width, rendering.height)
    // Its size in the index is the one before it is cropped.
    let isCropped = file.name.hasSuffix("crop.avif")
    if let width = file.width, let height = file.height, !file.kind.contains("orientation"),
      !isCropped
    {
      let stored = PixelSize(width, height)
      #expect(size == stored || size == stored.transposed, "\(file): \(size)")
    }
    // Its note speaks of another size than the file's header.
    let isMisnoted = file.name == "odd/jpeg-exif-orientation-6-progressive.jpg"
    if !isMisnoted, let upright = file.note.components(after: "upright is ") {
      #expect("\(rendering.width)x\(rendering.height)" == upright, "\(file)")
    }
    for (index, variant) in rendering.variants.enumerated() {
      guard case .success(let made) = variant else {
        Issue.record("\(file): \(variant)")
        continue
      }
      let frame = Layout(source: size, recipe: Self.recipes[index]).frame
      #expect(PixelSize(made.width, made.height) == frame, "\(file)")
      let picture = DecodedPicture(rendered.bytes(index))
      #expect(picture.size == frame, "\(file)")
      let carried = picture.fields.filter { $0.hasPrefix("exif-") || $0.hasSuffix("-data") }
      #expect(carried.isEmpty, "\(file) as \(made.format)")
    }
  }

  @Test func `harms no pool with its hostile files`() async throws {
    try await run(ImageCorpus.shared!.files(in: "hostile")) { file, end in
      switch end {
      case .made:
        #expect(file.expected != "unsafe", "\(file)")
        #expect(file.name != "hostile/jpeg-suite-adobe199-cmyk.jpg")
      case .failed(let failure):
        #expect(failure.disposition == .giveUp, "\(file): \(failure.message)")
        #expect(failure.code != "decoder-crashed", "\(file): \(failure.message)")
        #expect(failure.code != "decoder-timeout", "\(file): \(failure.message)")
      }
    }
    var use = rusage()
    getrusage(__rusage_who_t(RUSAGE_CHILDREN.rawValue), &use)
    #expect(use.ru_maxrss < 1 << 20, "a decoder took \(use.ru_maxrss) KiB")
  }
}

extension String {
  /// The word after a phrase.
  fileprivate func components(after phrase: String) -> String? {
    guard let range = firstRange(of: phrase) else { return nil }
    return String(self[range.upperBound...].prefix { $0 != " " && $0 != "," && $0 != ";" })
  }
}
