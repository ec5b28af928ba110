import TestSupport

/// A PNG of any of the format's kinds, made by hand: no encoder of libvips writes them all.
struct PNGFile {
  /// The header's colour type.
  enum Kind: UInt8, CaseIterable {
    case grey = 0
    case rgb = 2
    case palette = 3
    case greyAlpha = 4
    case rgba = 6

    var samples: Int {
      switch self {
      case .grey, .palette: 1
      case .greyAlpha: 2
      case .rgb: 3
      case .rgba: 4
      }
    }

    /// Bits of a sample that the format allows.
    var depths: [Int] {
      switch self {
      case .grey: [1, 2, 4, 8, 16]
      case .palette: [1, 2, 4, 8]
      default: [8, 16]
      }
    }
  }

  var kind: Kind
  var depth: Int
  var isInterlaced = false
  var width: Int
  var height: Int
  /// Between the header and the pixels.
  var chunks: [(name: String, data: [UInt8])] = []

  /// - Parameter samples: of a pixel, in the file's depth.
  func bytes(_ samples: (_ x: Int, _ y: Int) -> [Int]) -> [UInt8] {
    let header =
      PlainPNG.bigEndian(width) + PlainPNG.bigEndian(height)
      + [UInt8(depth), kind.rawValue, 0, 0, isInterlaced ? 1 : 0]
    let pixels = passes.flatMap { pass($0, samples) }
    return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + PlainPNG.chunk("IHDR", header)
      + chunks.flatMap { PlainPNG.chunk($0.name, $0.data) }
      + PlainPNG.chunk("IDAT", PlainPNG.zlib(pixels)) + PlainPNG.chunk("IEND", [])
  }

  /// First column and row, and the steps between them: Adam7's, or all pixels at once.
  private var passes: [(x: Int, y: Int, right: Int, down: Int)] {
    guard isInterlaced else { return [(0, 0, 1, 1)] }
    return [
      (0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2),
      (0, 1, 1, 2),
    ]
  }

  /// Rows without a filter.
  private func pass(
    _ pass: (x: Int, y: Int, right: Int, down: Int), _ samples: (Int, Int) -> [Int]
  ) -> [UInt8] {
    guard pass.x < width, pass.y < height else { return [] }
    return stride(from: pass.y, to: height, by: pass.down).flatMap { y in
      [0]
        + packed(stride(from: pass.x, to: width, by: pass.right).flatMap { samples($0, y) })
    }
  }

  private func packed(_ samples: [Int]) -> [UInt8] {
    if depth == 16 { return samples.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] } }
    let perByte = 8 / depth
    return stride(from: 0, to: samples.count, by: perByte).map { start in
      let group = samples[start..<min(start + perByte, samples.count)]
      let bits = group.reduce(0) { $0 << depth | $1 }
      return UInt8(bits << ((perByte - group.count) * depth))
    }
  }
}
