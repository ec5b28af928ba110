/// Bodies from nginx that become objects, and their items settled: everything of a run but decoding and
/// publishing. The floor writes such files in groups of 64 and fetches nothing.
struct StoreStage {
  let context: StageContext

  /// As the floor makes them.
  private static let bytes = 20_000...100_000

  func prepare() throws -> Comparison {
    let count = context.options.items ?? 4000
    let folder = try context.folder.make("store")
    let corpus = try Corpus.noise(count: count, bytes: Self.bytes, in: folder)
    let list = "\(folder)/list"
    try corpus.writeList(to: list)
    let origin = try Origin(serving: folder, home: try context.folder.make("nginx"))
    let root = context.folder.turns("root")
    let connections = context.options.connections
    return Comparison(
      stage: .store, unit: "object",
      conditions:
        "\(count) files of \(corpus.bytes / count) bytes from nginx on loopback, "
        + "\(connections) connections",
      contenders: [
        .work("thumbworker", .store) {
          [
            "url": origin.url, "list": list, "root": try root(), "connections": "\(connections)",
          ]
        }
      ] + floor(count))
  }

  /// Written, synced, renamed, its folder synced; then one commit of the group.
  private func floor(_ count: Int) -> [Contender] {
    let folder = context.folder.turns("floor")
    return context.yardsticks.floor(
      "durable writes in C", program: "store",
      arguments: {
        ["-p", "fdbatch", "-g", "64", "-d", "-s", "NORMAL", "-n", "\(count)", try folder()]
      },
      read: { child in
        let rate = try Yardsticks.number(after: "obj/s=", in: child.output)
        let processor = try Yardsticks.number(after: "cpu_us/obj=", in: child.output)
        return Sample(
          items: count, wall: Double(count) / rate, processor: processor * Double(count) * 1e-6,
          peakBytes: child.peakBytes)
      })
  }
}
