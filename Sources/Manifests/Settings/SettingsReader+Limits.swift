import Vocabulary

extension SettingsReader {
  /// Lays what an object says over `limits`.
  func readLimits(_ value: JSONValue, at place: Place, into limits: inout LimitSettings) {
    guard
      let object = ObjectReader(value, at: place, keys: ManifestKeys.limits, problems: problems)
    else { return }
    object.integer("maxPixels", in: 1...10_000_000_000).assign(to: &limits.maxPixels)
    object.integer("maxFrames", in: 1...100_000).assign(to: &limits.maxFrames)
    object.duration("decodeTimeout", in: .milliseconds(100) ... .hours(1)).assign(
      to: &limits.decodeTimeout)
    object.byteSize("memory", in: (128 << 20)...(1 << 40)).assign(to: &limits.memory)
    if object.has("formats") { limits.formats = formats(object) }
  }

  private func formats(_ object: ObjectReader) -> Set<ImageFormat> {
    guard let names = object.strings("formats") else { return ImageFormat.allowedByDefault }
    let known = ImageFormat.allCases.map(\.rawValue)
    var formats: Set<ImageFormat> = []
    for (place, name) in names {
      guard let format = ImageFormat(rawValue: name) else {
        problems.add(
          place,
          "\(Shown.quoted(name)) is not \(Shown.alternatives(known))"
            + Suggestion.text(for: name, among: known))
        continue
      }
      if !formats.insert(format).inserted { problems.add(place, "\"\(name)\" is given twice") }
    }
    if object.array("formats") == [] {
      object.reject("formats", "is empty: no picture could be read")
    }
    return formats
  }
}
