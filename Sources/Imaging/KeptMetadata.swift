import CVips
import Vocabulary

extension Picture {
  /// With the metadata that a variant is to carry, and none besides.
  ///
  /// The pixels are upright sRGB by now: orientation and profile of the original never stay.
  func keeping(_ metadata: VariantSpec.Metadata) throws(VipsFailure) -> Picture {
    if metadata == .none { return self }
    let picture = try withOwnMetadata()
    for field in picture.fields where !metadata.keeps(field) { picture.remove(field) }
    try picture.embedSRGBProfile()
    return picture
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
