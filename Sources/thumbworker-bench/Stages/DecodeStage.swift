/// Photographs through the confined decoders, four variants of each. The floor is one process of
/// libvips and the same resizer, without confinement, on files.
struct DecodeStage {
  let context: StageContext

  func prepare() throws -> Comparison {
    let count = context.options.items ?? 200
    let corpus = try context.photographs(count)
    let list = "\(try context.folder.make("decode"))/list"
    try corpus.writeList(to: list)
    let decoder = try Programs.thumbdecoder
    return Comparison(
      stage: .decode, unit: "image",
      conditions: "\(corpus.names.count) images of \(corpus.bytes / corpus.names.count) bytes, "
        + "widths 1280, 640, 320 and 96, \(Machine.cores) decoders",
      contenders: [
        .work("thumbworker", .decode) {
          [
            "list": list, "folder": corpus.folder, "decoder": decoder,
            "decoders": "\(Machine.cores)",
          ]
        }
      ] + context.decodeFloor(corpus))
  }
}

extension StageContext {
  /// The images of `--corpus`, the first so many; else made ones.
  func photographs(_ count: Int) throws -> Corpus {
    if let folder = options.corpus { return try Corpus(of: folder, atMost: count) }
    return try Corpus.photographs(count: count, in: folder.make("photographs"))
  }

  /// Images to variants in one process, as many threads as cores.
  func decodeFloor(_ corpus: Corpus) -> [Contender] {
    let outputs = folder.turns("variants")
    return yardsticks.floor(
      "libvips in C", program: "vt",
      arguments: {
        ["-m", "plan", "-d", "2", "-j", "2", "-x", "-C", "0", "-t", "\(Machine.cores)", "-o"]
          + [try outputs()] + corpus.names.map { "\(corpus.folder)/\($0)" }
      },
      read: { child in
        Sample(
          items: corpus.names.count,
          wall: try Yardsticks.number(after: "\"wall\":", in: child.output),
          processor: child.processor, peakBytes: child.peakBytes)
      })
  }
}
