import CVips
import Vocabulary

/// What the header says of an image that is about to be decoded.
package struct OpenedPicture: Sendable, Hashable {
  package var format: ImageFormat
  /// Upright.
  package var size: PixelSize
  /// Of an animation; 1 for everything else.
  package var frames: Int
}

/// A variant's file.
package struct EncodedVariant: Sendable, Hashable {
  package var format: ImageFormat
  /// Of one frame.
  package var size: PixelSize
  /// `Layout.isCapped`.
  package var isCapped: Bool
  package var bytes: [UInt8]
}

/// One original on its way to its variants.
package struct Rendering {
  let recipes: [Recipe]
  let limits: ImagingLimits
  private let admission: Admission
  private let opened: (OpenedPicture) -> Void
  private let seen: (Placeholder) -> Void
  private let finished: (Int, Result<EncodedVariant, ImagingFailure>) -> Void

  /// - Parameters:
  ///   - admit: called before anything is decoded, once at most; returns when there is so much memory.
  ///   - opened: called once or more, with equal values, before `finished`.
  ///   - seen: called after `opened`, once where something could be decoded.
  ///   - finished: called once for each recipe, by its index, in no particular order.
  package init(
    recipes: [Recipe], limits: ImagingLimits, admit: @escaping (ImagingNeed) -> Void,
    opened: @escaping (OpenedPicture) -> Void,
    seen: @escaping (Placeholder) -> Void,
    finished: @escaping (Int, Result<EncodedVariant, ImagingFailure>) -> Void
  ) {
    self.recipes = recipes
    self.limits = limits
    admission = Admission(limits: limits, admit: admit)
    self.opened = opened
    self.seen = seen
    self.finished = finished
  }

  /// - Parameter file: stays as it is until this returns.
  /// - Returns: warnings.
  /// - Throws: where nothing can be made of the file; `finished` was not called then.
  package func run(_ file: UnsafeRawBufferPointer) throws(ImagingFailure) -> [String] {
    vips_error_clear()
    _ = WarningLog.take()
    if draws(.svg), let drawing = try SVGFile.unpacked(file) {
      try drawing.withUnsafeBufferPointer { drawing throws(ImagingFailure) in
        try runDrawing(UnsafeRawBufferPointer(drawing), .svg)
      }
    } else {
      try run(file, allowedFormat(of: file))
    }
    return WarningLog.take()
  }

  private func run(
    _ file: UnsafeRawBufferPointer, _ format: ImageFormat
  ) throws(ImagingFailure) {
    switch format {
    case .jpeg: try runJPEG(file)
    case .avif, .heic: try runHEIF(file, format)
    case .webp: try runWebP(file)
    case .bmp: try runBMP(file)
    case .svg, .pdf: try runDrawing(file, format)
    default: try run(Original(file, format, limits: limits))
    }
  }

  private func draws(_ format: ImageFormat) -> Bool {
    limits.formats.contains(format) && Abilities.reads.contains(format)
      && OptionalFormats.isOpen(format)
  }

  private func allowedFormat(
    of file: UnsafeRawBufferPointer
  ) throws(ImagingFailure) -> ImageFormat {
    switch Sniffed(file) {
    case .notAnImage(let name):
      throw ImagingFailure(.notAnImage, name.map { "it is \($0)" } ?? "it is no image that we know")
    case .otherImage(let name):
      throw ImagingFailure(.unsupportedFormat, "\(name) is not supported")
    case .image(let format):
      guard limits.formats.contains(format) else {
        throw ImagingFailure(.unsupportedFormat, "limits.formats does not allow \(format.rawValue)")
      }
      guard Abilities.reads.contains(format), OptionalFormats.isOpen(format) else {
        throw ImagingFailure(.unsupportedFormat, "this libvips does not read \(format.rawValue)")
      }
      return format
    }
  }

  func admit(
    _ format: ImageFormat, _ size: PixelSize, frames: Int, isAnimation: Bool = false, bands: Int,
    bytesPerPixel: Int, needsAllAtOnce: Bool, fileBytes: Int, documentBytes: Int = 0
  ) throws(ImagingFailure) {
    let isAnimated = recipes.contains(where: \.keepsAnimation)
    // What is too large is refused for itself.
    let possible = recipes.filter {
      Layout(source: size, recipe: $0).largest.pixels <= limits.maxPixels
    }
    try admission.admit(
      MemoryEstimate(
        format: format, size: size, bands: bands, bytesPerPixel: bytesPerPixel,
        needsAllAtOnce: needsAllAtOnce, frames: isAnimated ? frames : 1,
        isAnimation: isAnimation, fileBytes: fileBytes, documentBytes: documentBytes,
        recipes: possible))
  }

  // MARK: The picture

  func run(_ original: Original) throws(ImagingFailure) {
    let staysAnimated = staysAnimated(original)
    try admit(
      original.format, original.size, frames: staysAnimated ? original.pages : 1,
      bands: original.bands, bytesPerPixel: original.bytesPerPixel,
      needsAllAtOnce: original.needsAllAtOnce, fileBytes: original.file.count)
    guard staysAnimated else { return try runStill(original, recipes.indices) }
    let animated = recipes.indices.filter { recipes[$0].keepsAnimation }
    let animation: Animation
    do throws(ImagingFailure) {
      animation = try decodedAnimation(original)
    } catch  where error.kind == .corrupt {
      // The first frame may be sound.
      try runStill(original, recipes.indices)
      WarningLog.note("animation reduced to its first frame: \(error.message)")
      return
    }
    let still = recipes.indices.filter { !recipes[$0].keepsAnimation }
    try runStill(original, still)
    for index in animated {
      finish(index) { recipe throws(ImagingFailure) in
        try encoded(animation, recipe, original)
      }
    }
  }

  private func runStill(
    _ original: Original, _ indices: some Collection<Int>
  ) throws(ImagingFailure) {
    let layouts = recipes.map { Layout(source: original.size, recipe: $0) }
    let possible = indices.filter { refusal(of: recipes[$0], layouts[$0]) == nil }
    let plan = LevelPlan(sizes: possible.map { layouts[$0].level }, placeholderOf: original.size)
    tellOpened(original)
    let levels = try decoded(original, plan)
    try tellSeen(levels[plan.placeholder], isTransparent: levels.isTransparent)
    for index in indices {
      finish(index) { recipe throws(ImagingFailure) in
        if let refusal = refusal(of: recipe, layouts[index]) { throw refusal }
        return try encoded(levels, layouts[index], recipe, original)
      }
    }
  }

  /// Why a variant is not tried; nil where it is.
  private func refusal(of recipe: Recipe, _ layout: Layout) -> ImagingFailure? {
    if layout.largest.pixels > limits.maxPixels { return tooLarge(layout.largest) }
    guard admission.unaffordable.contains(recipe) else { return nil }
    return ImagingFailure(
      .memory,
      "the variant of \(layout.largest) pixels needs more than the "
        + "\(ByteSizeText.format(limits.maxMemory)) that there are for all pictures")
  }

  private func decoded(
    _ original: Original, _ plan: LevelPlan
  ) throws(ImagingFailure) -> Levels {
    let shrink = original.format == .jpeg ? plan.shrinkOnLoad(of: original.size) : 1
    let levels: Levels
    do throws(VipsFailure) {
      let picture =
        original.isDrawing
        ? try original.picture(scale: plan.drawingScale(of: original.size))
        : try original.picture(shrink: shrink)
      let base = try Base(
        picture, rows: original.rows(of: picture, shrink: shrink),
        orientation: original.orientation)
      levels = try Levels(of: base, plan: plan)
    } catch {
      throw ImagingFailure(reading: error, of: original.file, original.format)
    }
    // libvips looks at a JPEG's warnings before its last rows, and not again after them.
    guard original.strictness != VIPS_FAIL_ON_WARNING || !WarningLog.hasHeardLibraries else {
      throw ImagingFailure(.corrupt, WarningLog.take().joined(separator: "; "))
    }
    return levels
  }

  private func decodedAnimation(_ original: Original) throws(ImagingFailure) -> Animation {
    do throws(VipsFailure) {
      return try Animation(of: original)
    } catch {
      throw ImagingFailure(reading: error, of: original.file, original.format)
    }
  }

  private func staysAnimated(_ original: Original) -> Bool {
    guard original.isAnimation, recipes.contains(where: \.keepsAnimation) else { return false }
    if isWithinLimits(original.storedSize, frames: original.pages) { return true }
    WarningLog.note(
      "animation reduced to its first frame: \(original.pages) frames of \(original.size) pixels "
        + "are over the limits")
    return false
  }

  func isWithinLimits(_ size: PixelSize, frames: Int) -> Bool {
    let pixels = size.pixels.multipliedReportingOverflow(by: frames)
    return frames <= limits.maxFrames && !pixels.overflow
      && pixels.partialValue <= limits.maxPixels
  }

  private func tellOpened(_ original: Original) {
    opened(
      OpenedPicture(
        format: original.format, size: original.size,
        frames: original.isAnimation ? original.pages : 1))
  }

  private func tellSeen(
    _ level: Picture, isTransparent: Bool
  ) throws(ImagingFailure) {
    do {
      seen(try level.placeholder(isTransparent: isTransparent))
    } catch {
      throw ImagingFailure(writing: error)
    }
  }

  private func tooLarge(_ size: PixelSize) -> ImagingFailure {
    ImagingFailure(
      .tooManyPixels, "the variant would have \(size) pixels; \(limits.maxPixels) are allowed")
  }

  // MARK: One variant

  private func finish(
    _ index: Int, _ encode: (Recipe) throws(ImagingFailure) -> EncodedVariant
  ) {
    do throws(ImagingFailure) {
      finished(index, .success(try encode(recipes[index])))
    } catch {
      finished(index, .failure(error))
    }
  }

  private func encoded(
    _ levels: Levels, _ layout: Layout, _ recipe: Recipe, _ original: Original
  ) throws(ImagingFailure) -> EncodedVariant {
    let format = Encoding.format(
      for: recipe, isTransparent: levels.isTransparent, isAnimated: false)
    try check(layout.frame, fits: format)
    let picture: Picture
    do throws(VipsFailure) {
      let framed = try levels[layout.level].scaled(layout, recipe: recipe).framed(
        layout, recipe: recipe, isTransparent: levels.isTransparent)
      picture = try framed.ready(
        for: format, recipe, isTransparent: levels.isTransparent)
    } catch {
      throw ImagingFailure(writing: error)
    }
    let encoding = Encoding(
      format: format, recipe: recipe, isSourceLossless: original.isLosslessWebP)
    let bytes = try encoding.encoded(picture)
    return EncodedVariant(
      format: format, size: layout.frame, isCapped: layout.isCapped, bytes: bytes)
  }

  private func encoded(
    _ animation: Animation, _ recipe: Recipe, _ original: Original
  ) throws(ImagingFailure) -> EncodedVariant {
    let layout = Layout(source: original.size, recipe: recipe)
    if let refusal = refusal(of: recipe, layout) { throw refusal }
    let frame = layout.largest
    let all = frame.pixels.multipliedReportingOverflow(by: original.pages)
    guard !all.overflow, all.partialValue <= limits.maxPixels else { throw tooLarge(frame) }
    let format = Encoding.format(for: recipe, isTransparent: true, isAnimated: true)
    let picture: Picture
    let size: PixelSize
    do throws(VipsFailure) {
      picture = try animation.rendered(recipe)
      size = PixelSize(picture.size.width, picture.int(MetadataField.pageHeight)!)
    } catch {
      throw ImagingFailure(writing: error)
    }
    try check(size, fits: format)
    let encoding = Encoding(
      format: format, recipe: recipe, isSourceLossless: original.isLosslessWebP)
    let bytes = try encoding.encoded(picture)
    return EncodedVariant(format: format, size: size, isCapped: layout.isCapped, bytes: bytes)
  }

  private func check(_ size: PixelSize, fits format: ImageFormat) throws(ImagingFailure) {
    guard max(size.width, size.height) <= format.maxSide else {
      throw ImagingFailure(
        .unsupportedSetting, "a \(format.rawValue) cannot hold \(size) pixels")
    }
  }
}

extension Picture {
  fileprivate func ready(
    for format: ImageFormat, _ recipe: Recipe, isTransparent: Bool
  ) throws(VipsFailure) -> Picture {
    guard isTransparent else { return self }
    return Encoding.hasAlpha(format)
      ? try unpremultiplied() : try flattened(on: recipe.background)
  }
}
