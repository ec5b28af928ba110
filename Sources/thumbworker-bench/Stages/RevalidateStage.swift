/// A run in which the origin confirms every stored copy (304). The floor fetches the same files whole
/// and stores nothing.
struct RevalidateStage {
  let context: StageContext

  func prepare() throws -> Comparison {
    let count = context.options.items ?? 40_000
    let folder = try context.folder.make("revalidate")
    let corpus = try Corpus.noise(count: count, bytes: 2000...6000, in: folder)
    let list = "\(folder)/list"
    try corpus.writeList(to: list)
    let origin = try Origin(
      serving: folder, home: try context.folder.make("nginx"),
      server: "add_header Cache-Control no-cache;")
    let manifest = "\(folder)/bench.json"
    try ManifestText.write(to: manifest, head: ManifestText.head, items: count) { number in
      "\(origin.url)/\(corpus.names[number])"
    }
    let root = try context.folder.make("root")
    let first = Contender.run("", items: count, outcome: "fetched") { [manifest, "--root", root] }
    _ = try first.round()
    return Comparison(
      stage: .revalidate, unit: "item",
      conditions: "\(count) items, nginx on loopback answers 304 to all",
      contenders: [
        .run("thumbworker run", items: count, outcome: "revalidated") {
          withExtendedLifetime(origin) { [manifest, "--root", root] }
        }
      ] + context.yardsticks.fetches(origin.url, list, requests: count, context.options))
  }
}
