import Vocabulary

/// What one image takes, estimated from its header.
package struct ImagingNeed: Sendable, Hashable {
  /// Bytes for decoding it and making its variants, one after the other.
  package var decoding: Int
  /// Bytes of the largest variant's file at most.
  package var output: Int
}

/// What a header says of the memory that its picture takes.
struct MemoryEstimate {
  let format: ImageFormat
  let size: PixelSize
  let bands: Int
  let bytesPerPixel: Int
  let needsAllAtOnce: Bool
  /// 1 where only the first is shown.
  let frames: Int
  /// Whether there are more frames in the file, shown or not.
  let isAnimation: Bool
  /// Of the file, in bytes.
  let fileBytes: Int
  /// Of a drawing once it is read.
  let documentBytes: Int
  private(set) var recipes: [Recipe]

  /// The same with other variants.
  func making(_ recipes: [Recipe]) -> MemoryEstimate {
    var other = self
    other.recipes = recipes
    return other
  }

  /// What every image takes, however small it is: strips, tables, small buffers.
  private static let least = 24 << 20

  var need: ImagingNeed {
    let layouts = recipes.map { Layout(source: size, recipe: $0) }
    let plan = LevelPlan(sizes: layouts.map(\.level), placeholderOf: size)
    let decoding = decodersMemory(plan) + fileCopies + max(stillMemory(plan), animationMemory)
    let encoding = zip(recipes, layouts).map(encodersMemory).max() ?? 0
    let output = zip(recipes, layouts).map(fileMemory).max() ?? 0
    return ImagingNeed(
      // What libraries take besides is a part of what they take.
      decoding: Self.least + decoding + decoding / 8 + encoding + output, output: output)
  }

  /// Bytes that the format's decoder holds besides the pixels that it gives.
  private func decodersMemory(_ plan: LevelPlan) -> Int {
    let stored = size.pixels
    return switch format {
    // Coefficients of all scans: two bytes each.
    case .jpeg: needsAllAtOnce ? stored * bands * 2 : 0
    case .png: needsAllAtOnce ? stored * bytesPerPixel : 0
    // Whole pictures, as planes and as pixels, and the stacks of a dozen threads.
    case .avif, .heic: stored * (bytesPerPixel + 4) + (16 << 20)
    // A canvas, the frame that is laid on it, and what is made of them; frames without loss are decoded
    // to memory of their own. Of an animation all that twice, however few of its frames are shown.
    case .webp: stored * (isAnimation ? 24 : 16)
    case .gif: stored * (frames > 1 ? 12 : 8)
    // Whole surfaces of the size that is drawn, and the document.
    case .svg, .pdf: drawnPixels(plan) * 8 + documentBytes
    // Whole components of 32 bits.
    case .jp2: stored * bands * 8
    case .bmp: stored * 4
    case .tiff: stored * bytesPerPixel
    }
  }

  /// Where the whole file is brought into another form, or held by the decoder.
  private var fileCopies: Int {
    switch format {
    case .jpeg, .avif, .heic, .jp2: fileBytes * 2
    default: 0
    }
  }

  /// Levels with four bands, and a copy for what is done to them.
  private func stillMemory(_ plan: LevelPlan) -> Int {
    plan.levels.reduce(0) { $0 + $1.size.pixels * 8 }
  }

  private func drawnPixels(_ plan: LevelPlan) -> Int {
    let scale = plan.drawingScale(of: size)
    return Int(scale * scale * Double(size.pixels)) + size.width + size.height
  }

  private var animationMemory: Int { frames > 1 ? size.pixels * frames * 8 : 0 }

  private var mayBeTransparent: Bool { format != .jpeg && bands % 2 == 0 }

  /// The variant as it is framed, and what its encoder makes of it.
  private func encodersMemory(_ recipe: Recipe, _ layout: Layout) -> Int {
    let isAnimated = frames > 1 && recipe.keepsAnimation
    let perPixel =
      switch recipe.format {
      case .jpeg: recipe.effort == .small ? 12 : 4
      case .png, .gif: 24
      // Without loss it takes most.
      case .webp: format == .webp ? 56 : 28
      case .auto: mayBeTransparent || isAnimated ? 56 : 12
      case .avif: 96
      }
    return layout.largest.pixels * (perPixel + (isAnimated ? 16 * frames : 4))
  }

  /// No encoder of ours makes more of a pixel than four bytes, and a little for each row and frame.
  private func fileMemory(_ recipe: Recipe, _ layout: Layout) -> Int {
    let pictures = frames > 1 && recipe.keepsAnimation ? frames : 1
    return (256 << 10) + layout.frame.pixels * pictures * 9 / 2
  }
}
