import Glibc

/// A root whose ledger holds so many entries, with four variants and four names each: runs in which nothing
/// is due, what a claim and a settlement cost in such a ledger, and `status`.
struct ScaleStage {
  let context: StageContext

  /// Claimed and settled in a round, however many items there are.
  private static let mostClaims = 10_000

  func prepare() throws -> Comparison {
    let count = context.options.items ?? 100_000
    let folder = try context.folder.make("scale")
    let (manifest, root) = ("\(folder)/bench.json", "\(folder)/root")
    try ManifestText.write(
      to: manifest, head: ManifestText.head, items: count, url: ManifestText.catalogURL)
    let queued = try ChildProcess.run([
      try Programs.thumbworker, "enqueue", manifest, "--root", root,
    ])
    // A run tells the ledger by which encoders variants are made; all is due where those change.
    let nothing = "\(folder)/nothing.json"
    try ManifestText.write(
      to: nothing, head: #""version":1,"name":"nothing","variants":[{"name":"w","width":9}]"#,
      items: 0, url: ManifestText.catalogURL)
    _ = try ChildProcess.run([try Programs.thumbworker, "run", nothing, "--root", root])
    let ledger = "\(root)/ledger.sqlite"
    try FilledLedger(path: ledger).fill(scriptsIn: folder)
    // Where a job's folder is missing, its names are made again.
    guard mkdir("\(root)/public/bench", 0o755) == 0 else {
      throw BenchFailure.system("make", "\(root)/public/bench")
    }
    let claims = min(count, Self.mostClaims)
    return Comparison(
      stage: .scale, unit: "item",
      conditions: """
        \(count) entries with four variants each, all fresh; \(claims) claimed and settled a round; \
        enqueued in \(Int(queued.wall.rounded())) s; \(try bytes(of: ledger) / count) bytes of ledger \
        for each
        """,
      contenders: [
        run("unchanged", count) { [manifest, "--root", root] },
        run("touched", count) {
          touch(manifest)
          return [manifest, "--root", root]
        },
        run("reread", count) { [manifest, "--root", root, "--reread"] },
        status(root),
        .work("thumbworker", .scale) { ["ledger": ledger, "claims": "\(claims)"] },
      ] + context.yardsticks.lookUps(count, part: "reread", in: context.folder))
  }

  private func run(
    _ part: String, _ count: Int, _ arguments: @escaping () throws -> [String]
  ) -> Contender {
    Contender.run("thumbworker run", items: count, outcome: "fresh", arguments).asPart(part)
  }

  private func status(_ root: String) -> Contender {
    Contender(
      name: "thumbworker status",
      command: { [try Programs.thumbworker, "status", "--json", "--root", root] },
      read: { child in
        [
          (
            "status",
            Sample(
              items: 1, wall: child.wall, processor: child.processor, peakBytes: child.peakBytes)
          )
        ]
      })
  }

  /// With a time of long ago, another each time: what was changed just now is not trusted by its time.
  private func touch(_ file: String) {
    let time = timeval(tv_sec: 1_000_000_000 + Int(seconds()), tv_usec: 0)
    utimes(file, [time, time])
  }

  private func bytes(of file: String) throws -> Int {
    var status = stat()
    guard stat(file, &status) == 0 else { throw BenchFailure.system("look at", file) }
    return Int(status.st_size)
  }
}

extension Contender {
  fileprivate func asPart(_ part: String) -> Contender {
    var contender = self
    contender.read = { [read] child in try read(child).map { (part, $0.sample) } }
    return contender
  }
}
