import Manifests
import Threading
import Vocabulary

/// Reads a manifest's items or those of one of its sources, a page at a time, on a thread of its own.
actor ItemPages {
  /// Enough for look-ups in key order to pay, few enough to stay small.
  static let size = 16_384

  private let executor = ThreadExecutor(name: "tw-manifest")

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private var items: ItemReader?
  private var source: SourceReader?

  deinit { executor.stop() }

  // MARK: The manifest's own

  /// The manifest itself, checked.
  func manifest(
    ofFileAt path: String, environment: [String: String]
  ) throws(ManifestFailure) -> ManifestFile {
    try ManifestFile.open(path: path, environment: environment)
  }

  func open(_ manifest: ManifestFile) throws(RunStop) {
    do { items = try manifest.makeItemReader() } catch { throw RunStop(error) }
  }

  /// Empty at the end.
  func nextItems() throws(RunStop) -> [ManifestItem] {
    do { return try items?.next(atMost: Self.size) ?? [] } catch { throw RunStop(error) }
  }

  // MARK: A source's

  func open(
    _ order: SourceReader.Order, isCancelled: @escaping @Sendable () -> Bool = { false }
  ) throws(SourceFailure) {
    source = try SourceReader(order, isCancelled: isCancelled)
  }

  /// Empty at the end.
  func nextPage() throws(SourceFailure) -> SourcePage {
    try source?.next(atMost: Self.size) ?? SourcePage()
  }

  /// Of the source; nil: its first bytes will tell.
  var format: SourceFormat? { source?.format }

  var isPipe: Bool { source.map { $0.identity == nil } ?? false }

  /// Of the source, when it was read to its end.
  func end() -> SourceEnd? {
    source.map { source in
      SourceEnd(
        identity: source.identity, digest: source.digest(), format: source.format,
        children: source.children.map(\.url))
    }
  }

  func digest(ofFileAt path: String) -> Digest? { try? ManifestFile.digest(ofFileAt: path) }
}

/// What is known of a source that was read to its end.
struct SourceEnd: Sendable {
  /// Nil of a pipe, which is never known to be the same.
  var identity: ManifestFile.Identity?
  var digest: Digest
  var format: SourceFormat?
  /// The sitemaps that it lists.
  var children: [ItemURL]
}
