import Vocabulary

/// Turns a manifest's head into `JobSettings`, noting all that is wrong with it.
struct SettingsReader {
  let problems: Problems
  /// Where `${NAME}` in headers and proxies comes from.
  let environment: [String: String]
  /// What the paths of files are relative to.
  var folder = "/"
  /// Stands for a variable that is not set, where nothing is to be asked; nil: that is a problem.
  var standIn: String?

  struct Result {
    var settings: JobSettings
    /// The names that an item's `variants` may hold, those of faulty variants too, so that one slip
    /// is not reported once per item.
    var variantNames: Set<String>
    var sources: [SourceAddress] = []
  }

  /// - Parameters:
  ///   - head: an object; `items` may be left out.
  ///   - defaultName: where the head gives no name.
  func read(_ head: JSONValue, defaultName: String) -> Result {
    var result = Result(settings: JobSettings(name: defaultName), variantNames: [])
    guard
      let document = ObjectReader(
        head, at: .document, keys: ManifestKeys.document, unsupported: Unsupported.documentKeys,
        problems: problems)
    else { return result }
    readVersion(document)
    _ = document.string("$schema")
    result.settings.name = name(document, default: defaultName)
    if let network = document.value("network") {
      readNetwork(network, at: document.place["network"], into: &result.settings.network)
    }
    if let cache = document.value("cache") {
      readCache(cache, at: document.place["cache"], into: &result.settings.cache)
    }
    result.settings.hosts = hosts(document, over: result.settings)
    if let limits = document.value("limits") {
      readLimits(limits, at: document.place["limits"], into: &result.settings.limits)
    }
    readVariants(document, into: &result)
    readPublish(document, into: &result.settings)
    result.sources = sources(document)
    return result
  }

  private func sources(_ document: ObjectReader) -> [SourceAddress] {
    var met: [SourceAddress.Location: Place] = [:]
    return (document.strings("sources") ?? []).compactMap { place, text in
      do throws(SourceAddressFault) {
        let source = try SourceAddress(text, folder: folder)
        if let first = met[source.location] { problems.add(place, "is the same as \(first)") }
        met[source.location] = met[source.location] ?? place
        return source
      } catch {
        problems.add(place, error.message)
        return nil
      }
    }
  }

  private func readVersion(_ document: ObjectReader) {
    switch document.value("version") {
    case nil: document.reject("version", "is missing: write \"version\": 1")
    case .number(let text)?:
      if WholeNumber(text) != .value(1) {
        document.reject(
          "version", "must be 1, the version that this program reads, not \(Shown.plain(text))")
      }
    case let other?: document.reject("version", "must be the number 1, not \(other.kind)")
    }
  }

  private func name(_ document: ObjectReader, default defaultName: String) -> String {
    guard document.has("name") else {
      if !JobSettings.isLegalName(defaultName) {
        document.reject(
          "name",
          "the file's name \(Shown.quoted(defaultName)) is no job name (\(Self.nameRule)): "
            + "set \"name\"")
      }
      return defaultName
    }
    guard let name = document.string("name") else { return defaultName }
    if !JobSettings.isLegalName(name) {
      document.reject("name", "\(Shown.quoted(name)) is no job name: \(Self.nameRule)")
    }
    return name
  }

  static let nameRule = "up to 64 of a-z 0-9 . _ -, the first a letter or digit"
}
