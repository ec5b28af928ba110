import CVips
import Vocabulary

/// Alpha as the last of two or four bands of bytes.
///
/// Pictures are resized with their colours multiplied by alpha, so that what is invisible has no
/// weight: no dark fringe at a half-transparent edge.
enum Alpha {
  /// Multiplies in place, rounding to the nearest.
  ///
  /// - Returns: whether every pixel is opaque; then nothing was changed.
  static func premultiply(_ pixels: UnsafeMutableRawBufferPointer, bands: Int) -> Bool {
    let bytes = pixels.assumingMemoryBound(to: UInt8.self)
    var isOpaque = true
    var at = 0
    while at < bytes.count {
      let alpha = UInt32(bytes[at + bands - 1])
      if alpha != 255 {
        isOpaque = false
        for band in 0..<(bands - 1) {
          bytes[at + band] = divideBy255(UInt32(bytes[at + band]) * alpha)
        }
      }
      at += bands
    }
    return isOpaque
  }

  /// The reverse. Where resizing overshot, a colour is brighter than its alpha allows: it is cut.
  static func unpremultiply(_ pixels: UnsafeMutableRawBufferPointer, bands: Int) {
    let bytes = pixels.assumingMemoryBound(to: UInt8.self)
    var at = 0
    while at < bytes.count {
      let alpha = UInt32(bytes[at + bands - 1])
      if alpha != 255 {
        for band in 0..<(bands - 1) {
          let colour = UInt32(bytes[at + band]) * 255 + alpha / 2
          bytes[at + band] = alpha == 0 ? 0 : UInt8(min(255, colour / alpha))
        }
      }
      at += bands
    }
  }

  /// Lays multiplied pixels on an opaque colour: alpha is 255 everywhere after that.
  ///
  /// - Parameter background: a value for each band but alpha.
  static func flatten(
    _ pixels: UnsafeMutableRawBufferPointer, bands: Int, background: [UInt8]
  ) {
    let bytes = pixels.assumingMemoryBound(to: UInt8.self)
    var at = 0
    while at < bytes.count {
      let rest = 255 - UInt32(bytes[at + bands - 1])
      if rest != 0 {
        for band in 0..<(bands - 1) {
          let behind = UInt32(divideBy255(UInt32(background[band]) * rest))
          bytes[at + band] = UInt8(min(255, UInt32(bytes[at + band]) + behind))
        }
        bytes[at + bands - 1] = 255
      }
      at += bands
    }
  }

  /// Rounded to the nearest, for products of two bytes.
  private static func divideBy255(_ product: UInt32) -> UInt8 {
    let sum = product + 128
    return UInt8(truncatingIfNeeded: (sum + sum >> 8) >> 8)
  }
}

extension Picture {
  /// A copy in memory of its own, with the metadata, whose pixels may be changed.
  func ownPixels() throws(VipsFailure) -> Picture {
    // Without the step between, libvips would hand out the same memory again.
    try withOwnMetadata().inMemory()
  }

  func changed(_ change: (UnsafeMutableRawBufferPointer) -> Void) throws(VipsFailure) -> Picture {
    let copy = try ownPixels()
    change(copy.pixels)
    return copy
  }

  /// The last band, scaled to 8 bits. libvips' conversions cut it instead: of floating point always, of
  /// 16 bits where a profile is applied.
  func alphaInBytes() throws(VipsFailure) -> Picture {
    let alpha = try vips("extract_band", ["in": .picture(self), "band": .int(bands - 1)])
    let most: Double =
      switch interpretation {
      case VIPS_INTERPRETATION_RGB16, VIPS_INTERPRETATION_GREY16: 65_535
      case VIPS_INTERPRETATION_scRGB: 1
      default: 255
      }
    return try vips(
      "linear",
      [
        "in": .picture(alpha), "a": .doubles([255 / most]), "b": .doubles([0.5]),
        "uchar": .bool(true),
      ])
  }

  /// The bands without alpha.
  func withoutAlpha() throws(VipsFailure) -> Picture {
    guard hasAlpha else { return self }
    return try vips(
      "extract_band", ["in": .picture(self), "band": .int(0), "n": .int(bands - 1)])
  }
}
