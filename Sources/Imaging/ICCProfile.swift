import CVips
import Glibc

/// What must be known of an embedded profile before libvips applies it: libvips takes a grey profile
/// for a colour picture, and applies nothing where the profile lacks the intent that is asked for.
///
/// The layout is ICC.1's: a header of 128 bytes, then a table of tags of 12 bytes each: name, offset
/// and length.
struct ICCProfile {
  /// Channels of the device side: 1, 3 or 4; nil for others.
  let bands: Int?
  let intent: VipsIntent
  private let tags: [String: UnsafeRawBufferPointer]

  /// - Parameter bytes: stay while the profile is used.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= 132, bytes[36..<40].elementsEqual("acsp".utf8) else { return nil }
    bands = ["GRAY": 1, "RGB ": 3, "CMYK": 4][String(decoding: bytes[16..<20], as: UTF8.self)]
    tags = Self.tags(of: bytes)
    // Tables for perceptual rendering (A2B0) alone: nothing else is defined then.
    let isPerceptualOnly = tags["A2B0"] != nil && tags["A2B1"] == nil
    intent = isPerceptualOnly ? VIPS_INTENT_PERCEPTUAL : VIPS_INTENT_RELATIVE
  }

  private static func tags(of bytes: UnsafeRawBufferPointer) -> [String: UnsafeRawBufferPointer] {
    var tags: [String: UnsafeRawBufferPointer] = [:]
    let room = (bytes.count - 132) / 12
    for index in 0..<min(bytes.bigEndian(at: 128)!, room) {
      let place = 132 + index * 12
      let (start, count) = (bytes.bigEndian(at: place + 4)!, bytes.bigEndian(at: place + 8)!)
      let isInside = start <= bytes.count && count <= bytes.count - start
      tags[String(decoding: bytes[place..<place + 4], as: UTF8.self)] = UnsafeRawBufferPointer(
        rebasing: isInside ? bytes[start..<start + count] : bytes[0..<0])
    }
    return tags
  }

  // MARK: sRGB

  /// Whether its colours are sRGB's, whoever wrote it: then no pixel needs a conversion, which costs
  /// more than resizing does.
  var isSRGB: Bool {
    guard bands == 3, tags["A2B0"] == nil, tags["A2B1"] == nil else { return false }
    return SRGB.primaries.allSatisfy { name, expected in
      guard let found = tags[name].flatMap(Self.colour) else { return false }
      return zip(found, expected).allSatisfy { abs($0 - $1) < 0.001 }
    } && ["rTRC", "gTRC", "bTRC"].allSatisfy { tags[$0].flatMap(ToneCurve.init)?.isSRGB ?? false }
  }

  /// An `XYZ ` tag: three numbers of 16.16 bits.
  private static func colour(_ tag: UnsafeRawBufferPointer) -> [Double]? {
    guard tag.count >= 20, tag.starts(with: "XYZ ".utf8) else { return nil }
    return [8, 12, 16].map { tag.fixedPoint(at: $0)! }
  }
}

/// IEC 61966-2-1 as ICC profiles have it: adapted to D50 by Bradford's matrix.
private enum SRGB {
  static let primaries: [(String, [Double])] = [
    ("rXYZ", [0.43607, 0.22249, 0.01392]), ("gXYZ", [0.38515, 0.71687, 0.09708]),
    ("bXYZ", [0.14307, 0.06061, 0.71410]),
  ]

  /// From light to what is stored, both 0 to 1.
  static func encoded(_ light: Double) -> Double {
    light <= 0.0031308 ? light * 12.92 : 1.055 * pow(light, 1 / 2.4) - 0.055
  }
}

/// A `curv` or `para` tag: from what is stored to light, both 0 to 1.
private enum ToneCurve {
  case gamma(Double)
  case table([Double])
  /// (ax + b)^g + e from d on, cx + f below.
  case segments(g: Double, a: Double, b: Double, c: Double, d: Double, e: Double, f: Double)

  init?(_ tag: UnsafeRawBufferPointer) {
    if tag.starts(with: "curv".utf8) {
      self.init(curve: tag)
    } else if tag.starts(with: "para".utf8) {
      self.init(parameters: tag)
    } else {
      return nil
    }
  }

  private init?(curve tag: UnsafeRawBufferPointer) {
    guard let count = tag.bigEndian(at: 8), count <= (tag.count - 12) / 2 else { return nil }
    let values = (0..<count).map { Double(tag[12 + $0 * 2]) * 256 + Double(tag[13 + $0 * 2]) }
    switch count {
    case 0: self = .gamma(1)
    case 1: self = .gamma(values[0] / 256)
    default: self = .table(values.map { $0 / 65_535 })
    }
  }

  private init?(parameters tag: UnsafeRawBufferPointer) {
    guard tag.count >= 12 else { return nil }
    let kind = Int(tag[8]) << 8 | Int(tag[9])
    guard let count = [0: 1, 1: 3, 2: 4, 3: 5, 4: 7][kind], tag.count >= 12 + count * 4 else {
      return nil
    }
    let p = (0..<count).map { tag.fixedPoint(at: 12 + $0 * 4)! }
    switch kind {
    case 0: self = .gamma(p[0])
    case 3: self = .segments(g: p[0], a: p[1], b: p[2], c: p[3], d: p[4], e: 0, f: 0)
    case 4: self = .segments(g: p[0], a: p[1], b: p[2], c: p[3], d: p[4], e: p[5], f: p[6])
    // CIE 122's forms, in which sRGB cannot be written.
    default: return nil
    }
  }

  private func light(_ stored: Double) -> Double {
    switch self {
    case .gamma(let g): return pow(stored, g)
    case .table(let values):
      let place = stored * Double(values.count - 1)
      let below = min(Int(place), values.count - 2)
      return values[below] + (values[below + 1] - values[below]) * (place - Double(below))
    case .segments(let g, let a, let b, let c, let d, let e, let f):
      return stored >= d ? pow(max(0, a * stored + b), g) + e : c * stored + f
    }
  }

  /// Whether no byte would come out as another.
  var isSRGB: Bool {
    (0...255).allSatisfy { byte in
      let stored = Double(byte) / 255
      return abs(SRGB.encoded(light(stored)) - stored) * 255 < 0.5
    }
  }
}

extension UnsafeRawBufferPointer {
  /// An s15Fixed16Number.
  fileprivate func fixedPoint(at offset: Int) -> Double? {
    bigEndian(at: offset).map { Double(Int32(truncatingIfNeeded: $0)) / 65_536 }
  }
}
