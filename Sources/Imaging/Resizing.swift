import CVips

/// A picture's sizes, and whether its alpha says anything.
struct ResizedPictures {
  /// In memory, in the order asked.
  var pictures: [Picture]
  /// Whether every pixel is opaque; true without alpha.
  var isOpaque: Bool
}

extension Picture {
  /// Resized to exactly these sizes in one pass over its rows, from the top: the one place where
  /// pixels are resampled, and where pictures that stream are read.
  ///
  /// - Precondition: 8 bits a band, 1 to 4 bands.
  /// - Parameter multipliesAlpha: whether the results' colours are to be multiplied by alpha.
  ///   Resampling needs that: what is invisible has no weight then.
  func resized(
    to sizes: [PixelSize], multipliesAlpha: Bool = false
  ) throws(VipsFailure) -> ResizedPictures {
    var pictures: [Picture] = []
    var takers: [(UnsafeBufferPointer<UInt8>) -> Void] = []
    for size in sizes {
      let picture = try blank(of: size)
      let writer = RowWriter(picture)
      pictures.append(picture)
      if size == self.size {
        takers.append(writer.append)
      } else {
        let resizer = Resizer(from: self.size, to: size, bands: bands, emit: writer.append)
        takers.append(resizer.take)
      }
    }
    guard multipliesAlpha else {
      try forEachRow { row in for take in takers { take(row) } }
      return ResizedPictures(pictures: pictures, isOpaque: true)
    }
    var isOpaque = true
    let multiplied = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: size.width * bands)
    defer { multiplied.deallocate() }
    try forEachRow { row in
      multiplied.baseAddress!.update(from: row.baseAddress!, count: row.count)
      let isRowOpaque = Alpha.premultiply(UnsafeMutableRawBufferPointer(multiplied), bands: bands)
      isOpaque = isOpaque && isRowOpaque
      for take in takers { take(UnsafeBufferPointer(multiplied)) }
    }
    return ResizedPictures(pictures: pictures, isOpaque: isOpaque)
  }

  /// Rows that are read at once: what the JPEG decoder gives, and little memory.
  private static let stripHeight = 16

  /// Computes the picture from top to bottom on this thread.
  ///
  /// - Parameter body: is lent each row.
  private func forEachRow(
    _ body: (UnsafeBufferPointer<UInt8>) -> Void
  ) throws(VipsFailure) {
    guard let region = vips_region_new(image) else { throw VipsFailure.take() }
    defer { g_object_unref(region) }
    for top in stride(from: 0, to: size.height, by: Self.stripHeight) {
      let height = min(Self.stripHeight, size.height - top)
      var strip = VipsRect(
        left: 0, top: gint(top), width: gint(size.width), height: gint(height))
      guard vips_region_prepare(region, &strip) == 0 else { throw VipsFailure.take() }
      for y in 0..<height {
        let row = tw_vips_row(region, gint(top + y))
        body(UnsafeBufferPointer(start: row, count: size.width * bands))
      }
    }
  }

  /// In memory, of this picture's kind and metadata, its pixels yet to be written.
  private func blank(of size: PixelSize) throws(VipsFailure) -> Picture {
    guard let new = vips_image_new_memory() else { throw VipsFailure.take() }
    let picture = Picture(owning: new)
    var sources: [UnsafeMutablePointer<VipsImage>?] = [image, nil]
    guard vips_image_pipeline_array(new, VIPS_DEMAND_STYLE_ANY, &sources) == 0 else {
      throw VipsFailure.take()
    }
    new.pointee.Xsize = gint(size.width)
    new.pointee.Ysize = gint(size.height)
    guard vips_image_write_prepare(new) == 0 else { throw VipsFailure.take() }
    return picture
  }
}

/// Writes a picture's rows from the top.
private final class RowWriter {
  private let picture: Picture
  private var place: UnsafeMutablePointer<UInt8>

  init(_ picture: Picture) {
    self.picture = picture
    place = picture.pixels.baseAddress!.assumingMemoryBound(to: UInt8.self)
  }

  func append(_ row: UnsafeBufferPointer<UInt8>) {
    place.update(from: row.baseAddress!, count: row.count)
    place += row.count
  }
}
