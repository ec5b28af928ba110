import Foundation
import TestSupport
import Testing

@Suite struct `An export` {
  private let scenario: Scenario
  private let origin: OriginServer

  /// A job with an item of each kind, run once.
  init() async throws {
    let origin = try OriginServer.start { request in
      let fields = [("Cache-Control", "max-age=60")]
      return switch request.path {
      case "/a", "/a?token=secret": .ok(PlainPNG.bytes(width: 40, height: 30), fields)
      case "/old": .status(301, [], [("Location", "/a")] + fields)
      default: .status(404)
      }
    }
    self.origin = origin
    var scenario = Scenario()
    scenario.settings["variants"] = [
      ["name": "thumb", "width": 16, "dpr": [1, 2], "format": "webp"],
      ["name": "page", "width": 200, "format": "png"],
    ]
    self.scenario = scenario
    let manifest = try scenario.manifest([
      ["id": "a", "url": origin.url("/a"), "meta": ["price": 12.5, "tags": ["x, \"y\""]]],
      ["id": "b/c", "url": origin.url("/a?token=secret"), "variants": ["page"]],
      ["id": "old", "url": origin.url("/old")], ["id": "missing", "url": origin.url("/x")],
      ["id": "ftp", "url": "ftp://a.example/x"],
    ])
    _ = try await scenario.run(manifest)
  }

  private func export(_ options: String...) async throws -> ProgramRun.Result {
    try await ProgramRun(
      "thumbworker", ["export", scenario.name, "--root", scenario.root] + options,
      in: scenario.folder.path
    ).result()
  }

  @Test func `has a line for each item, with its files as they are`() async throws {
    defer { origin.stop() }
    let result = try await export()
    #expect(result.status == 0)
    let lines = result.jsonLines
    #expect(lines.map { $0["id"] as? String } == ["a", "b/c", "ftp", "missing", "old"])
    let states = lines.map { $0["state"] as? String }
    #expect(states == ["fresh", "fresh", "failed", "failed", "fresh"])
    #expect(lines.map { $0["error"] as? String } == [nil, nil, "bad-url", "http-404", nil])
    let first = lines[0]
    #expect(first["width"] as? Int == 40 && first["height"] as? Int == 30)
    #expect((first["fresh_until"] as? String)?.hasSuffix("Z") == true)
    #expect(((first["placeholder"] as? [String: Any])?["color"] as? String)?.hasPrefix("#") == true)
    #expect((first["meta"] as? [String: Any])?["price"] as? Double == 12.5)
    for (line, names) in [
      (lines[0], ["thumb", "thumb@2x", "page"]), (lines[1], ["page"]), (lines[2], []),
      (lines[3], []), (lines[4], ["thumb", "thumb@2x", "page"]),
    ] {
      let variants = try #require(line["variants"] as? [[String: Any]])
      #expect(variants.map { $0["name"] as? String } == names)
      for variant in variants { try check(variant) }
    }
    #expect(!result.output.contains("secret"))
  }

  private func check(_ variant: [String: Any]) throws {
    let path = try #require(variant["path"] as? String)
    let bytes = try #require(scenario.published(path), "\(path)")
    #expect(variant["bytes"] as? Int == bytes.count)
    let header = try #require(ImageHeader(bytes))
    #expect(variant["width"] as? Int == header.width && variant["height"] as? Int == header.height)
    #expect(variant["type"] as? String == "image/\(header.format.rawValue)")
    #expect((variant["sha256"] as? String)?.count == 64)
  }

  @Test func `names files by their absolute paths where it is asked to`() async throws {
    defer { origin.stop() }
    let lines = try await export("--absolute").jsonLines
    let variants = try #require(lines[0]["variants"] as? [[String: Any]])
    let path = try #require(variants[0]["path"] as? String)
    #expect(path == "\(scenario.root)/public/job/thumb/a.webp")
    #expect(FileManager.default.fileExists(atPath: path))
  }

  @Test func `is CSV with a column for each of a variant's facts`() async throws {
    defer { origin.stop() }
    let lines = try await export("--csv").output.split(separator: "\n").map(String.init)
    #expect(lines.count == 6)
    #expect(lines[0].hasPrefix("id,url,state,error,fresh_until,width,height,color,thumbhash,meta,"))
    #expect(lines[0].contains(",thumb@2x.path,thumb@2x.width,"))
    #expect(lines[0].hasSuffix(",page.type,page.sha256"))
    #expect(lines[1].contains(#"""price"":12.5"#) && lines[1].contains(#"[""x, \""y\""""]"#))
    #expect(lines[1].contains(",thumb/a.webp,16,12,"))
    let columns = lines[0].split(separator: ",").count
    // Without quotes there is a comma for each column but the last.
    #expect(lines[3].count { $0 == "," } == columns - 1, "\(lines[3])")
  }

  @Test func `of a job that there is not says so`() async throws {
    defer { origin.stop() }
    let result = try await ProgramRun.thumbworker(
      "export", "nothing", "--root", scenario.root, in: scenario.folder.path)
    #expect(result.status == 2 && result.errors.contains("there is no job \"nothing\""))
  }
}
