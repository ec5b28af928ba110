/// Why an image, or one variant of it, cannot be made.
package struct ImagingFailure: Error, Sendable, Hashable {
  package enum Kind: Sendable, Hashable, CaseIterable {
    case notAnImage, unsupportedFormat, corrupt, truncated, tooManyPixels, memory
    /// A setting of the recipe that cannot be met with this picture.
    case unsupportedSetting
    /// `maxBytes` cannot be met.
    case overBudget
  }

  package var kind: Kind
  /// For people; libvips' words where it was libvips that gave up.
  package var message: String

  package init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }
}

extension ImagingFailure {
  /// While reading an original. libvips has one error for all causes, so that its words must tell
  /// them apart; what they do not name is corrupt.
  init(reading failure: VipsFailure) {
    self.init(Self.kind(of: failure.words), failure.words)
  }

  private static func kind(of words: String) -> Kind {
    let words = words.lowercased()
    return phrases.first { words.contains($0.phrase) }?.kind ?? .corrupt
  }

  /// In the words of libvips 8.14, libjpeg-turbo 2.1, libpng 1.6, libnsgif, libwebp 1.2, libtiff 4.5
  /// and libheif 1.15. A half PNG is "libpng read error", as is one with a broken checksum:
  /// `PNGStructure` tells those apart.
  private static let phrases: [(phrase: String, kind: Kind)] = [
    ("out of memory", .memory),
    ("insufficient memory", .memory),
    ("memory allocation", .memory),
    ("cannot allocate", .memory),
    ("failed to allocate", .memory),
    ("premature end of input", .truncated),
    ("unexpected end", .truncated),
    ("end of file", .truncated),
    ("truncated", .truncated),
    ("not enough data", .truncated),
    ("short read", .truncated),
    ("bad seek", .truncated),
    ("unsupported", .unsupportedFormat),
    ("not supported", .unsupportedFormat),
  ]
}
