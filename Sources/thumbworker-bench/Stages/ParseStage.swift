/// A manifest read twice, as a run does: checked as a whole, then its items. The floor parses its JSON
/// once and keeps nothing.
struct ParseStage {
  let context: StageContext

  func prepare() throws -> Comparison {
    let count = context.options.items ?? 100_000
    let manifest = "\(try context.folder.make("parse"))/catalog.json"
    try ManifestText.write(
      to: manifest, head: ManifestText.head, items: count, url: ManifestText.catalogURL)
    return Comparison(
      stage: .parse, unit: "item", conditions: "a manifest of \(count) items",
      contenders: [.work("thumbworker", .parse) { ["manifest": manifest] }]
        + context.yardsticks.floor(
          "yajl in C", program: "ledger", arguments: { ["yajl", manifest] },
          read: {
            Sample(
              items: count, wall: $0.wall, processor: $0.processor, peakBytes: $0.peakBytes)
          }))
  }
}
