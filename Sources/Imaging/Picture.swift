import CVips
import Vocabulary

/// A libvips image: often a recipe for pixels that have not been computed yet.
final class Picture {
  let image: UnsafeMutablePointer<VipsImage>

  init(owning image: UnsafeMutablePointer<VipsImage>) { self.image = image }

  deinit { g_object_unref(image) }

  var size: PixelSize { PixelSize(Int(image.pointee.Xsize), Int(image.pointee.Ysize)) }
  var bands: Int { Int(image.pointee.Bands) }
  var isBytes: Bool { image.pointee.BandFmt == VIPS_FORMAT_UCHAR }
  var interpretation: VipsInterpretation { image.pointee.Type }
  var hasAlpha: Bool { vips_image_hasalpha(image) != 0 }
  var colourBands: Int { bands - (hasAlpha ? 1 : 0) }
  var bytesPerPixel: Int { bands * Int(vips_format_sizeof(image.pointee.BandFmt)) }

  /// Computes every pixel now. Nothing of the source is needed after that.
  func inMemory() throws(VipsFailure) -> Picture {
    guard let copy = vips_image_copy_memory(image) else { throw VipsFailure.take() }
    return Picture(owning: copy)
  }

  /// The pixels of a picture that `inMemory` gave, rows without gaps, to be changed in place.
  var pixels: UnsafeMutableRawBufferPointer {
    let count = size.pixels * bytesPerPixel
    return UnsafeMutableRawBufferPointer(
      start: UnsafeMutableRawPointer(mutating: vips_image_get_data(image)), count: count)
  }

  func cropped(x: Int, y: Int, to part: PixelSize) throws(VipsFailure) -> Picture {
    if part == size { return self }
    return try vips(
      "extract_area",
      [
        "input": .picture(self), "left": .int(x), "top": .int(y), "width": .int(part.width),
        "height": .int(part.height),
      ])
  }
}
