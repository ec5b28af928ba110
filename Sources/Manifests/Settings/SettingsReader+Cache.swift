import Vocabulary

extension SettingsReader {
  /// Lays what an object says over `cache`.
  func readCache(_ value: JSONValue, at place: Place, into cache: inout CacheSettings) {
    guard
      let object = ObjectReader(value, at: place, keys: ManifestKeys.cache, problems: problems)
    else { return }
    let lifetime: ClosedRange<Duration> = .zero...DurationText.never
    object.choice("policy").assign(to: &cache.policy)
    object.boolean("shared").assign(to: &cache.shared)
    object.duration("defaultTTL", in: lifetime).assign(to: &cache.defaultTTL)
    object.duration("minTTL", in: lifetime).assign(to: &cache.minTTL)
    if object.value("maxTTL") == .null {
      cache.maxTTL = nil
    } else {
      if let maxTTL = object.duration("maxTTL", in: lifetime) { cache.maxTTL = maxTTL }
    }
    object.duration("negativeTTL", in: lifetime).assign(to: &cache.negativeTTL)
    if object.has("targets") { cache.targets = targets(object) }
    object.duration("staleIfError", in: lifetime).assign(to: &cache.staleIfError)
    if let maxTTL = cache.maxTTL, cache.minTTL > maxTTL {
      problems.add(
        place,
        "minTTL (\(DurationText.format(cache.minTTL))) is longer than maxTTL "
          + "(\(DurationText.format(maxTTL)))")
    }
  }

  private func targets(_ object: ObjectReader) -> [String] {
    var met: Set<String> = []
    return (object.strings("targets") ?? []).compactMap { place, name in
      guard HeaderRules.isName(name) else {
        problems.add(place, "\(Shown.quoted(name)) is no header's name")
        return nil
      }
      guard met.insert(name.lowercased()).inserted else {
        problems.add(place, "\"\(name)\" is given twice")
        return nil
      }
      return name
    }
  }
}
