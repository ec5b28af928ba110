/// Small bodies from nginx, hashed and dropped. The floor is one thread of libcurl's multi interface.
struct FetchStage {
  let context: StageContext

  private static let mostFiles = 1000

  func prepare() throws -> Comparison {
    let folder = try context.folder.make("fetch")
    let requests = context.options.items ?? 20_000
    let corpus = try Corpus.noise(
      count: min(requests, Self.mostFiles), bytes: 2000...6000, in: folder)
    let list = "\(folder)/list"
    try corpus.writeList(to: list)
    let origin = try Origin(serving: folder, home: try context.folder.make("nginx"))
    let connections = context.options.connections
    let values = [
      "url": origin.url, "list": list, "requests": "\(requests)", "connections": "\(connections)",
    ]
    return Comparison(
      stage: .fetch, unit: "request",
      conditions:
        "\(requests) requests to nginx on loopback, bodies of \(corpus.bytes / corpus.names.count) bytes, "
        + "\(connections) connections",
      contenders: [
        .work("thumbworker", .fetch) { withExtendedLifetime(origin) { values } },
        .work("its transfers alone", .transfer) { values },
      ] + context.yardsticks.fetches(origin.url, list, requests: requests, context.options))
  }
}

extension Yardsticks {
  /// Requests through libcurl's multi interface on one thread, bodies hashed; with its own short head,
  /// and with the fields that we send, where there is such a program.
  func fetches(
    _ url: String, _ list: String, requests: Int, _ options: BenchOptions
  ) -> [Contender] {
    let programs = [("libcurl in C", "fetch"), ("libcurl in C, our fields", "fetch-fields")]
    return programs.flatMap { name, program in
      floor(
        name, program: program,
        arguments: {
          ["-c", "\(options.connections)", "-r", "\(requests)", "-m", "hash", url, list]
        },
        read: { child in
          Sample(
            items: requests, wall: try Yardsticks.number(after: "\"wall\":", in: child.output),
            processor: child.processor, peakBytes: child.peakBytes)
        })
    }
  }
}
