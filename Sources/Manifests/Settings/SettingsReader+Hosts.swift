import Vocabulary

extension SettingsReader {
  /// The overrides, already laid over the job's own settings.
  func hosts(_ document: ObjectReader, over settings: JobSettings) -> [HostOverride] {
    var met: [String: Place] = [:]
    return (document.array("hosts") ?? []).enumerated().compactMap { i, value in
      let place = document.place["hosts"][i]
      guard
        let object = ObjectReader(value, at: place, keys: ManifestKeys.host, problems: problems)
      else { return nil }
      var network = settings.network
      var cache = settings.cache
      if let value = object.value("network") {
        readNetwork(value, at: place["network"], into: &network, forHost: true)
      }
      if let value = object.value("cache") { readCache(value, at: place["cache"], into: &cache) }
      guard let match = pattern(object) else { return nil }
      if let first = met[match.description.lowercased()] {
        object.reject(
          "match", "\"\(match)\" is already matched by \(first): this one never applies")
      } else {
        met[match.description.lowercased()] = place
      }
      return HostOverride(match: match, network: network, cache: cache)
    }
  }

  private func pattern(_ object: ObjectReader) -> HostPattern? {
    guard object.has("match") else {
      object.reject("match", "is missing: name a host")
      return nil
    }
    guard let text = object.string("match") else { return nil }
    let pattern = HostPattern(text)
    if pattern == nil {
      object.reject(
        "match",
        "\(Shown.quoted(text)) is no host: write \"cdn.example.com\" or \"*.example.com\"")
    }
    return pattern
  }
}
