import Foundation
import TestSupport
import Testing

@Suite struct `A stored copy is confirmed` {
  @Test func `with validators byte for byte, whatever bytes they are`() async throws {
    let tag = Array("W/\"a, ".utf8) + [0xE9, 0x80, 0xFF, 0xC3, 0xA9] + Array("\"".utf8)
    let modified = "Monday, 02-Nov-26 03:04:05 gmt"
    let picture = PlainPNG.bytes()
    let origin = try OriginServer.start { request in
      guard request["If-None-Match"] == nil else { return .status(304) }
      return .steps([
        .sendBytes(
          Array("HTTP/1.1 200 OK\r\nContent-Length: \(picture.count)\r\nETag: ".utf8) + tag
            + Array("\r\nlast-MODIFIED:  \(modified) \r\nCache-Control: no-cache\r\n\r\n".utf8)
            + picture)
      ])
    }
    defer { origin.stop() }
    let scenario = Scenario()
    let manifest = try scenario.manifest([["id": "a", "url": origin.url("/a")]])
    _ = try await scenario.run(manifest)
    for _ in 1...2 {
      #expect(try await scenario.run(manifest).nonzero == ["revalidated": 1])
      let asked = try #require(origin.requests.last)
      #expect(asked.bytes(of: "If-None-Match") == tag)
      #expect(asked.bytes(of: "If-Modified-Since") == Array(modified.utf8))
    }
  }

  @Test func `by a 304 that says more, and what it leaves unsaid stays`() async throws {
    let origin = try OriginServer.start { request in
      switch request.number {
      case 1:
        .ok(
          PlainPNG.bytes(),
          [
            ("ETag", "W/\"1\""), ("Last-Modified", "Sun, 01 Nov 2026 00:00:00 GMT"),
            ("Cache-Control", "max-age=0"), ("Content-Type", "image/png"), ("Age", "0"),
          ])
      case 2:
        .status(
          304, [],
          [
            ("ETag", "W/\"2\""), ("Cache-Control", "max-age=1000"), ("Content-Type", "text/plain"),
            ("Content-Length", "7"),
          ])
      default: .status(304)
      }
    }
    defer { origin.stop() }
    let scenario = Scenario()
    let manifest = try scenario.manifest([["id": "a", "url": origin.url("/a")]])
    _ = try await scenario.run(manifest)
    #expect(try await scenario.run(manifest).nonzero == ["revalidated": 1])
    let shown = try await scenario.show("a")
    #expect(shown["etag"] as? String == "W/\"2\"")
    #expect(shown["last_modified"] as? String == "Sun, 01 Nov 2026 00:00:00 GMT")
    #expect(shown["last_answer"] as? String == "not-modified")
    #expect(shown["decided_by"] as? String == "max-age")
    let lifetime = try #require(
      milliseconds(from: shown["response_time"], to: shown["fresh_until"]))
    #expect((1...1_000_000).contains(lifetime), "it starts anew, and is never rounded up")
    #expect(try await scenario.run(manifest).nonzero == ["fresh": 1])
    #expect(try await scenario.run(manifest, "--force").nonzero == ["revalidated": 1])
    #expect(origin.requests.last?["If-None-Match"] == "W/\"2\"")
    #expect(
      try await scenario.told("a").contains("304, the stored copy is still good"))
  }

  @Test func `but not by a 304 that speaks of another one`() async throws {
    let origin = try OriginServer.start { request in
      request["If-None-Match"] == nil
        ? .ok(
          PlainPNG.bytes(red: UInt8(request.number)),
          [("ETag", "\"\(request.number)\""), ("Cache-Control", "no-cache")])
        : .status(304, [], [("ETag", "\"other\"")])
    }
    defer { origin.stop() }
    let scenario = Scenario()
    let manifest = try scenario.manifest([["id": "a", "url": origin.url("/a")]])
    _ = try await scenario.run(manifest)
    let run = try await scenario.run(manifest)
    #expect(run.nonzero == ["fetched": 1] && run.json["requests"] as? Int == 2)
    #expect(origin.requests.map { $0["If-None-Match"] } == [nil, "\"1\"", nil])
  }

  @Test func `and a 304 to a question without conditions is the origin's fault`() async throws {
    let origin = try OriginServer.start { _ in .status(304) }
    defer { origin.stop() }
    let scenario = Scenario()
    let run = try await scenario.run(scenario.manifest([["id": "a", "url": origin.url("/a")]]))
    #expect(run.nonzero == ["failed": 1] && run.errorCounts == ["protocol": 1])
    #expect(scenario.objects == [])
  }

  /// One picture at each path, which has to be confirmed each time.
  private func confirmingOrigin() throws -> OriginServer {
    try OriginServer.start { request in
      let fields = [("ETag", "\"1\""), ("Cache-Control", "no-cache")]
      return request["If-None-Match"] == nil
        ? .ok(PlainPNG.bytes(), fields) : .status(304, [], fields)
    }
  }

  /// What a file system has lost is made good.
  @Test func `with what is there, and what is missing is made again`() async throws {
    let origin = try confirmingOrigin()
    defer { origin.stop() }
    let scenario = Scenario()
    let manifest = try scenario.manifest([["id": "a", "url": origin.url("/a")]])
    _ = try await scenario.run(manifest)
    let whole = scenario.objects
    let original = try await scenario.original(of: "a")
    let variant = try #require(whole.first { $0 != original })

    scenario.deleteObject(variant)
    var run = try await scenario.run(manifest, "--force")
    #expect(run.nonzero == ["revalidated": 1] && run.json["variants_made"] as? Int == 1)
    #expect(run.errors.contains("stored files were missing"))
    #expect(origin.requests.last?["If-None-Match"] == "\"1\"")
    #expect(scenario.objects == whole)

    scenario.deleteObject(original)
    run = try await scenario.run(manifest, "--force")
    #expect(run.nonzero == ["fetched": 1] && run.json["variants_made"] as? Int == 0)
    #expect(origin.requests.last?["If-None-Match"] == nil)
    #expect(scenario.objects == whole)
  }

  /// Nobody looks for each file in each night; but what is lost shows in those that are looked for.
  @Test(arguments: ["original", "variant"])
  func `and of many whose files are lost some are looked for, unasked`(_ lost: String) async throws
  {
    let origin = try confirmingOrigin()
    defer { origin.stop() }
    let scenario = Scenario()
    let manifest = try scenario.manifest(
      (0..<300).map { ["id": "i\($0)", "url": origin.url("/\($0)")] })
    _ = try await scenario.run(manifest)
    let whole = scenario.objects
    let original = try await scenario.original(of: "i1")
    let variant = try #require(whole.first { $0 != original })
    scenario.deleteObject(lost == "original" ? original : variant)

    let run = try await scenario.run(manifest)
    #expect(run.status == 0 && scenario.objects == whole)
    if lost == "variant" {
      #expect(run.nonzero == ["revalidated": 300] && run.json["variants_made"] as? Int == 1)
      #expect(run.errors.contains("stored files were missing"))
    } else {
      let (confirmed, fetched) = (run.nonzero["revalidated"] ?? 0, run.nonzero["fetched"] ?? 0)
      #expect(confirmed + fetched == 300 && fetched >= 1 && confirmed >= 100)
    }
  }

  /// What a picture's names do not vouch for is looked for each time, however fresh it is.
  @Test(arguments: ["deleted", "cut short"])
  func `not where an original is to be rendered anew or a redirect leads there, and it is lost`(
    _ loss: String
  ) async throws {
    let origin = try OriginServer.start { request in
      guard request.path.hasPrefix("/to") else {
        let number = UInt8(request.path.dropFirst(2))!
        let fields = [("ETag", "\"\(number)\""), ("Cache-Control", "max-age=3600")]
        return request["If-None-Match"] == nil
          ? .ok(PlainPNG.bytes(red: number), fields) : .status(304, [], fields)
      }
      return .status(
        302, [],
        [("Location", "/p\(request.path.dropFirst(3))"), ("Cache-Control", "no-store")])
    }
    defer { origin.stop() }
    var scenario = Scenario()
    let items = (0..<6).map { number in
      ["id": "i\(number)", "url": origin.url("/\(number < 3 ? "p" : "to")\(number)")]
    }
    #expect(try await scenario.run(scenario.manifest(items)).nonzero == ["fetched": 6])
    let whole = scenario.objects
    for number in 0..<6 {
      let original = try await scenario.original(of: origin.url("/p\(number)"))
      if loss == "deleted" {
        scenario.deleteObject(original)
      } else {
        try scenario.cutShort(original)
      }
    }
    scenario.settings["variants"] = [["name": "thumb", "width": 3, "format": "png"]]
    let run = try await scenario.run(scenario.manifest(items))
    #expect(run.status == 0 && run.nonzero == ["fetched": 6], "\(run.errors)")
    #expect(run.errors.contains("stored files were missing"))
    #expect(scenario.objects.isSuperset(of: whole))
    #expect(origin.requests.allSatisfy { $0["If-None-Match"] == nil })
  }
}

@Suite struct `Each hop of a redirect` {
  @Test func `has a lifetime of its own`() async throws {
    let target = Script("/one.png")
    let origin = try OriginServer.start { request in
      switch request.path {
      case "/start":
        .status(301, [], [("Location", "/middle"), ("Cache-Control", "max-age=600")])
      case "/middle":
        .status(302, [], [("Location", target.now), ("Cache-Control", "no-cache")])
      default:
        .ok(
          PlainPNG.bytes(red: UInt8(request.path.utf8.count)), [("Cache-Control", "max-age=600")])
      }
    }
    defer { origin.stop() }
    let scenario = Scenario()
    let manifest = try scenario.manifest([["id": "a", "url": origin.url("/start")]])
    _ = try await scenario.run(manifest)
    #expect(origin.requests.map(\.path) == ["/start", "/middle", "/one.png"])
    // A stale hop is asked; where it leads to what is fresh, no more.
    #expect(try await scenario.run(manifest).json["requests"] as? Int == 1)
    #expect(origin.requests.last?.path == "/middle")
    target.now = "/another.png"
    #expect(try await scenario.run(manifest).nonzero == ["fetched": 1])
    #expect(origin.requests.suffix(2).map(\.path) == ["/middle", "/another.png"])
    let shown = try await scenario.show("a")
    #expect(
      shown["redirects"] as? [String] == [origin.url("/middle"), origin.url("/another.png")])
    let hops = try #require(try await scenario.view("a")["hops"] as? [[String: Any]])
    #expect(hops.map { $0["decided_by"] as? String } == ["max-age", "no-cache", "max-age"])
    #expect(hops[1]["deciding"] as? [String] == ["Cache-Control: no-cache"])
    let told = try await scenario.told("a")
    #expect(told.contains("301 redirects to \(origin.url("/middle"))"))
    #expect(told.contains("next run: downloads \(origin.url("/middle"))"))
  }

  @Test(arguments: [(301, 0), (308, 0), (302, 1), (303, 1), (307, 1)])
  func `without a lifetime is kept where it is permanent`(status: Int, asked: Int) async throws {
    let origin = try OriginServer.start { request in
      request.path == "/start"
        ? .status(status, [], [("Location", "/a.png")])
        : .ok(PlainPNG.bytes(), [("Cache-Control", "max-age=600")])
    }
    defer { origin.stop() }
    let scenario = Scenario()
    let manifest = try scenario.manifest([["id": "a", "url": origin.url("/start#part")]])
    _ = try await scenario.run(manifest)
    #expect(try await scenario.run(manifest).json["requests"] as? Int == asked)
  }

  @Test func `is followed byte for byte`() async throws {
    let origin = try OriginServer.start { request in
      guard request.path == "/start" else {
        return .ok(PlainPNG.bytes(), [("Cache-Control", "max-age=600")])
      }
      let location = Array("/caf".utf8) + (request.target.contains("utf8") ? [0xC3, 0xA9] : [0xE9])
      return .steps([
        .sendBytes(
          Array("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: ".utf8) + location
            + Array("?q=%41 b\r\n\r\n".utf8))
      ])
    }
    defer { origin.stop() }
    let scenario = Scenario()
    let manifest = try scenario.manifest([
      ["id": "a", "url": origin.url("/start?utf8")],
      ["id": "b", "url": origin.url("/start?latin")],
    ])
    #expect(try await scenario.run(manifest).nonzero == ["fetched": 2])
    #expect(
      Set(origin.requests.map(\.target)) == [
        "/start?utf8", "/start?latin", "/caf%C3%A9?q=%41%20b", "/caf%E9?q=%41%20b",
      ])
  }

  @Test func `that may not be stored is asked at each run`() async throws {
    let isDown = Script(false)
    let origin = try OriginServer.start { request in
      if request.path == "/start" {
        return isDown.now
          ? .status(503)
          : .status(301, [], [("Location", "/a.png"), ("Cache-Control", "no-store")])
      }
      return .ok(PlainPNG.bytes(), [("Cache-Control", "max-age=600")])
    }
    defer { origin.stop() }
    var scenario = Scenario()
    scenario.network["attempts"] = 1
    let items = [["id": "a", "url": origin.url("/start")]]
    let manifest = try scenario.manifest(items)
    _ = try await scenario.run(manifest)
    #expect(try await scenario.run(manifest).json["requests"] as? Int == 1)
    isDown.now = true
    #expect(try await scenario.run(manifest).nonzero == ["failed": 1])
    #expect(scenario.publishedPaths == ["thumb/a.jpg"], "its grace is the job's")
    scenario.settings["cache"] = ["staleIfError": "0s"]
    _ = try await scenario.run(scenario.manifest(items), "--retry-failed")
    #expect(scenario.publishedPaths == [])
  }
}
