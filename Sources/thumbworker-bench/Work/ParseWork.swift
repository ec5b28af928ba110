import Manifests

/// Opens a manifest and reads all its items.
struct ParseWork: Work {
  private let manifest: String

  init(_ values: WorkValues) throws { manifest = try values.text("manifest") }

  func run() async throws {
    try await WorkReport.measure {
      let file = try ManifestFile.open(path: manifest, environment: [:])
      let reader = try file.makeItemReader()
      var count = 0
      while case let page = try reader.next(atMost: 16_384), !page.isEmpty { count += page.count }
      guard count == file.itemCount else { throw BenchFailure(message: "\(count) items were read") }
      return count
    }
  }
}
