/// Small bodies from nginx, hashed and dropped. The floor is one thread of libcurl's multi interface.
struct FetchStage {
  let context: StageContext

  private static let files = 1000

  func prepare() throws -> Comparison {
    let folder = try context.folder.make("fetch")
    let corpus = try Corpus.noise(count: Self.files, bytes: 2000...6000, in: folder)
    let list = "\(folder)/list"
    try corpus.writeList(to: list)
    let origin = try Origin(serving: folder, home: try context.folder.make("nginx"))
    let requests = context.options.items ?? 20_000
    let connections = context.options.connections
    let values = [
      "url": origin.url, "list": list, "requests": "\(requests)", "connections": "\(connections)",
    ]
    return Comparison(
      stage: .fetch, unit: "request",
      conditions:
        "\(requests) requests to nginx on loopback, bodies of \(corpus.bytes / Self.files) bytes, "
        + "\(connections) connections",
      contenders: [
        .work("thumbworker", .fetch) { withExtendedLifetime(origin) { values } },
        .work("its transfers alone", .transfer) { values },
      ] + floors(origin.url, list, requests, connections))
  }

  private func floors(
    _ url: String, _ list: String, _ requests: Int, _ connections: Int
  ) -> [Contender] {
    let programs = [("libcurl in C", "fetch"), ("libcurl in C, our fields", "fetch-fields")]
    return programs.flatMap { name, program in
      context.yardsticks.floor(
        name, program: program,
        arguments: { ["-c", "\(connections)", "-r", "\(requests)", "-m", "hash", url, list] },
        read: { child in
          Sample(
            items: requests, wall: try Yardsticks.number(after: "\"wall\":", in: child.output),
            processor: child.processor, peakBytes: child.peakBytes)
        })
    }
  }
}
