import CVips
import Vocabulary

/// What formats need besides, before their pictures are read.
extension Rendering {
  /// Its size is only known when it has been read as a whole: what is drawn is taken to be a square, and
  /// tried again with all memory where it is not.
  func runDrawing(
    _ file: UnsafeRawBufferPointer, _ format: ImageFormat
  ) throws(ImagingFailure) {
    if format == .svg { try SVGFile.check(file.count) }
    let side = recipes.map { max($0.width ?? 1, $0.height ?? 1) }.max() ?? 1
    try admit(
      format, PixelSize(side, side), frames: 1, bands: 4, bytesPerPixel: 4, needsAllAtOnce: true,
      fileBytes: file.count,
      documentBytes: format == .svg ? SVGFile.documentBytes(file) : file.count * 8)
    try run(Original(file, format, limits: limits))
  }

  func runHEIF(
    _ file: UnsafeRawBufferPointer, _ format: ImageFormat
  ) throws(ImagingFailure) {
    if Sniffed.isSequence(file) {
      WarningLog.note("a sequence of pictures: only its cover is shown")
    }
    guard let ordered = HEIFProperties.ordered(file) else {
      return try run(Original(file, format, limits: limits))
    }
    try ordered.withUnsafeBufferPointer { ordered throws(ImagingFailure) in
      try run(Original(UnsafeRawBufferPointer(ordered), format, limits: limits))
    }
  }

  /// libvips takes the memory of a whole canvas before it tells the size.
  func runWebP(_ file: UnsafeRawBufferPointer) throws(ImagingFailure) {
    try Original.checkDeclaredSize(of: file, .webp, limits)
    if let (width, height) = DeclaredExtent.size(of: file, .webp), width > 0, height > 0 {
      let size = PixelSize(width, height)
      let count = WebPContainer.frameCount(file)
      try admit(
        .webp, size, frames: isWithinLimits(size, frames: count) ? count : 1,
        isAnimation: count > 1, bands: 4, bytesPerPixel: 4, needsAllAtOnce: true,
        fileBytes: file.count)
    }
    try run(Original(file, .webp, limits: limits))
  }

  /// Ours, which has no header apart from its pixels.
  func runBMP(_ file: UnsafeRawBufferPointer) throws(ImagingFailure) {
    try Original.checkDeclaredSize(of: file, .bmp, limits)
    if let (width, height) = DeclaredExtent.size(of: file, .bmp), width > 0, height > 0 {
      try admit(
        .bmp, PixelSize(width, height), frames: 1, bands: 4, bytesPerPixel: 4,
        needsAllAtOnce: true, fileBytes: file.count)
    }
    try run(Original(file, .bmp, limits: limits))
  }

  func runJPEG(_ file: UnsafeRawBufferPointer) throws(ImagingFailure) {
    do throws(ImagingFailure) {
      try run(Original(file, .jpeg, limits: limits))
    } catch
      where error.kind == .truncated && !file.endsWithEndOfImage
      && JPEGMarkers.hasOneScan(file)
    {
      try runWithEndOfImage(file, orThrow: error)
    }
  }

  /// A JPEG that lacks nothing but its end marker is whole: with the marker put back, the strictest
  /// reading finds no fault in it. One that is cut earlier has gaps that this reading sees, where there is
  /// but one scan.
  private func runWithEndOfImage(
    _ file: UnsafeRawBufferPointer, orThrow failure: ImagingFailure
  ) throws(ImagingFailure) {
    var whole = [UInt8](file)
    whole += [0xFF, 0xD9]
    _ = WarningLog.take()
    do throws(ImagingFailure) {
      try whole.withUnsafeBufferPointer { whole throws(ImagingFailure) in
        let bytes = UnsafeRawBufferPointer(whole)
        let original = try Original(
          bytes, .jpeg, limits: limits, strictness: VIPS_FAIL_ON_WARNING)
        try run(original)
      }
    } catch {
      throw failure
    }
    WarningLog.note("the JPEG's end marker is missing")
  }
}

extension UnsafeRawBufferPointer {
  fileprivate var endsWithEndOfImage: Bool {
    count >= 2 && self[count - 2] == 0xFF && self[count - 1] == 0xD9
  }
}
