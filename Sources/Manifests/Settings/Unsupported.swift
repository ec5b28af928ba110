import Vocabulary

/// What the contract names and this version cannot do yet: refused with these words, never ignored.
/// Whoever makes one of them work takes it out here.
enum Unsupported {
  static let documentKeys: Set<String> = ["fallback", "sources"]

  /// Originals that no decoder takes, whatever the manifest allows.
  static let formats: Set<ImageFormat> = [.svg, .jp2, .bmp, .pdf]

  static let message = "not supported yet"
}
