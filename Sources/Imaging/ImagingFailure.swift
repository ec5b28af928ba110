import Vocabulary

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
  /// them apart; what they do not name is corrupt, or cut where the file says it should be longer.
  init(reading failure: VipsFailure, of file: UnsafeRawBufferPointer, _ format: ImageFormat) {
    let words = failure.wordsOrLog
    let kind = Self.kind(of: words)
    let isCut = kind == .corrupt && DeclaredExtent.isCut(file, format)
    self.init(isCut ? .truncated : kind, words)
  }

  /// While making a variant: the original has been read by then.
  init(writing failure: VipsFailure) {
    let words = failure.wordsOrLog
    self.init(Self.kind(of: words) == .memory ? .memory : .unsupportedSetting, words)
  }

  private static func kind(of words: String) -> Kind {
    let words = words.lowercased()
    return phrases.first { words.contains($0.phrase) }?.kind ?? .corrupt
  }

  /// In the words of libvips 8.14, libjpeg-turbo 2.1, libnsgif, libwebp 1.2, libtiff 4.5 and
  /// libheif 1.15. The first that is said counts.
  private static let phrases: [(phrase: String, kind: Kind)] = [
    ("security limit", .tooManyPixels),
    ("out of memory", .memory),
    ("insufficient memory", .memory),
    ("memory allocation", .memory),
    ("cannot allocate", .memory),
    ("failed to allocate", .memory),
    ("premature end", .truncated),
    ("unexpected end", .truncated),
    ("end of file", .truncated),
    ("read error", .corrupt),
    ("truncated", .truncated),
    ("not enough data", .truncated),
    ("short read", .truncated),
    ("unsupported", .unsupportedFormat),
    ("not supported", .unsupportedFormat),
  ]
}

extension VipsFailure {
  fileprivate var wordsOrLog: String {
    if !words.isEmpty { return words }
    let logged = WarningLog.take().joined(separator: "; ")
    return logged.isEmpty ? "libvips gives no reason" : String(logged.prefix(Self.maxWords))
  }
}
