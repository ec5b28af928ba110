import Foundation
import TestSupport
import Testing

/// How a file of the corpus is to end: `fetched`, or a failure's code.
private struct CorpusEnd {
  /// Those that a general rule gets wrong.
  private static let exceptions = [
    // A sequence, whose cover is shown; and two whose turn stands in front of their size.
    "odd/avif-animated.avif": "fetched",
    "odd/avif-kimono-rotate90.avif": "fetched",
    "odd/avif-kimono-mirror-vertical-rotate270-crop.avif": "fetched",
    "odd/jpeg-corrupt-header.jpg": "truncated",  // its last segment runs over the file's end
    "odd/jpeg-lossless-sof3.jpg": "unsupported-format",
    "odd/raw-canon.cr2": "unsupported-format",
    "odd/tiff-old-jpeg.tif": "unsupported-format",
  ]

  /// By what the content is, not by the name. Everything else is a picture that we have no place for.
  private static let taken: Set = ["jpeg", "png", "webp", "gif", "avif", "heif", "tiff"]
  private static let noPictures: Set = [
    "html", "json", "elf", "mp4", "empty", "other", "svgz", "zip",
  ]

  static func of(_ file: ImageCorpus.File) -> String {
    if let exception = exceptions[file.name] { return exception }
    if noPictures.contains(file.format) { return "not-an-image" }
    guard taken.contains(file.format) else { return "unsupported-format" }
    if file.expected == "decodes" { return "fetched" }
    return file.kind == "truncated" ? "truncated" : "corrupt-image"
  }
}

@Suite(
  .serialized,
  .enabled(if: ImageCorpus.shared != nil, "there is no corpus beside this checkout"),
  .enabled(if: NginxServer.isInstalled, "nginx is not installed"))
struct `The corpus through the built program` {
  private let corpus: ImageCorpus
  private let nginx: NginxServer
  private let scenario: Scenario

  init() throws {
    corpus = try #require(ImageCorpus.shared)
    nginx = try NginxServer(
      server: """
        default_type image/jpeg;
        location ~ ^/corpus/hostile/body-gzip { add_header Content-Encoding gzip; }
        location ~ ^/corpus/hostile/body-deflate { add_header Content-Encoding deflate; }
        """)
    for name in ["corpus", "bare"] { symlink(corpus.folder, nginx.files + "/" + name) }
    var scenario = Scenario()
    scenario.settings["variants"] = [
      ["name": "thumb", "width": 96, "height": 96, "fit": "cover", "format": "webp"],
      ["name": "card", "width": 320, "height": 320],
    ]
    // How long a picture takes depends on what else this machine does.
    scenario.settings["limits"] = ["decodeTimeout": "10m"]
    scenario.network["timeout"] = "10m"
    self.scenario = scenario
  }

  private func item(_ file: ImageCorpus.File) -> [String: String] {
    ["id": file.name, "url": "\(nginx.url)/corpus/\(file.name)"]
  }

  /// The names that are published of a job's variant, without the extension of the variant's format.
  private func published(_ job: String, _ variant: String) -> [String: String] {
    var scenario = scenario
    scenario.name = job
    let paths = scenario.publishedPaths.filter { $0.hasPrefix("\(variant)/") }
    return Dictionary(
      uniqueKeysWithValues: paths.map { path in
        let name = path.dropFirst(variant.count + 1)
        return (String(name[..<name.lastIndex(of: ".")!]), path)
      })
  }

  // MARK: Photographs and odd files

  /// One job for each end that files are to have, so that a run's counts tell whether all have it.
  @Test func `ends as its index says, file by file`() async throws {
    let files = corpus.files(in: "photos") + corpus.files(in: "odd")
    let byEnd = Dictionary(grouping: files, by: CorpusEnd.of)
    var manifests: [String] = []
    for (end, files) in byEnd.sorted(by: { $0.key < $1.key }) {
      var scenario = scenario
      scenario.name = end
      manifests.append(try scenario.manifest(files.map(item)))
    }
    let run = try await ProgramRun(
      "thumbworker", ["run", "--root", scenario.root, "--json"] + manifests,
      in: scenario.folder.path
    ).result()
    #expect(run.status == 1)
    #expect(run.jsonLines.count == byEnd.count)
    for summary in run.jsonLines {
      let end = try #require(summary["job"] as? String)
      let count = byEnd[end]?.count ?? 0
      let outcome = end == "fetched" ? "fetched" : "failed"
      let outcomes = (summary["outcomes"] as? [String: Int] ?? [:]).filter { $0.value != 0 }
      #expect(outcomes == [outcome: count], "\(end): \(run.errors)")
      let errors = summary["errors"] as? [String: Int]
      #expect(errors == (end == "fetched" ? [:] : [end: count]), "\(run.errors)")
    }
    try checkPublished(byEnd)
  }

  private func checkPublished(_ byEnd: [String: [ImageCorpus.File]]) throws {
    for variant in ["thumb", "card"] {
      for (end, files) in byEnd {
        let published = published(end, variant)
        #expect(Set(published.keys) == Set(end == "fetched" ? files.map(\.name) : []))
        for file in files {
          guard let path = published[file.name] else { continue }
          let bytes = StorageTemporaryFolder.bytes(of: "\(scenario.root)/public/\(end)/\(path)")
          let header = try #require(ImageHeader(bytes ?? []), "\(path)")
          #expect(header.isWhole && header.format == format(of: path), "\(path)")
          check(header, of: file, as: variant)
        }
      }
    }
  }

  private func format(of path: String) -> ImageHeader.Format? {
    path.hasSuffix(".jpg") ? .jpeg : ImageHeader.Format(rawValue: String(path.suffix(4)))
  }

  /// Its size is exact, the picture upright: a stored 600×450 may be an upright 450×600.
  private func check(_ header: ImageHeader, of file: ImageCorpus.File, as variant: String) {
    // One is cropped, which its size in the index does not say.
    guard let width = file.width, let height = file.height, !file.name.hasSuffix("crop.avif") else {
      return
    }
    let sizes = [(width, height), (height, width)].map { width, height in
      variant == "thumb" ? covered(width, height, 96) : inside(width, height, 320)
    }
    #expect(
      sizes.contains { $0 == (header.width, header.height) },
      "\(file) of \(width)×\(height) as \(variant): \(header)")
  }

  /// A square of that side; of the shorter side where the picture is smaller.
  private func covered(_ width: Int, _ height: Int, _ side: Int) -> (Int, Int) {
    let side = min(side, width, height)
    return (side, side)
  }

  /// The longer side is exact, the other the true ratio, rounded half up, at least 1.
  private func inside(_ width: Int, _ height: Int, _ side: Int) -> (Int, Int) {
    let longer = max(width, height)
    guard longer > side else { return (width, height) }
    func scaled(_ length: Int) -> Int { max(1, (2 * length * side + longer) / (2 * longer)) }
    return (scaled(width), scaled(height))
  }

  // MARK: Hostile files

  /// What a file may be refused for; a crash or a hang of the decoder is none of it.
  private static let refusals: Set = [
    "not-an-image", "unsupported-format", "corrupt-image", "truncated", "too-many-pixels",
    "too-large", "decoder-memory",
  ]

  @Test func `ends no run with its hostile files, and publishes no wrong ones`() async throws {
    let files = corpus.files(in: "hostile")
    var scenario = scenario
    scenario.name = "hostile"
    let memory = 2 << 30
    scenario.settings["limits"] = ["decodeTimeout": "10m", "memory": memory]
    let manifest = try scenario.manifest(files.map(item) + [["id": "last", "url": plainPhoto]])
    let run = try await scenario.run(manifest)
    #expect(run.status == 1)
    #expect(run.json["stopped_by"] is NSNull && run.json["pending"] as? Int == 0)
    #expect(run.outcomes.values.reduce(0, +) == files.count + 1)
    #expect(Set(run.errorCounts.keys).isSubset(of: Self.refusals), "\(run.errors)")
    #expect(run.peakKiB < memory >> 10, "\(run.peakKiB) KiB")

    let thumbs = published("hostile", "thumb")
    let cards = published("hostile", "card")
    #expect(Set(thumbs.keys) == Set(cards.keys) && thumbs["last"] != nil)
    for path in Array(thumbs.values) + Array(cards.values) {
      let header = ImageHeader(scenario.published(path) ?? [])
      #expect(header?.isWhole == true && max(header!.width, header!.height) <= 320, "\(path)")
    }
    for file in files {
      let isPublished = thumbs[file.name] != nil
      if file.expected == "unsafe" { #expect(!isPublished, "\(file)") }
      if file.kind == "large-but-legal" { #expect(isPublished, "\(file)") }
      if file.kind == "pixel-flood-header", file.format != "gif" {
        #expect(!isPublished, "\(file)")
      }
    }
  }

  private var plainPhoto: String {
    nginx.url + "/corpus/" + corpus.files(in: "photos")[0].name
  }

  @Test func `undoes a transfer's encoding, and takes an encoded file for no picture`() async throws
  {
    let name = "hostile/body-gzip-of-real-jpeg.jpg.gz"
    let manifest = try scenario.manifest([
      ["id": "encoded", "url": "\(nginx.url)/corpus/\(name)"],
      ["id": "bare", "url": "\(nginx.url)/bare/\(name)"],
    ])
    let run = try await scenario.run(manifest)
    #expect(run.nonzero == ["fetched": 1, "failed": 1])
    #expect(run.errorCounts == ["not-an-image": 1] && run.errors.contains("it is gzip data"))
    #expect(scenario.published("thumb/encoded.webp") != nil)
  }
}
