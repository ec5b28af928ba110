/// The whole of a run: photographs from nginx to published variants. The floor is the decoding alone,
/// of files, in one process of libvips that makes nothing durable.
struct JobStage {
  let context: StageContext

  func prepare() throws -> Comparison {
    let corpus = try context.photographs(context.options.items ?? 200)
    let count = corpus.names.count
    let origin = try Origin(serving: corpus.folder, home: try context.folder.make("nginx"))
    let manifest = "\(try context.folder.make("job"))/bench.json"
    try ManifestText.write(to: manifest, head: ManifestText.head, items: count) { number in
      "\(origin.url)/\(corpus.names[number])"
    }
    let root = context.folder.turns("root")
    return Comparison(
      stage: .job, unit: "image",
      conditions: "\(count) images of \(corpus.bytes / count) bytes from nginx on loopback, "
        + "widths 1280, 640, 320 and 96",
      contenders: [
        .run("thumbworker run", items: count, outcome: "fetched") {
          try withExtendedLifetime(origin) { [manifest, "--root", try root()] }
        }
      ] + context.decodeFloor(corpus))
  }
}
