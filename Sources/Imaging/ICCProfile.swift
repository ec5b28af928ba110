import CVips

/// What must be known of an embedded profile before libvips applies it: libvips takes a grey profile
/// for a colour picture, and applies nothing where the profile lacks the intent that is asked for.
///
/// The layout is ICC.1's: a header of 128 bytes, then a table of tags of 12 bytes each.
struct ICCProfile {
  /// Channels of the device side: 1, 3 or 4; nil for others.
  let bands: Int?
  let intent: VipsIntent

  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= 132, bytes[36..<40].elementsEqual("acsp".utf8) else { return nil }
    bands = ["GRAY": 1, "RGB ": 3, "CMYK": 4][String(decoding: bytes[16..<20], as: UTF8.self)]
    let tags = Self.tags(of: bytes)
    // Tables for perceptual rendering (A2B0) alone: nothing else is defined then.
    let isPerceptualOnly = tags.contains("A2B0") && !tags.contains("A2B1")
    intent = isPerceptualOnly ? VIPS_INTENT_PERCEPTUAL : VIPS_INTENT_RELATIVE
  }

  private static func tags(of bytes: UnsafeRawBufferPointer) -> Set<String> {
    let count = bytes[128..<132].reduce(0) { $0 << 8 | Int($1) }
    let room = (bytes.count - 132) / 12
    return Set(
      (0..<min(count, room)).map { index in
        String(decoding: bytes[(132 + index * 12)..<(136 + index * 12)], as: UTF8.self)
      })
  }
}
