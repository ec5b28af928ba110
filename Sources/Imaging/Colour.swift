import CVips

/// Any picture to 8-bit sRGB or 8-bit grey, its embedded profile honoured.
///
/// | picture | way |
/// |---|---|
/// | 8 bit with a profile of sRGB | as it is |
/// | with another usable profile | through it, relative intent |
/// | with a profile that is broken or of another colour model | the profile is dropped, a warning |
/// | CMYK without one | through libvips' built-in CMYK profile, a warning |
/// | 16 bit, float, Lab without one | scaled to 8 bit, never clipped |
/// | 8-bit RGB or grey without one | as it is |
///
/// The inks of a JPEG are stored the other way round, as Adobe began it: libvips turns them back whether
/// or not Adobe's marker is there, since nobody stores them as they are.
struct ColourConversion {
  /// Whether the pixels can be resized before they are converted, which is cheaper.
  static func canFollowResizing(_ picture: Picture) -> Bool {
    picture.isBytes && !picture.hasAlpha
      && [
        VIPS_INTERPRETATION_sRGB, VIPS_INTERPRETATION_RGB, VIPS_INTERPRETATION_B_W,
        VIPS_INTERPRETATION_CMYK,
      ].contains(picture.interpretation)
  }

  static func toSRGB(_ picture: Picture) throws(VipsFailure) -> Picture {
    guard picture.hasAlpha, !picture.isBytes else { return try coloursToSRGB(picture) }
    let colours = try coloursToSRGB(picture.withoutAlpha())
    return try vips("bandjoin", ["in": .pictures([colours, picture.alphaInBytes()])])
  }

  private static func coloursToSRGB(_ picture: Picture) throws(VipsFailure) -> Picture {
    guard let embedded = picture.blob(MetadataField.iccProfile) else {
      return try withoutProfile(picture)
    }
    let isCompatible =
      vips_icc_is_compatible_profile(picture.image, embedded.baseAddress, embedded.count) != 0
    if isCompatible, let profile = ICCProfile(embedded), profile.bands == picture.colourBands {
      do {
        return try throughProfile(picture, profile.intent, ["embedded": .bool(true)])
      } catch {
        WarningLog.add(error.words)
      }
    }
    WarningLog.hearErrors()
    WarningLog.note("the colour profile cannot be used: dropped")
    return try withoutProfile(picture.withoutEmbeddedProfile())
  }

  /// Without its profile where that says nothing: most that are embedded are sRGB's own.
  static func withoutNeedlessProfile(_ picture: Picture) throws(VipsFailure) -> Picture {
    guard picture.isBytes, picture.colourBands == 3,
      let embedded = picture.blob(MetadataField.iccProfile), ICCProfile(embedded)?.isSRGB == true
    else { return picture }
    return try picture.withoutEmbeddedProfile()
  }

  private static func throughProfile(
    _ picture: Picture, _ intent: VipsIntent, _ options: [String: OperationArgument]
  ) throws(VipsFailure) -> Picture {
    let common: [String: OperationArgument] = [
      "in": .picture(picture), "output-profile": .text("srgb"),
      "intent": .int(Int(intent.rawValue)), "depth": .int(8),
      // Else the black of ink would come out as dark grey.
      "black-point-compensation": .bool(true),
    ]
    return try vips("icc_transform", common.merging(options) { $1 })
  }

  private static func withoutProfile(_ picture: Picture) throws(VipsFailure) -> Picture {
    switch picture.interpretation {
    case VIPS_INTERPRETATION_CMYK:
      WarningLog.note("CMYK without a colour profile: a common one was assumed")
      return try throughProfile(
        picture, VIPS_INTENT_RELATIVE,
        ["embedded": .bool(false), "input-profile": .text("cmyk")])
    case VIPS_INTERPRETATION_sRGB where picture.isBytes,
      VIPS_INTERPRETATION_B_W where picture.isBytes:
      return picture
    case VIPS_INTERPRETATION_B_W, VIPS_INTERPRETATION_GREY16:
      return try converted(picture, to: VIPS_INTERPRETATION_B_W)
    default:
      return try converted(picture, to: VIPS_INTERPRETATION_sRGB)
    }
  }

  private static func converted(
    _ picture: Picture, to space: VipsInterpretation
  ) throws(VipsFailure) -> Picture {
    let converted = try vips(
      "colourspace", ["in": .picture(picture), "space": .int(Int(space.rawValue))])
    guard !converted.isBytes else { return converted }
    return try vips(
      "cast", ["in": .picture(converted), "format": .int(Int(VIPS_FORMAT_UCHAR.rawValue))])
  }
}

extension Picture {
  fileprivate func withoutEmbeddedProfile() throws(VipsFailure) -> Picture {
    let bare = try withOwnMetadata()
    bare.remove(MetadataField.iccProfile)
    return bare
  }
}
