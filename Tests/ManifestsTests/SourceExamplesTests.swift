import Testing
import Vocabulary

@testable import Manifests

@Suite struct `The examples in jobs` {
  private static let folder =
    "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/") + "/jobs"

  @Test func `are free of faults, each source by a form of its own`() throws {
    let manifest = try ManifestFile.open(path: Self.folder + "/sources.json", environment: [:])
    var read: [SourceFormat: [ManifestItem]] = [:]
    for source in manifest.sources {
      guard case .file(let path) = source.location else { continue }
      let reader = try SourceReader(
        SourceReader.Order(
          path: path, shown: source.shown, place: "s", format: source.namedFormat,
          variants: Set(manifest.settings.variants.map(\.name))))
      while case let page = try reader.next(atMost: 10), !page.isEmpty {
        read[try #require(reader.format), default: []] += page.items
      }
    }
    #expect(read.mapValues(\.count) == [.ndjson: 3, .csv: 3, .text: 3, .sitemap: 2])
    for case .unusable(_, let shown, let failure) in read.values.joined() {
      Issue.record("\(shown): \(failure.message)")
    }
  }
}
