import CVips
import Vocabulary

extension Imaging {
  /// Decodes and encodes a tiny picture of each format, by the way that originals take.
  ///
  /// libvips, its codecs and the dynamic linker do at first use what a confined process may not: they
  /// load modules, read tables, start threads. All of it must have happened before.
  package static func warmUp() throws(ImagingFailure) {
    // One by all ways out, the others by one.
    for (index, file) in try sampleFiles().enumerated() {
      try file.withUnsafeBufferPointer { file throws(ImagingFailure) in
        try warmUp(
          with: UnsafeRawBufferPointer(file), index == 0 ? recipes : Array(recipes.prefix(1)))
      }
    }
  }

  private static func warmUp(
    with file: UnsafeRawBufferPointer, _ recipes: [Recipe]
  ) throws(ImagingFailure) {
    var failure: ImagingFailure?
    let rendering = Rendering(
      recipes: recipes,
      limits: ImagingLimits(
        maxPixels: 1 << 20, maxFrames: 16, maxMemory: 1 << 30,
        formats: Set(ImageFormat.allCases)), admit: { _ in },
      opened: { _ in }, seen: { _ in },
      finished: { _, result in
        if case .failure(let reason) = result { failure = failure ?? reason }
      })
    _ = try rendering.run(file)
    if let failure { throw failure }
  }

  /// Every format, crop, padding and effort at least once.
  private static var recipes: [Recipe] {
    var recipes: [Recipe] = []
    let possible = Abilities.encoders.byFormat
    let formats = VariantSpec.Format.allCases.filter {
      $0.imageFormat.map { possible[$0] != nil } ?? true
    }
    for (index, format) in formats.enumerated() {
      var spec = VariantSpec(name: "warm", width: 12 - index, height: 9)
      spec.format = format
      spec.fit = VariantSpec.Fit.allCases[index % VariantSpec.Fit.allCases.count]
      spec.metadata = VariantSpec.Metadata.allCases[index % 4]
      recipes.append(Recipe(of: spec, ratio: 1))
    }
    // Entropy's way needs nothing besides, and 60 MB.
    var spec = VariantSpec(name: "warm", width: 8, height: 20)
    spec.format = .jpeg
    spec.fit = .cover
    spec.position = .attention
    spec.effort = .small
    return recipes + [Recipe(of: spec, ratio: 1)]
  }

  private static func sampleFiles() throws(ImagingFailure) -> [[UInt8]] {
    do throws(VipsFailure) {
      let colour = try sample(bands: 3, VIPS_INTERPRETATION_sRGB)
      let transparent = try sample(bands: 4, VIPS_INTERPRETATION_sRGB)
      let tiffDeflate = Int(VIPS_FOREIGN_TIFF_COMPRESSION_DEFLATE.rawValue)
      let av1 = Int(VIPS_FOREIGN_HEIF_COMPRESSION_AV1.rawValue)
      // HEIC's reader is AVIF's with another codec inside, which needs no warming; its writer would
      // leave a pool of threads behind.
      var files = [
        try save(transparent, "pngsave_buffer", ["interlace": .bool(true)]),
        try save(colour, "jpegsave_buffer", ["interlace": .bool(true)]),
        try save(transparent, "webpsave_buffer", [:]),
        try save(transparent, "gifsave_buffer", [:]),
        try save(colour, "tiffsave_buffer", ["compression": .int(tiffDeflate)]),
      ]
      if Abilities.writesAVIF, Abilities.reads.contains(.avif) {
        files.append(try save(transparent, "heifsave_buffer", ["compression": .int(av1)]))
      }
      return files + (try OptionalFormats.samples())
    } catch {
      throw ImagingFailure(writing: error)
    }
  }

  private static func save(
    _ picture: Picture, _ saver: String, _ options: [String: OperationArgument]
  ) throws(VipsFailure) -> [UInt8] {
    try vips(saver, options.merging(["in": .picture(picture)]) { $1 }, read: { $0.bytes() })
  }

  private static func sample(
    bands: Int, _ interpretation: VipsInterpretation
  ) throws(VipsFailure) -> Picture {
    let black = try vips(
      "black", ["width": .int(64), "height": .int(48), "bands": .int(bands)])
    let grey = try vips(
      "linear",
      ["in": .picture(black), "a": .doubles([1]), "b": .doubles([99]), "uchar": .bool(true)])
    return try vips(
      "copy",
      ["in": .picture(grey), "interpretation": .int(Int(interpretation.rawValue))]
    ).inMemory()
  }
}
