import CVips
import Vocabulary

/// How a picture becomes a file.
///
/// | format | quality | fast | balanced | small |
/// |---|---|---|---|---|
/// | JPEG | 80 | | | optimised tables, progressive |
/// | WebP | 80 | effort 0 | effort 2 | effort 4 |
/// | AVIF | 50 | effort 0 | effort 1 | effort 4 |
/// | PNG | lossless, with a palette where that loses nothing | compression 3 | compression 6 | compression 9, row filters |
/// | GIF | 256 colours | effort 1 | effort 7 | effort 10 |
///
/// WebP is lossless where the original was lossless WebP and the recipe names no quality.
///
/// Optimised tables cost a JPEG 21 % CPU for 6 % of bytes, several scans 52 %; WebP's effort 2 halves
/// effort 4's CPU for 4 % of bytes; AVIF's effort 1 gives effort 4's size for a fifth.
struct Encoding {
  let format: ImageFormat
  let recipe: Recipe
  /// Whether the original is a WebP without loss.
  let isSourceLossless: Bool

  /// The format that the recipe means for this picture.
  static func format(
    for recipe: Recipe, isTransparent: Bool, isAnimated: Bool
  ) -> ImageFormat {
    recipe.format.imageFormat ?? (isTransparent || isAnimated ? .webp : .jpeg)
  }

  static func hasAlpha(_ format: ImageFormat) -> Bool { format != .jpeg }

  /// The file's bytes, within `maxBytes` where the recipe says so.
  func encoded(_ picture: Picture) throws(ImagingFailure) -> [UInt8] {
    let picture = try prepared(picture)
    let isLossless = format == .webp && isSourceLossless && recipe.quality == nil
    let quality = recipe.quality ?? defaultQuality
    let bytes = try encoded(picture, quality: isLossless ? nil : quality)
    guard let most = recipe.maxBytes, bytes.count > most else { return bytes }
    guard hasQuality else { throw overBudget(bytes.count, most) }
    return try searched(picture, below: isLossless ? quality + 1 : quality, most: most)
  }

  /// With its metadata; in memory and without any where no other encoder is asked.
  private func prepared(_ picture: Picture) throws(ImagingFailure) -> Picture {
    do {
      return try isPlainJPEG(picture) ? picture.inMemory() : picture.keeping(recipe.metadata)
    } catch {
      throw ImagingFailure(writing: error)
    }
  }

  private func isPlainJPEG(_ picture: Picture) -> Bool {
    format == .jpeg && recipe.metadata == .none && JPEGFile.takes(picture)
  }

  /// The best quality whose file is small enough, by halving: at most seven tries.
  private func searched(
    _ picture: Picture, below quality: Int, most: Int
  ) throws(ImagingFailure) -> [UInt8] {
    var best: [UInt8]?
    var smallest = Int.max
    var (low, high) = (1, quality - 1)
    while low <= high {
      let middle = (low + high) / 2
      let bytes = try encoded(picture, quality: middle)
      smallest = min(smallest, bytes.count)
      if bytes.count <= most {
        best = bytes
        low = middle + 1
      } else {
        high = middle - 1
      }
    }
    guard let best else { throw overBudget(smallest, most) }
    return best
  }

  private func overBudget(_ bytes: Int, _ most: Int) -> ImagingFailure {
    ImagingFailure(
      .overBudget,
      "as \(format.rawValue) it weighs at least \(ByteSizeText.format(bytes)); "
        + "maxBytes is \(ByteSizeText.format(most))")
  }

  /// - Parameter quality: nil is without loss.
  private func encoded(
    _ picture: Picture, quality: Int?
  ) throws(ImagingFailure) -> [UInt8] {
    let bytes: [UInt8]
    do throws(VipsFailure) {
      bytes = try saved(picture, quality)
    } catch {
      throw ImagingFailure(writing: error)
    }
    guard !bytes.isEmpty else {
      throw ImagingFailure(.unsupportedSetting, "the \(format.rawValue) encoder gave no bytes")
    }
    guard format == .webp, recipe.metadata == .none else { return bytes }
    return WebPContainer.stripped(bytes)
  }

  private func saved(_ picture: Picture, _ quality: Int?) throws(VipsFailure) -> [UInt8] {
    if isPlainJPEG(picture) {
      return try JPEGFile.encoded(
        picture, quality: quality ?? defaultQuality, isSmall: recipe.effort == .small)
    }
    var options = options(quality: quality)
    options["in"] = .picture(picture)
    options["strip"] = .bool(recipe.metadata == .none)
    if format == .png, let bytes = try PaletteEncoding(picture, options: options).bytes {
      return bytes
    }
    return try vips(saver, options, read: { $0.bytes() })
  }

  private var saver: String {
    format == .avif ? "heifsave_buffer" : "\(format.rawValue)save_buffer"
  }

  private var hasQuality: Bool { format == .jpeg || format == .webp || format == .avif }

  private var defaultQuality: Int { format == .avif ? 50 : 80 }

  private func options(quality: Int?) -> [String: OperationArgument] {
    let isSmall = recipe.effort == .small
    switch format {
    case .jpeg:
      return [
        "Q": .int(quality ?? defaultQuality), "optimize-coding": .bool(isSmall),
        "interlace": .bool(isSmall),
      ]
    case .webp:
      let loss: [String: OperationArgument] =
        quality.map { ["Q": .int($0)] } ?? ["lossless": .bool(true)]
      return loss.merging(["effort": .int(effort(0, 2, 4))]) { $1 }
    case .avif:
      return [
        "Q": .int(quality ?? defaultQuality), "effort": .int(effort(0, 1, 4)),
        "compression": .int(Int(VIPS_FOREIGN_HEIF_COMPRESSION_AV1.rawValue)),
      ]
    case .png:
      let filter = isSmall ? VIPS_FOREIGN_PNG_FILTER_ALL : VIPS_FOREIGN_PNG_FILTER_NONE
      return ["compression": .int(effort(3, 6, 9)), "filter": .int(Int(filter.rawValue))]
    default: return ["effort": .int(effort(1, 7, 10))]
    }
  }

  private func effort(_ fast: Int, _ balanced: Int, _ small: Int) -> Int {
    switch recipe.effort {
    case .fast: fast
    case .balanced: balanced
    case .small: small
    }
  }
}
