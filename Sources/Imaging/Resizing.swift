import CVips

/// A picture's sizes, and whether its alpha says anything.
struct ResizedPictures {
  /// In memory, in the order asked.
  var pictures: [Picture]
  /// Whether every pixel is opaque; true without alpha.
  var isOpaque: Bool
}

/// Where a picture's rows come from.
protocol RowSource {
  var size: PixelSize { get }
  /// How many columns and rows the picture really has: at most `size`, less than one less.
  var extent: SIMD2<Double> { get }

  /// Computes the picture from top to bottom on this thread.
  ///
  /// - Parameters:
  ///   - mayChange: whether `body` changes the rows.
  ///   - body: is lent each row.
  func forEachRow(
    mayChange: Bool, _ body: (UnsafeMutableBufferPointer<UInt8>) -> Void
  ) throws(VipsFailure)
}

extension Picture: RowSource {
  var extent: SIMD2<Double> { SIMD2(Double(size.width), Double(size.height)) }

  /// Resized to exactly these sizes in one pass over its rows, from the top: the one place where
  /// pixels are resampled, and where pictures that stream are read.
  ///
  /// - Precondition: 8 bits a band, 1 to 4 bands.
  /// - Parameters:
  ///   - multipliesAlpha: whether the results' colours are to be multiplied by alpha. Resampling needs
  ///     that: what is invisible has no weight then.
  ///   - rows: this picture's, by another way.
  func resized(
    to sizes: [PixelSize], multipliesAlpha: Bool = false, rows: (any RowSource)? = nil
  ) throws(VipsFailure) -> ResizedPictures {
    let rows = rows ?? self
    var pictures: [Picture] = []
    var takers: [(UnsafeBufferPointer<UInt8>) -> Void] = []
    for size in sizes {
      let picture = try blank(of: size)
      pictures.append(picture)
      let memory = picture.pixels.baseAddress!.assumingMemoryBound(to: UInt8.self)
      takers.append(
        size == rows.size
          ? RowWriter(memory).take
          : Resizer(from: rows, to: size, bands: bands, into: memory).take)
    }
    var isOpaque = true
    try rows.forEachRow(mayChange: multipliesAlpha) { row in
      if multipliesAlpha {
        let pixels = UnsafeMutableRawBufferPointer(row)
        let isRowOpaque = Alpha.premultiply(pixels, bands: bands)
        isOpaque = isOpaque && isRowOpaque
      }
      for take in takers { take(UnsafeBufferPointer(row)) }
    }
    return ResizedPictures(pictures: pictures, isOpaque: isOpaque)
  }

  /// Rows that are read at once: what the JPEG decoder gives, and little memory.
  private static let stripHeight = 16

  func forEachRow(
    mayChange: Bool, _ body: (UnsafeMutableBufferPointer<UInt8>) -> Void
  ) throws(VipsFailure) {
    let isThere = image.pointee.dtype == VIPS_IMAGE_SETBUF && !mayChange
    let strip = isThere ? nil : try Strip(blank(of: PixelSize(size.width, Self.stripHeight)))
    let row = size.width * bands
    for top in stride(from: 0, to: size.height, by: Self.stripHeight) {
      let height = min(Self.stripHeight, size.height - top)
      let rows: UnsafeMutablePointer<UInt8>
      if let strip {
        rows = try strip.read(self, top: top, height: height)
      } else {
        rows = pixels.baseAddress!.assumingMemoryBound(to: UInt8.self) + top * row
      }
      for y in 0..<height { body(UnsafeMutableBufferPointer(start: rows + y * row, count: row)) }
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

/// Memory of ours that libvips computes rows into: its own would be filled with zeros for each strip.
private final class Strip {
  private let picture: Picture
  private let room: UnsafeMutablePointer<VipsRegion>
  private var source: UnsafeMutablePointer<VipsRegion>?

  init(_ picture: Picture) throws(VipsFailure) {
    self.picture = picture
    guard let room = vips_region_new(picture.image) else { throw VipsFailure.take() }
    self.room = room
    var all = VipsRect(
      left: 0, top: 0, width: picture.image.pointee.Xsize, height: picture.image.pointee.Ysize)
    guard vips_region_image(room, &all) == 0 else { throw VipsFailure.take() }
  }

  deinit {
    if let source { g_object_unref(source) }
    g_object_unref(room)
  }

  /// - Parameter from: the same picture each time.
  /// - Returns: the rows, without gaps between them; lent until the next call.
  func read(
    _ from: Picture, top: Int, height: Int
  ) throws(VipsFailure) -> UnsafeMutablePointer<UInt8> {
    guard let region = source ?? vips_region_new(from.image) else { throw VipsFailure.take() }
    source = region
    var rows = VipsRect(
      left: 0, top: gint(top), width: gint(from.size.width), height: gint(height))
    guard vips_region_prepare_to(region, room, &rows, 0, 0) == 0 else { throw VipsFailure.take() }
    return picture.pixels.baseAddress!.assumingMemoryBound(to: UInt8.self)
  }
}

/// Writes a picture's rows from the top.
private final class RowWriter {
  private var place: UnsafeMutablePointer<UInt8>

  init(_ memory: UnsafeMutablePointer<UInt8>) { place = memory }

  func take(_ row: UnsafeBufferPointer<UInt8>) {
    place.update(from: row.baseAddress!, count: row.count)
    place += row.count
  }
}
