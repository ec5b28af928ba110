import CVips
import Vocabulary

/// A drawing in SVG, as it is or packed by gzip (`.svgz`).
enum SVGFile {
  /// Bytes of markup that are read at most, unpacked.
  static let mostBytes = 8 << 20

  /// What a gzip file holds, where its beginning says that it is a drawing; nil for any other file.
  static func unpacked(_ file: UnsafeRawBufferPointer) throws(ImagingFailure) -> [UInt8]? {
    guard file.starts(with: [0x1F, 0x8B]), let gzip = Gunzip(file) else { return nil }
    // No word of what is wrong with a file that is none of ours.
    guard var drawing = try? gzip.piece(),
      drawing.withUnsafeBytes({ Sniffed($0) }) == .image(.svg)
    else { return nil }
    while !gzip.isAtEnd {
      drawing += try gzip.piece()
      try check(drawing.count)
    }
    return drawing
  }

  /// What the markup takes once it is read: librsvg has some 1.1 kB for each element and each text
  /// between two of them.
  static func documentBytes(_ file: UnsafeRawBufferPointer) -> Int {
    var tags = 0
    for byte in file where byte == UInt8(ascii: "<") { tags += 1 }
    return file.count * 8 + tags * 1300
  }

  static func check(_ bytes: Int) throws(ImagingFailure) {
    guard bytes <= mostBytes else {
      throw ImagingFailure(
        .unsupportedFormat, "an SVG of more than \(mostBytes >> 20) MiB is not supported")
    }
  }
}

/// Unpacks a gzip file piece by piece, by GLib, which libvips brings along.
private final class Gunzip {
  private let converter: OpaquePointer
  private var rest: UnsafeRawBufferPointer
  private(set) var isAtEnd = false

  private static let pieceBytes = 64 << 10

  /// - Parameter file: stays while this does.
  init?(_ file: UnsafeRawBufferPointer) {
    guard let converter = g_zlib_decompressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP) else { return nil }
    self.converter = converter
    rest = file
  }

  deinit { g_object_unref(UnsafeMutableRawPointer(converter)) }

  /// What comes next, `pieceBytes` of it where there is so much.
  func piece() throws(ImagingFailure) -> [UInt8] {
    var error: UnsafeMutablePointer<GError>?
    var (taken, made): (gsize, gsize) = (0, 0)
    var result = G_CONVERTER_ERROR
    let bytes = [UInt8](unsafeUninitializedCapacity: Self.pieceBytes) { room, count in
      result = g_converter_convert(
        converter, rest.baseAddress, gsize(rest.count), room.baseAddress, gsize(room.count),
        G_CONVERTER_INPUT_AT_END, &taken, &made, &error)
      count = Int(made)
    }
    if let error {
      defer { g_error_free(error) }
      let isCut = error.pointee.code == gint(G_IO_ERROR_PARTIAL_INPUT.rawValue)
      throw ImagingFailure(
        isCut ? .truncated : .corrupt, "it is packed: \(String(cString: error.pointee.message))")
    }
    rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(Int(taken)))
    isAtEnd = result == G_CONVERTER_FINISHED
    return bytes
  }
}
