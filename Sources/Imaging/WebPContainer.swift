/// A WebP file's chunks, to take out what libvips' encoder puts in unasked: it writes EXIF even when
/// it is told to strip it.
enum WebPContainer {
  /// Bits of the first byte of VP8X.
  private enum Feature {
    static let animation: UInt8 = 0x02
    static let xmp: UInt8 = 0x04
    static let exif: UInt8 = 0x08
    static let alpha: UInt8 = 0x10
    static let profile: UInt8 = 0x20
  }

  /// Without EXIF, XMP and profile; without the extended header where nothing needs it then.
  ///
  /// - Returns: the file as it was where it is not as expected.
  static func stripped(_ file: [UInt8]) -> [UInt8] {
    guard let chunks = chunks(of: file), chunks.first?.name == "VP8X" else { return file }
    let kept = chunks.dropFirst().filter { !["EXIF", "XMP ", "ICCP"].contains($0.name) }
    var header = Array(file[chunks[0].range])
    header[8] &= ~(Feature.exif | Feature.xmp | Feature.profile)
    let isSimple =
      kept.count == 1 && header[8] & Feature.animation == 0
      && (kept[0].name == "VP8L" || header[8] & Feature.alpha == 0)
    let content = (isSimple ? [] : header) + kept.flatMap { file[$0.range] }
    let length = UInt32(content.count + 4)
    return Array("RIFF".utf8) + (0..<4).map { UInt8(truncatingIfNeeded: length >> (8 * $0)) }
      + Array("WEBP".utf8) + content
  }

  /// Whether the first picture's data is VP8L.
  static func isLossless(_ file: UnsafeRawBufferPointer) -> Bool {
    var at = 12
    while let name = file.bigEndian(at: at), let length = file.littleEndian(at: at + 4, bytes: 4) {
      switch name {
      case 0x5650_384C: return true  // VP8L
      case 0x5650_3820: return false  // VP8
      // ANMF: sixteen bytes of the frame's place and time, then the frame's own chunks.
      case 0x414E_4D46: at += 24
      default: at += 8 + length + length % 2
      }
    }
    return false
  }

  /// 1 where it is no animation.
  static func frameCount(_ file: UnsafeRawBufferPointer) -> Int {
    var (at, count) = (12, 0)
    while let name = file.bigEndian(at: at), let length = file.littleEndian(at: at + 4, bytes: 4) {
      if name == 0x414E_4D46 { count += 1 }  // ANMF
      at += 8 + length + length % 2
    }
    return max(1, count)
  }

  private struct Chunk {
    var name: String
    /// Its name and length included, and the byte that makes it even.
    var range: Range<Int>
  }

  private static func chunks(of file: [UInt8]) -> [Chunk]? {
    var chunks: [Chunk] = []
    var at = 12
    while at + 8 <= file.count {
      let length = (0..<4).reduce(0) { $0 | Int(file[at + 4 + $1]) << (8 * $1) }
      let end = at + 8 + length + length % 2
      guard end <= file.count else { return nil }
      chunks.append(
        Chunk(name: String(decoding: file[at..<at + 4], as: UTF8.self), range: at..<end))
      at = end
    }
    return at == file.count ? chunks : nil
  }
}
