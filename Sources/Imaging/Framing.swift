import CVips
import Vocabulary

extension Picture {
  /// The layout's scaled size of a picture of its level.
  func scaled(_ layout: Layout, recipe: Recipe) throws(VipsFailure) -> Picture {
    guard layout.window != layout.source else { return self }
    let window = try cut(to: layout.window, recipe.position).inMemory()
    return try Base(part: window).levels(of: [layout.scaled]).pictures[0]
  }

  /// Cut or padded from its layout's scaled size to its frame.
  ///
  /// - Parameter isTransparent: whether it has alpha, its colours multiplied by it.
  func framed(
    _ layout: Layout, recipe: Recipe, isTransparent: Bool
  ) throws(VipsFailure) -> Picture {
    if layout.frame == layout.scaled { return self }
    if layout.scaled.covers(layout.frame) { return try cut(to: layout.frame, recipe.position) }
    return try padded(to: layout.frame, recipe, isTransparent: isTransparent)
  }

  private func cut(
    to frame: PixelSize, _ position: VariantSpec.Position
  ) throws(VipsFailure) -> Picture {
    switch position {
    case .attention: return try cut(to: frame, interesting: VIPS_INTERESTING_ATTENTION)
    case .entropy: return try cut(to: frame, interesting: VIPS_INTERESTING_ENTROPY)
    default:
      let (x, y) = position.offset(of: frame, in: size)
      return try cropped(x: x, y: y, to: frame)
    }
  }

  private func cut(
    to frame: PixelSize, interesting: VipsInteresting
  ) throws(VipsFailure) -> Picture {
    try vips(
      "smartcrop",
      [
        "input": .picture(self), "width": .int(frame.width), "height": .int(frame.height),
        "interesting": .int(Int(interesting.rawValue)),
      ])
  }

  private func padded(
    to frame: PixelSize, _ recipe: Recipe, isTransparent: Bool
  ) throws(VipsFailure) -> Picture {
    let coloured = try inColour(for: recipe.background)
    let (x, y) = recipe.position.offset(of: size, in: frame)
    return try vips(
      "embed",
      [
        "in": .picture(coloured), "x": .int(x), "y": .int(y), "width": .int(frame.width),
        "height": .int(frame.height), "extend": .int(Int(VIPS_EXTEND_BACKGROUND.rawValue)),
        "background": .doubles(
          recipe.background.values(bands: coloured.bands - (isTransparent ? 1 : 0)).map(
            Double.init) + (isTransparent ? [255] : [])),
      ])
  }

  /// On `background` where it has alpha, without alpha then.
  func flattened(on background: VariantSpec.Color) throws(VipsFailure) -> Picture {
    let coloured = try inColour(for: background)
    let bands = coloured.bands
    let values = background.values(bands: bands - 1)
    return try coloured.changed { pixels in
      Alpha.flatten(pixels, bands: bands, background: values)
    }.withoutAlpha()
  }

  func unpremultiplied() throws(VipsFailure) -> Picture {
    let bands = bands
    return try changed { pixels in Alpha.unpremultiply(pixels, bands: bands) }
  }

  /// With three bands of colour where the background is none of the greys and this picture is grey.
  private func inColour(for background: VariantSpec.Color) throws(VipsFailure) -> Picture {
    guard bands < 3, !background.isGrey else { return self }
    return try vips(
      "colourspace",
      ["in": .picture(self), "space": .int(Int(VIPS_INTERPRETATION_sRGB.rawValue))])
  }
}

extension VariantSpec.Color {
  fileprivate var isGrey: Bool { red == green && green == blue }

  /// - Parameter bands: 1 for grey, 3 for colour.
  fileprivate func values(bands: Int) -> [UInt8] { bands == 1 ? [red] : [red, green, blue] }
}
