import Foundation
import TestSupport
import Testing
import Vocabulary

/// The repository's own README, taken apart.
private struct Readme {
  static let repository = String(
    #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 })

  let text: String

  init() throws {
    text = try String(contentsOfFile: Self.repository + "/README.md", encoding: .utf8)
  }

  /// What stands under a heading, up to the next of any level.
  func section(_ heading: String) throws -> Substring {
    let start = try #require(text.firstRange(of: "\n\(heading)\n"), "no heading \(heading)")
    let rest = text[start.upperBound...]
    return rest[..<(rest.firstRange(of: "\n#")?.lowerBound ?? rest.endIndex)]
  }

  /// The first cell of each row of the table under a heading.
  func rows(_ heading: String) throws -> [Substring] {
    try section(heading).split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst()
      .map { $0.dropFirst(2).split(separator: " | ")[0] }
  }

  /// What those cells have between backticks.
  func names(_ heading: String) throws -> [String] {
    try rows(heading).flatMap { $0.matches(of: /`([^`]+)`/).map { String($0.1) } }
  }
}

/// The sources as text: what the compiler cannot tell at run time is read there.
private struct Sources {
  let files: [(path: String, text: String)]

  init() throws {
    let folder = Readme.repository + "/Sources"
    let all = try #require(FileManager.default.enumerator(atPath: folder))
    files = try all.compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") }.map {
      ($0, try String(contentsOfFile: "\(folder)/\($0)", encoding: .utf8))
    }
  }

  /// The codes of every failure: given to an initialiser, told by a `var code`, or first of the words
  /// for a fault of a transfer.
  var errorCodes: Set<String> {
    var codes: Set<String> = []
    for (path, text) in files {
      for match in text.matches(of: /\bcode: "([a-z-]+)["\\]/) { codes.insert(String(match.1)) }
      for block in text.split(separator: "var code: String {").dropFirst() {
        let body = block.prefix(upTo: block.firstRange(of: "\n  }")?.lowerBound ?? block.endIndex)
        let line = block.prefix { $0 != "\n" }
        for match in (line.contains("}") ? line : body).matches(of: /"([a-z-]+)"/) {
          codes.insert(String(match.1))
        }
      }
      guard path.hasSuffix("/FetchFailure.swift") else { continue }
      for match in text.matches(of: /(?m)(?:^ +|Code = )"([a-z]+(?:-[a-z]+)*)"(?:,|$)/) {
        codes.insert(String(match.1))
      }
    }
    return codes
  }
}

@Suite struct `The README` {
  private let readme: Readme

  init() throws { readme = try Readme() }

  // MARK: Tables against the code

  @Test func `lists every error code that the code has, and no other`() throws {
    let found = try Sources().errorCodes
    for known in ["dns", "too-large", "corrupt-image", "disk-full", "bad-url", "http-", "internal"]
    {
      #expect(found.contains(known), "the sources are no longer understood")
    }
    let listed = try readme.names("## Error codes")
    let statuses = listed.filter { $0.wholeMatch(of: /http-[45]\d\d/) != nil }
    #expect(Set(listed).subtracting(statuses) == found.subtracting(["http-"]))
    #expect(Set(listed).count == listed.count && !statuses.isEmpty)
  }

  @Test func `lists the exit codes`() throws {
    let file = try #require(try Sources().files.first { $0.path == "Commands/Program.swift" })
    let codes = file.text.matches(of: /(?m)^  case [a-zA-Z]+ = (\d+)$/).map { String($0.1) }
    let listed = try readme.rows("## Exit codes").flatMap {
      $0.matches(of: /\d+/).map { String($0.output) }
    }
    #expect(codes.count == 7 && listed == codes)
  }

  @Test func `lists the outcomes`() throws {
    #expect(try readme.names("## Outcomes") == Outcome.allCases.map(\.rawValue))
  }

  @Test func `lists the commands, and no hint names another`() async throws {
    let folder = StorageTemporaryFolder()
    let help = try await ProgramRun.thumbworker("--help", in: folder.path)
    let commands = help.output.matches(of: /(?m)^  ([a-z]+) +[A-Z]/).map { String($0.1) }
    let listed = try readme.names("## Commands").map { String($0.prefix { $0 != " " }) }
    #expect(listed == commands)
    for (path, text) in try Sources().files {
      for match in text.matches(of: /"[^"\n]*`thumbworker ([a-z]+)/) {
        #expect(commands.contains(String(match.1)), "\(path) sends its reader to \(match.0)")
      }
    }
  }

  // MARK: JSON

  @Test func `lists the fields that run prints`() async throws {
    let lab = try await Lab()
    defer { lab.origin.stop() }
    try compare(fields(of: lab.summary, maps: ["outcomes", "errors"]), with: "run --json")
    let plan = try await lab.scenario.run(lab.manifest, "--dry-run").json
    try compare(fields(of: [plan], maps: ["plan"]), with: "run --dry-run --json")
    let section = try readme.section("### `run --dry-run --json`")
    for key in (plan["plan"] as? [String: Any] ?? [:]).keys {
      #expect(section.contains("`\(key)`"))
    }
  }

  @Test func `lists the fields that status and show print`() async throws {
    let lab = try await Lab()
    defer { lab.origin.stop() }
    let status = try await lab.scenario.status()
    try compare(fields(of: [status]), with: "status --json")
    var shown: [[String: Any]] = []
    for id in ["a", "old", "missing", "ftp"] { shown.append(try await lab.scenario.show(id)) }
    try compare(fields(of: shown), with: "show --json")
    let keys = shown.map { Set($0.keys) }
    #expect(keys.allSatisfy { $0 == keys[0] }, "an entry's kind does not change the fields")
  }

  @Test func `lists the fields that housekeeping prints`() async throws {
    let lab = try await Lab()
    defer { lab.origin.stop() }
    for command in ["jobs", "gc", "verify"] {
      let result = try await ProgramRun.thumbworker(
        command, "--json", "--root", lab.scenario.root, in: lab.scenario.folder.path)
      let printed = try JSONSerialization.jsonObject(with: Data(result.output.utf8))
      let list = printed as? [[String: Any]]
      let names = fields(of: list ?? [printed as? [String: Any] ?? [:]])
      try compare(Set(names.map { list == nil ? $0 : "[].\($0)" }), with: "\(command) --json")
    }
  }

  @Test func `lists the fields that export and doctor print`() async throws {
    let lab = try await Lab()
    defer { lab.origin.stop() }
    let folder = lab.scenario.folder.path
    let exported = try await ProgramRun.thumbworker(
      "export", lab.scenario.name, "--root", lab.scenario.root, in: folder
    ).jsonLines
    try compare(fields(of: exported, maps: ["meta"]), with: "export")
    let doctor = try await ProgramRun.thumbworker(
      "doctor", "--json", "--root", lab.scenario.root, in: folder
    ).json
    try compare(fields(of: [doctor], maps: ["encoders"]), with: "doctor --json")
  }

  /// A job with an item of each kind, run once.
  private struct Lab {
    let scenario = Scenario()
    let origin: OriginServer
    let manifest: String
    let summary: [[String: Any]]

    init() async throws {
      let origin = try OriginServer.start { request in
        let fields = [("Cache-Control", "max-age=60"), ("ETag", "\"1\"")]
        return switch request.path {
        case "/a": .ok(PlainPNG.bytes(), fields)
        case "/old": .status(301, [], [("Location", "/a")] + fields)
        default: .status(404)
        }
      }
      self.origin = origin
      manifest = try scenario.manifest([
        ["id": "a", "url": origin.url("/a")], ["id": "old", "url": origin.url("/old")],
        ["id": "missing", "url": origin.url("/x")], ["id": "ftp", "url": "ftp://a.example/x"],
      ])
      summary = try await scenario.run(manifest).jsonLines
    }
  }

  private func compare(_ printed: Set<String>, with command: String) throws {
    let listed = Set(try readme.names("### `\(command)`"))
    #expect(printed.subtracting(listed) == [], "not listed")
    #expect(listed.subtracting(printed) == [], "listed, not printed")
  }

  /// `queue.dead`, `jobs[].name`; what is null in one object and not in another is what it is there.
  ///
  /// - Parameter maps: objects whose keys are data.
  private func fields(of objects: [[String: Any]], maps: Set<String> = []) -> Set<String> {
    var paths: Set<String> = []
    func collect(_ value: Any, _ path: String) {
      switch value {
      case let object as [String: Any] where !maps.contains(path) && !object.isEmpty:
        for (key, value) in object { collect(value, path.isEmpty ? key : "\(path).\(key)") }
      case let array as [[String: Any]] where !array.isEmpty:
        for element in array { collect(element, "\(path)[]") }
      default:
        paths.insert(path)
      }
    }
    for object in objects { collect(object, "") }
    return paths.filter { path in
      !paths.contains { $0.hasPrefix("\(path).") || $0.hasPrefix("\(path)[") }
    }
  }

  // MARK: What is tried again

  @Test func `says what is tried again within a run`() async throws {
    let rows = try readme.section("### What is tried again").split(separator: "\n")
      .filter { $0.hasPrefix("| ") }
    let retried = Set(
      rows.filter { $0.contains("| yes |") }.flatMap { $0.matches(of: /\b[45]\d\d\b/) }
        .compactMap { Int($0.output) })
    let statuses =
      [400, 401, 403, 404, 406, 408, 409, 410, 416, 418, 425, 429, 451]
      + [500, 501, 502, 503, 504, 505, 507, 511, 520, 599]
    let expectedFaults = ["half": 2, "page": 1, "nonsense": 1, "large": 1]
    let origin = try OriginServer.start { request in
      switch request.path {
      case "/half":
        .steps([.sendBytes(OriginResponse.head(200, [("Content-Length", "9")])), .close])
      case "/page": .ok("<!doctype html>")
      case "/nonsense": .raw("SMTP ready\r\n\r\n")
      case "/large": .ok(PlainPNG.bytes(width: 100, height: 100))
      default: .status(Int(request.path.dropFirst()) ?? 0)
      }
    }
    defer { origin.stop() }
    var scenario = Scenario()
    scenario.network["attempts"] = 2
    scenario.network["maxBytes"] = 10_000
    let names = statuses.map(String.init) + expectedFaults.keys
    let run = try await scenario.run(
      scenario.manifest(names.map { ["id": $0, "url": origin.url("/\($0)")] }))
    #expect(run.nonzero == ["failed": names.count], "\(run.errors)")
    let counts = Dictionary(grouping: origin.requests, by: \.path).mapValues(\.count)
    let tried = Set(statuses.filter { counts["/\($0)"] == 2 })
    #expect(tried == retried)
    for (name, count) in expectedFaults { #expect(counts["/\(name)"] == count, "\(name)") }

    // Apart: on a connection that has served before, libcurl itself asks once more on another.
    let resetting = try OriginServer.start { _ in .steps([.reset]) }
    defer { resetting.stop() }
    let reset = try await scenario.run(scenario.manifest([resetting.url("/")]))
    #expect(reset.errorCounts == ["connect": 1] && resetting.requests.count == 2)
  }

  // MARK: Examples

  @Test func `shows a manifest that is correct, and so is the demonstration's`() async throws {
    let folder = StorageTemporaryFolder()
    let example = try #require(
      try readme.section("## A job").split(separator: "```").first { $0.hasPrefix("jsonc\n") })
    let path = folder.path + "/example.json"
    StorageTemporaryFolder.write(example.dropFirst(6).utf8, to: path)
    let catalog = Readme.repository + "/jobs/catalog.json"
    let shown = try await ProgramRun.thumbworker("validate", path, in: folder.path)
    #expect(shown.status == 0, "\(shown.errors)")
    let result = try await ProgramRun.thumbworker("validate", catalog, in: folder.path)
    #expect(result.status == 0, "\(result.errors)")
    let count = try #require(result.output.firstMatch(of: /catalog, (\d+) items, (\d+) variants/))
    let items = try #require(Int(count.1))
    let variants = try #require(Int(count.2))
    #expect(readme.text.contains("catalog: \(items) items in"))
    #expect(readme.text.contains(" \(items * variants) variants made,"))
  }
}
