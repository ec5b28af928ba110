import CVips

extension Picture {
  /// Resized to exactly this size: the one place where pixels are resampled.
  ///
  /// Lanczos-3. Colours must be multiplied by alpha before.
  func resized(to target: PixelSize) throws(VipsFailure) -> Picture {
    if target == size { return self }
    let resized = try vips(
      "resize",
      [
        "in": .picture(self),
        "scale": .double(Double(target.width) / Double(size.width)),
        "vscale": .double(Double(target.height) / Double(size.height)),
      ])
    return try resized.trimmed(to: target)
  }

  /// libvips rounds its own way when it enlarges: a row or column is dropped or repeated.
  private func trimmed(to target: PixelSize) throws(VipsFailure) -> Picture {
    if target == size { return self }
    return try vips(
      "embed",
      [
        "in": .picture(self), "x": .int(0), "y": .int(0), "width": .int(target.width),
        "height": .int(target.height), "extend": .int(Int(VIPS_EXTEND_COPY.rawValue)),
      ])
  }
}
