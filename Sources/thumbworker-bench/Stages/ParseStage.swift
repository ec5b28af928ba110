import Manifests

/// A manifest read twice, as a run does: checked as a whole, then its items; and the same items as sources,
/// which are read once. The floor parses the manifest's JSON once and keeps nothing.
struct ParseStage {
  let context: StageContext

  func prepare() throws -> Comparison {
    let count = context.options.items ?? 100_000
    let folder = try context.folder.make("parse")
    let manifest = "\(folder)/catalog.json"
    try ManifestText.write(
      to: manifest, head: ManifestText.head, items: count, url: ManifestText.catalogURL)
    return Comparison(
      stage: .parse, unit: "item", conditions: "a manifest, and sources, of \(count) items",
      contenders: [.work("thumbworker", .parse) { ["manifest": manifest] }]
        + (try sources(of: count, in: folder))
        + context.yardsticks.floor(
          "yajl in C", program: "ledger", arguments: { ["yajl", manifest] },
          read: {
            Sample(
              items: count, wall: $0.wall, processor: $0.processor, peakBytes: $0.peakBytes)
          }))
  }

  private func sources(of count: Int, in folder: String) throws -> [Contender] {
    try SourceFormat.allCases.map { format in
      let path = "\(folder)/list.\(format.rawValue)"
      try ManifestText.writeSource(to: path, format, items: count)
      return .work("thumbworker, \(format.rawValue)", .parse) { ["source": path] }
    }
  }
}
