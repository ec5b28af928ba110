/// A kind of image file, told by its first bytes, never by its name or its Content-Type.
package enum ImageFormat: String, Sendable, Hashable, CaseIterable {
  case jpeg, png, webp, gif, avif, heic, tiff
  case svg, jp2, bmp, pdf

  /// What a manifest's `limits.formats` may name and what it allows when it says nothing.
  package static let allowedByDefault: Set<ImageFormat> = [
    .jpeg, .png, .webp, .gif, .avif, .heic, .tiff,
  ]

  /// Without the dot.
  package var fileExtension: String {
    switch self {
    case .jpeg: "jpg"
    case .tiff: "tif"
    default: rawValue
    }
  }

  /// IANA's media type.
  package var mediaType: String {
    switch self {
    case .svg: "image/svg+xml"
    case .pdf: "application/pdf"
    default: "image/\(rawValue)"
    }
  }

  /// The largest side that a file of this format can have, in pixels.
  package var maxSide: Int {
    switch self {
    case .jpeg, .gif: 65_535
    case .webp: 16_383
    case .avif, .heic: 16_384
    default: 1_000_000
    }
  }
}
