/// The ledger by itself: items that are new, the same once more, claims, settlements with an original
/// and four variants each. The floor of the first is a table of five columns; of the second, a look-up
/// of each key.
struct LedgerStage {
  let context: StageContext

  /// Claimed and settled in a round, however many items there are.
  private static let mostClaims = 10_000

  func prepare() throws -> Comparison {
    let count = context.options.items ?? 100_000
    let folder = context.folder.turns("ledger")
    return Comparison(
      stage: .ledger, unit: "item",
      conditions: "\(count) items, \(min(count, Self.mostClaims)) of them claimed and settled",
      contenders: [
        .work("thumbworker", .ledger) {
          [
            "ledger": "\(try folder())/ledger.sqlite", "items": "\(count)",
            "claims": "\(min(count, Self.mostClaims))",
          ]
        }
      ] + ingestFloor(count) + rereadFloor(count))
  }

  private func ingestFloor(_ count: Int) -> [Contender] {
    let folder = context.folder.turns("built")
    return context.yardsticks.floor(
      "one table in C", program: "ledger", part: "ingest",
      arguments: { ["build", "\(try folder())/l.db", "wr", "\(count)", "sorted", "16384"] },
      read: { child in
        Sample(
          items: count, wall: child.wall, processor: child.processor, peakBytes: child.peakBytes)
      })
  }

  private func rereadFloor(_ count: Int) -> [Contender] {
    context.yardsticks.lookUps(count, part: "reread", in: context.folder)
  }
}

extension Yardsticks {
  /// Each of so many keys looked up in a table of them, in their order.
  func lookUps(_ count: Int, part: String = "", in folder: BenchFolder) -> [Contender] {
    var made: (table: String, urls: String)?
    return floor(
      "look-ups in C", program: "ledger", part: part,
      arguments: {
        let files = try made ?? lookUpFiles(count, folder.make("look-ups"))
        made = files
        return ["noop", files.table, files.urls, "sortsel", "64"]
      },
      read: { child in
        Sample(
          items: count, wall: child.wall, processor: child.processor, peakBytes: child.peakBytes)
      })
  }

  private func lookUpFiles(
    _ count: Int, _ folder: String
  ) throws -> (table: String, urls: String) {
    let (table, urls) = ("\(folder)/l.db", "\(folder)/urls")
    let program = "\(self.folder!)/ledger"
    _ = try ChildProcess.run([
      program, "gen", "\(count)", "\(folder)/l.ndjson", "\(folder)/l.json", urls,
    ])
    _ = try ChildProcess.run([program, "build", table, "wr", "\(count)", "sorted", "16384"])
    return (table, urls)
  }
}
