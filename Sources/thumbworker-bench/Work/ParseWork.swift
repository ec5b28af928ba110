import Manifests

/// Opens a manifest and reads all its items, or reads those of a source.
struct ParseWork: Work {
  private let manifest: String?
  private let source: String

  init(_ values: WorkValues) throws {
    manifest = try? values.text("manifest")
    source = manifest == nil ? try values.text("source") : ""
  }

  func run() async throws {
    try await WorkReport.measure { try manifest.map(readManifest) ?? readSource() }
  }

  private func readManifest(_ path: String) throws -> Int {
    let file = try ManifestFile.open(path: path, environment: [:])
    let reader = try file.makeItemReader()
    var count = 0
    while case let page = try reader.next(atMost: 16_384), !page.isEmpty { count += page.count }
    guard count == file.itemCount else { throw BenchFailure(message: "\(count) items were read") }
    return count
  }

  private func readSource() throws -> Int {
    let reader = try SourceReader(
      SourceReader.Order(path: source, shown: source, place: "source", format: nil, variants: []))
    var count = 0
    while case let page = try reader.next(atMost: 16_384), !page.isEmpty {
      count += page.items.count
    }
    guard reader.badLines == 0 else {
      throw BenchFailure(message: "\(reader.badLines) lines of \(source) were none")
    }
    return count
  }
}
