/// A run in which every item is fresh: nothing is asked for. The floor looks up each key.
struct EmptyStage {
  let context: StageContext

  /// That the items share, so that the run before the first round does not take hours.
  private static let mostFiles = 1000

  func prepare() throws -> Comparison {
    let count = context.options.items ?? 100_000
    let folder = try context.folder.make("empty")
    let corpus = try Corpus.noise(
      count: min(count, Self.mostFiles), bytes: 2000...6000, in: folder)
    let (manifest, root) = ("\(folder)/bench.json", "\(folder)/root")
    try fill(root, manifest, count, corpus)
    return Comparison(
      stage: .empty, unit: "item",
      conditions: "\(count) items of \(corpus.names.count) URLs, all fresh, nothing published",
      contenders: [
        .run("thumbworker run", items: count, outcome: "fresh") { [manifest, "--root", root] },
        .run("thumbworker run --reread", items: count, outcome: "fresh") {
          [manifest, "--root", root, "--reread"]
        },
      ] + context.yardsticks.lookUps(count, in: context.folder))
  }

  private func fill(
    _ root: String, _ manifest: String, _ count: Int, _ corpus: Corpus
  ) throws {
    let origin = try Origin(
      serving: corpus.folder, home: try context.folder.make("nginx"),
      server: "add_header Cache-Control max-age=31536000;")
    try ManifestText.write(
      to: manifest, head: ManifestText.head + #","publish":false"#, items: count
    ) { number in "\(origin.url)/\(corpus.names[number % corpus.names.count])" }
    let first = Contender.run("", items: count, outcome: "fetched") { [manifest, "--root", root] }
    _ = try first.round()
  }
}
