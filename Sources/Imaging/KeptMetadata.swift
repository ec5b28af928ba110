import CVips
import Vocabulary

extension Picture {
  /// With the metadata that a variant is to carry, and none besides.
  ///
  /// The pixels are upright sRGB by now: orientation and profile of the original never stay.
  func keeping(_ metadata: VariantSpec.Metadata) throws(VipsFailure) -> Picture {
    let picture = try withOwnMetadata()
    // All of it, whatever the encoder is told: libvips' WebP encoder writes EXIF even when it is to
    // strip it.
    for field in picture.fields where !metadata.keeps(field) { picture.remove(field) }
    if metadata == .none { return picture }
    try picture.embedSRGBProfile()
    if metadata == .copyright, picture.fields.contains(where: { $0.hasPrefix("exif-") }) {
      picture.embedEmptyEXIF()
    }
    return picture
  }

  /// The fields that are kept are written into it; PNG's encoder makes none of its own.
  private func embedEmptyEXIF() {
    let directory: [UInt8] = [0, 0, 0, 0, 0, 0]
    let empty = Array("Exif\0\0II*\0".utf8) + [8, 0, 0, 0] + directory
    vips_image_set_blob_copy(image, MetadataField.exif, empty, empty.count)
  }

  private func embedSRGBProfile() throws(VipsFailure) {
    guard bands >= 3 else { return remove(MetadataField.iccProfile) }
    let profile = try vips(
      "profile_load", ["name": .text("srgb")], read: { $0.bytes("profile") })
    profile.withUnsafeBytes {
      vips_image_set_blob_copy(image, MetadataField.iccProfile, $0.baseAddress, $0.count)
    }
  }
}

extension VariantSpec.Metadata {
  fileprivate func keeps(_ field: String) -> Bool {
    // Of an animation, not of the original's author.
    let structure = [MetadataField.pageHeight, MetadataField.delays, MetadataField.loop]
    if structure.contains(field) { return true }
    switch self {
    case .none, .icc: return false
    case .copyright: return field == "exif-ifd0-Copyright" || field == "exif-ifd0-Artist"
    case .all: return !Self.staleAfterRendering(field)
    }
  }

  /// What would be wrong of the variant: the original's size, turn, colours and preview.
  private static func staleAfterRendering(_ field: String) -> Bool {
    field.hasSuffix("Orientation") || field == MetadataField.orientation
      || field == MetadataField.iccProfile || field == MetadataField.pages
      || field.hasPrefix("exif-ifd1-") || field.contains("thumbnail")
      || field.hasSuffix("PixelXDimension") || field.hasSuffix("PixelYDimension")
  }
}
