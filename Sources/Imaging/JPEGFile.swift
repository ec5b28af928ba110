import CJPEG
import CVips
import Glibc

/// A JPEG without metadata, straight from libjpeg-turbo: libvips would copy each row to another thread.
enum JPEGFile {
  /// Whether a picture can be written so.
  static func takes(_ picture: Picture) -> Bool {
    picture.isBytes && (picture.bands == 1 || picture.bands == 3)
  }

  /// - Parameters:
  ///   - picture: in memory.
  ///   - isSmall: optimised tables, progressive.
  static func encoded(
    _ picture: Picture, quality: Int, isSmall: Bool
  ) throws(VipsFailure) -> [UInt8] {
    let writer = UnsafeMutablePointer<tw_jpeg_writer>.allocate(capacity: 1)
    defer {
      free(writer.pointee.bytes)
      writer.deallocate()
    }
    // From here on eyes see what colour at half the resolution loses.
    let halvesColour = quality < 90
    let status = tw_jpeg_write(
      writer, picture.pixels.baseAddress!.assumingMemoryBound(to: UInt8.self),
      Int32(picture.size.width), Int32(picture.size.height), Int32(picture.bands), Int32(quality),
      halvesColour ? 1 : 0, isSmall ? 1 : 0)
    guard status == 0 else {
      let words = withUnsafeBytes(of: writer.pointee.faults.words) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      throw VipsFailure(words: words)
    }
    return Array(UnsafeBufferPointer(start: writer.pointee.bytes, count: Int(writer.pointee.count)))
  }
}
