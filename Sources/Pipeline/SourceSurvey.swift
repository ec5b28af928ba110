import LedgerCore
import Manifests
import Vocabulary

/// Reads the sources of a manifest that are files or standard input, to count and to see what is wrong with
/// them. Ids that stand twice are not looked for: the ledger finds them, in a run.
package struct SourceSurvey: Sendable {
  package struct Result: Sendable {
    package var items = 0
    /// Items that will fail without a request: lines that are none, and unusable URLs.
    package var badItemCount = 0
    /// The first of them.
    package var badItems: [BadItem] = []
    /// Sources that cannot be read to their end.
    package var failures: [FailureRecord] = []
    /// Those at URLs.
    package var notAsked: [String] = []
  }

  private let manifest: ManifestFile
  private let most: Int

  /// - Parameter most: of bad items that are told.
  package init(of manifest: ManifestFile, most: Int) {
    self.manifest = manifest
    self.most = most
  }

  package func run() async -> Result {
    var result = Result()
    for (i, source) in manifest.sources.enumerated() {
      guard let order = SourceReader.Order(source, at: i, of: manifest) else {
        result.notAsked.append(source.shown)
        continue
      }
      do {
        try await read(order, &result)
      } catch {
        result.failures.append(FailureRecord(error))
      }
    }
    return result
  }

  private func read(
    _ order: SourceReader.Order, _ result: inout Result
  ) async throws(SourceFailure) {
    let pages = ItemPages()
    try await pages.open(order)
    while case let page = try await pages.nextPage(), !page.isEmpty {
      let bad = SortedItems(page.items).bad
      result.items += page.items.count
      result.badItemCount += bad.count
      result.badItems += bad.prefix(most - result.badItems.count)
    }
  }
}

extension SourceReader.Order {
  /// - Returns: nil of a source at a URL.
  init?(_ source: SourceAddress, at index: Int, of manifest: ManifestFile) {
    let path: String?
    switch source.location {
    case .file(let name): path = name
    case .standardInput: path = nil
    case .web: return nil
    }
    self.init(path: path, of: source, place: "sources[\(index)]", of: manifest)
  }

  /// - Parameter path: where its bytes are; nil: standard input.
  init(path: String?, of source: SourceAddress, place: String, of manifest: ManifestFile) {
    self.init(
      path: path, shown: source.shown, place: place, format: source.namedFormat,
      variants: Set(manifest.settings.variants.map(\.name)))
  }
}
