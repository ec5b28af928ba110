import Foundation
import Synchronization
import TestSupport
import Testing

@Suite struct `A run against a scripted origin` {
  @Test func `fetches, makes, stores and publishes, and then asks for nothing`() async throws {
    let scenario = Scenario()
    let origin = try OriginServer.start { request in
      request.path == "/a.png"
        ? .ok(PlainPNG.bytes(), [("Cache-Control", "max-age=3600"), ("ETag", "\"a\"")])
        : .ok(PlainPNG.bytes(red: 1), [("Cache-Control", "max-age=3600")])
    }
    defer { origin.stop() }
    let manifest = try scenario.manifest([
      ["id": "a", "url": origin.url("/a.png")], ["id": "x/b", "url": origin.url("/b.png?q=1")],
      origin.url("/c.png"),
    ])
    let first = try await scenario.run(manifest)
    #expect(first.status == 0, "\(first.errors)")
    #expect(first.nonzero == ["fetched": 3])
    #expect(first.json["requests"] as? Int == 3)
    #expect(first.json["items"] as? Int == 3)
    #expect(scenario.publishedPaths.count == 3)
    #expect(scenario.published("thumb/a.jpg")?.starts(with: [0xFF, 0xD8]) == true)
    #expect(scenario.published("thumb/x/b.jpg") != nil)

    let second = try await scenario.run(manifest)
    #expect(second.status == 0)
    #expect(second.nonzero == ["fresh": 3])
    #expect(second.json["requests"] as? Int == 0)
    #expect(origin.requests.count == 3)

    let shown = try await scenario.show("a")
    #expect(shown["state"] as? String == "fresh")
    #expect(shown["decided_by"] as? String == "max-age")
    #expect(shown["etag"] as? String == "\"a\"")
    let original = try #require(shown["original"] as? [String: Any])
    #expect(original["width"] as? Int == 64 && original["height"] as? Int == 48)
    let placeholder = try #require(shown["placeholder"] as? [String: Any])
    #expect((placeholder["color"] as? String)?.utf8.count == 7)
    #expect((placeholder["thumbhash"] as? String)?.isEmpty == false)
    let variants = try #require(shown["variants"] as? [[String: Any]])
    #expect(variants.first?["width"] as? Int == 16 && variants.first?["height"] as? Int == 12)
  }

  @Test func `lets nothing of a URL reach a file's name`() async throws {
    let scenario = Scenario()
    let origin = try OriginServer.start { _ in
      .ok(PlainPNG.bytes(), [("Cache-Control", "max-age=3600")])
    }
    defer { origin.stop() }
    let odd = [
      "/a@2x.png", "/nul%00.png", "/line%0Afeed.png", "/%2e%2e/%2e%2e/up.png", "/\u{1F4F7}.jpg",
      "/dot.", "/CON", "/com%2Fimages%2Fx?u=.com%2Fimages%2F",
      "/long?q=" + String(repeating: "x", count: 4096),
    ]
    let manifest = try scenario.manifest(odd.map { origin.url($0) })
    let run = try await scenario.run(manifest)
    #expect(run.nonzero == ["fetched": odd.count], "\(run.errors)")
    #expect(origin.requests.count == odd.count)
    let names = try FileManager.default.subpathsOfDirectory(atPath: scenario.root)
      .flatMap { $0.split(separator: "/") }
    #expect(names.allSatisfy { $0.utf8.count <= 80 && !$0.contains("@") && !$0.contains("%") })
    #expect(
      scenario.publishedPaths.allSatisfy { $0.wholeMatch(of: /thumb\/[0-9a-f]{16}\.jpg/) != nil },
      "\(scenario.publishedPaths)")
  }

  @Test func `stores equal bytes once, whatever their URLs`() async throws {
    let scenario = Scenario()
    let origin = try OriginServer.start { _ in
      .ok(PlainPNG.bytes(), [("Cache-Control", "max-age=60")])
    }
    defer { origin.stop() }
    let manifest = try scenario.manifest(
      (0..<5).map { ["id": "i\($0)", "url": origin.url("/\($0)")] })
    let run = try await scenario.run(manifest)
    #expect(run.nonzero == ["fetched": 5])
    #expect(scenario.objectCount == 2)
    #expect(scenario.publishedPaths.count == 5)
    // Also where the variants were there already.
    for index in 0..<5 {
      #expect(!(try await scenario.show("i\(index)")["placeholder"] is NSNull))
    }
  }

  @Test func `downloads a URL once for all items that name it`() async throws {
    let scenario = Scenario()
    let origin = try OriginServer.start { _ in
      .ok(PlainPNG.bytes(), [("Cache-Control", "max-age=60")])
    }
    defer { origin.stop() }
    let manifest = try scenario.manifest(
      (0..<5).map { ["id": "i\($0)", "url": origin.url("/one")] })
    let run = try await scenario.run(manifest)
    #expect(run.nonzero == ["fetched": 5])
    #expect(origin.requests.count == 1)
    #expect(scenario.publishedPaths.count == 5)
  }

  @Test func `asks with validators after expiry and downloads only what changed`() async throws {
    let scenario = Scenario()
    let isChanged = Mutex(false)
    let origin = try OriginServer.start { request in
      let changed = request.path == "/b" && isChanged.withLock { $0 }
      let tag = changed ? "\"2\"" : "\"1\""
      let fields = [("ETag", tag), ("Cache-Control", "max-age=60")]
      if request["If-None-Match"] == tag { return .status(304, [], fields) }
      return .ok(
        PlainPNG.bytes(red: changed ? 9 : 1, green: request.path == "/b" ? 2 : 3), fields)
    }
    defer { origin.stop() }
    let manifest = try scenario.manifest([
      ["id": "a", "url": origin.url("/a")], ["id": "b", "url": origin.url("/b")],
    ])
    #expect(try await scenario.run(manifest).nonzero == ["fetched": 2])
    let before = try #require(scenario.published("thumb/b.jpg"))
    isChanged.withLock { $0 = true }
    let second = try await scenario.run(manifest, "--refresh-ahead", "1h")
    #expect(second.nonzero == ["fetched": 1, "revalidated": 1])
    #expect(second.json["variants_made"] as? Int == 1)
    #expect(scenario.published("thumb/b.jpg") != before)
    #expect(origin.requests.suffix(2).allSatisfy { $0["If-None-Match"] == "\"1\"" })
  }

  @Test func `takes a 200 with the same bytes for a confirmation`() async throws {
    let scenario = Scenario()
    let origin = try OriginServer.start { _ in
      .ok(PlainPNG.bytes(), [("Cache-Control", "no-cache")])
    }
    defer { origin.stop() }
    let manifest = try scenario.manifest([["id": "a", "url": origin.url("/a")]])
    #expect(try await scenario.run(manifest).nonzero == ["fetched": 1])
    let second = try await scenario.run(manifest)
    #expect(second.nonzero == ["revalidated": 1])
    #expect(second.json["variants_made"] as? Int == 0)
  }

  @Test func `sends validators byte for byte`() async throws {
    let scenario = Scenario()
    let tag = "W/\"a,b\""
    let modified = "Mon, 02 Nov 2026 03:04:05 GMT"
    let origin = try OriginServer.start { request in
      request["If-None-Match"] == nil
        ? .ok(
          PlainPNG.bytes(),
          [("ETag", tag), ("last-MODIFIED", modified), ("Cache-Control", "no-cache")])
        : .status(304, [], [("ETag", tag)])
    }
    defer { origin.stop() }
    let manifest = try scenario.manifest([["id": "a", "url": origin.url("/a")]])
    _ = try await scenario.run(manifest)
    #expect(try await scenario.run(manifest).nonzero == ["revalidated": 1])
    let asked = try #require(origin.requests.last)
    #expect(asked["If-None-Match"] == tag && asked["If-Modified-Since"] == modified)
  }

  @Test func `fails items one by one, each with its code`() async throws {
    var scenario = Scenario()
    scenario.network["maxBytes"] = 20_000
    scenario.network["timeout"] = "5s"
    let picture = PlainPNG.bytes()
    let origin = try OriginServer.start { request in
      switch request.path {
      case "/404": .status(404, Array("no".utf8))
      case "/404-picture": .status(404, picture)
      case "/500": .status(500)
      case "/html": .ok("<!doctype html><title>sorry</title>", [("Content-Type", "image/jpeg")])
      case "/json": .ok("{\"error\": 1}", [("Content-Type", "image/png")])
      case "/empty": .ok("")
      case "/half":
        .steps([
          .sendBytes(OriginResponse.head(200, [("Content-Length", "\(picture.count)")])),
          .sendBytes(Array(picture.prefix(picture.count / 2))), .close,
        ])
      case "/cut": .ok(Array(picture.prefix(picture.count / 2)))
      case "/large": .ok(PlainPNG.bytes(width: 200, height: 200))
      case "/loop": .redirect(to: "/loop2")
      case "/loop2": .redirect(to: "/loop")
      default: .ok(picture, [("Cache-Control", "max-age=60")])
      }
    }
    defer { origin.stop() }
    let names = [
      "404", "404-picture", "500", "html", "json", "empty", "half", "cut", "large", "loop", "good",
    ]
    let manifest = try scenario.manifest(
      names.map { ["id": $0, "url": origin.url("/\($0)")] } + [
        ["id": "ftp", "url": "ftp://a.example/x"], ["id": "file", "url": "file:///etc/passwd"],
        ["id": "private", "url": "http://10.0.0.1/x"],
        ["id": "metadata", "url": "http://169.254.169.254/latest"],
      ])
    let run = try await scenario.run(manifest)
    #expect(run.status == 1)
    #expect(run.nonzero == ["fetched": 1, "failed": 14])
    #expect(
      run.errorCounts == [
        "http-404": 2, "http-500": 1, "not-an-image": 3, "truncated": 2, "too-large": 1,
        "too-many-redirects": 1, "bad-url": 2, "blocked-address": 2,
      ], "\(run.errors)")
    #expect(scenario.publishedPaths == ["thumb/good.jpg"])
  }

  @Test func `leaves a failure alone for as long as its server says`() async throws {
    let scenario = Scenario()
    let origin = try OriginServer.start { request in
      .status(request.path == "/404" ? 404 : 403, [], [("Cache-Control", "max-age=3600")])
    }
    defer { origin.stop() }
    let manifest = try scenario.manifest([
      ["id": "a", "url": origin.url("/404")], ["id": "b", "url": origin.url("/403")],
      ["id": "c", "url": "ftp://a.example/x"],
    ])
    #expect(try await scenario.run(manifest).nonzero == ["failed": 3])
    for options in [[], ["--retry-failed"]] {
      let run = try await scenario.start(manifest, options).result()
      #expect(run.nonzero == ["cooling": 2, "failed": 1], "\(options)")
      #expect(run.status == 1)
    }
    #expect(origin.requests.count == 2)
  }

  @Test func `tries again within a run what may go well`() async throws {
    let scenario = Scenario()
    let origin = try OriginServer.start { request in
      request.number < 3
        ? .status(request.number == 1 ? 500 : 503)
        : .ok(PlainPNG.bytes(), [("Cache-Control", "max-age=60")])
    }
    defer { origin.stop() }
    let run = try await scenario.run(scenario.manifest([["id": "a", "url": origin.url("/a")]]))
    #expect(run.nonzero == ["fetched": 1])
    #expect(run.json["retries"] as? Int == 2)
  }

  @Test func `follows redirects, each hop with its own lifetime`() async throws {
    let scenario = Scenario()
    let origin = try OriginServer.start { request in
      switch request.path {
      case "/short": .status(302, [], [("Location", "to/a.png"), ("Cache-Control", "no-cache")])
      case "/long": .status(301, [], [("Location", "/to/a.png"), ("Cache-Control", "max-age=600")])
      default: .ok(PlainPNG.bytes(), [("Cache-Control", "max-age=600")])
      }
    }
    defer { origin.stop() }
    let manifest = try scenario.manifest([["id": "a", "url": origin.url("/short")]])
    #expect(try await scenario.run(manifest).nonzero == ["fetched": 1])
    #expect(try await scenario.run(manifest).json["requests"] as? Int == 1)
    #expect(origin.requests.map(\.path) == ["/short", "/to/a.png", "/short"])
    let other = try scenario.manifest([["id": "a", "url": origin.url("/long")]])
    let run = try await scenario.run(other)
    #expect(run.json["requests"] as? Int == 1, "the target is fresh")
    #expect(try await scenario.run(other).nonzero == ["fresh": 1])
  }

  @Test func `keeps nothing that may not be stored, and takes older copies away`() async throws {
    let scenario = Scenario()
    let isForbidden = Mutex(false)
    let origin = try OriginServer.start { _ in
      .ok(
        PlainPNG.bytes(),
        [("Cache-Control", isForbidden.withLock { $0 } ? "no-store" : "no-cache")])
    }
    defer { origin.stop() }
    let manifest = try scenario.manifest([["id": "a", "url": origin.url("/a")]])
    #expect(try await scenario.run(manifest).nonzero == ["fetched": 1])
    #expect(scenario.publishedPaths == ["thumb/a.jpg"])
    isForbidden.withLock { $0 = true }
    #expect(try await scenario.run(manifest).nonzero == ["not_stored": 1])
    #expect(scenario.publishedPaths == [])
    #expect(try await scenario.show("a")["original"] is NSNull)
  }

  @Test func `goes on serving a stale copy while its origin fails`() async throws {
    let scenario = Scenario()
    let isDown = Mutex(false)
    let origin = try OriginServer.start { _ in
      isDown.withLock { $0 } ? .status(503) : .ok(PlainPNG.bytes(), [("Cache-Control", "no-cache")])
    }
    defer { origin.stop() }
    let manifest = try scenario.manifest([["id": "a", "url": origin.url("/a")]])
    _ = try await scenario.run(manifest)
    isDown.withLock { $0 = true }
    let run = try await scenario.run(manifest)
    #expect(run.nonzero == ["failed": 1] && run.status == 1)
    #expect(scenario.publishedPaths == ["thumb/a.jpg"])
    #expect(try await scenario.show("a")["state"] as? String == "failed")
  }

  @Test func `rebuilds without a request when the recipes change`() async throws {
    var scenario = Scenario()
    let origin = try OriginServer.start { _ in
      .ok(PlainPNG.bytes(), [("Cache-Control", "max-age=600")])
    }
    let items = [["id": "a", "url": origin.url("/a")]]
    _ = try await scenario.run(scenario.manifest(items))
    origin.stop()
    scenario.settings["variants"] = [
      ["name": "thumb", "width": 16], ["name": "big", "width": 32, "format": "webp"],
    ]
    let run = try await scenario.run(scenario.manifest(items))
    #expect(run.nonzero == ["rebuilt": 1])
    #expect(run.json["requests"] as? Int == 0 && run.json["variants_made"] as? Int == 1)
    #expect(scenario.publishedPaths == ["big/a.webp", "thumb/a.jpg"])
    scenario.settings["variants"] = [["name": "big", "width": 32, "format": "webp"]]
    #expect(try await scenario.run(scenario.manifest(items)).nonzero == ["fresh": 1])
    #expect(scenario.publishedPaths == ["big/a.webp"])
  }

  @Test func `forgets what left the manifest`() async throws {
    let scenario = Scenario()
    let origin = try OriginServer.start { request in
      .ok(PlainPNG.bytes(red: UInt8(request.path.count)), [("Cache-Control", "max-age=600")])
    }
    defer { origin.stop() }
    let items = [["id": "a", "url": origin.url("/a")], ["id": "b", "url": origin.url("/bb")]]
    _ = try await scenario.run(scenario.manifest(items))
    #expect(scenario.publishedPaths == ["thumb/a.jpg", "thumb/b.jpg"])
    let run = try await scenario.run(scenario.manifest([items[0]]))
    #expect(run.nonzero == ["fresh": 1])
    #expect(scenario.publishedPaths == ["thumb/a.jpg"])
  }

  @Test func `fetches anew when its store was emptied`() async throws {
    let scenario = Scenario()
    let origin = try OriginServer.start { _ in
      .ok(PlainPNG.bytes(), [("Cache-Control", "max-age=600"), ("ETag", "\"a\"")])
    }
    defer { origin.stop() }
    let manifest = try scenario.manifest([["id": "a", "url": origin.url("/a")]])
    _ = try await scenario.run(manifest)
    StorageTemporaryFolder.delete(scenario.root + "/objects")
    let run = try await scenario.run(manifest)
    #expect(run.nonzero == ["fetched": 1], "\(run.errors)")
    #expect(origin.requests.last?["If-None-Match"] == nil)
  }

  @Test(arguments: [["public"], ["public", "objects"]])
  func `publishes again what was deleted`(folders: [String]) async throws {
    let scenario = Scenario()
    let origin = try OriginServer.start { _ in
      .ok(PlainPNG.bytes(), [("Cache-Control", "max-age=600")])
    }
    defer { origin.stop() }
    let manifest = try scenario.manifest([["id": "a", "url": origin.url("/a")]])
    _ = try await scenario.run(manifest)
    for folder in folders { StorageTemporaryFolder.delete("\(scenario.root)/\(folder)") }
    let run = try await scenario.run(manifest)
    #expect(run.status == 0 && run.errorCounts == [:], "\(run.errors)")
    #expect(scenario.publishedPaths == ["thumb/a.jpg"])
  }

  @Test func `plans without a request or a trace`() async throws {
    let scenario = Scenario()
    let origin = try OriginServer.start { _ in
      .ok(PlainPNG.bytes(), [("Cache-Control", "max-age=600")])
    }
    defer { origin.stop() }
    let manifest = try scenario.manifest([["id": "a", "url": origin.url("/a")]])
    let before = try await scenario.run(manifest, "--dry-run")
    #expect((before.json["plan"] as? [String: Int])?["fetch"] == 1)
    #expect(!FileManager.default.fileExists(atPath: scenario.root))
    #expect(origin.requests.isEmpty)
    _ = try await scenario.run(manifest)
    let after = try await scenario.run(manifest, "--dry-run", "--force")
    #expect((after.json["plan"] as? [String: Int])?["fetch"] == 1)
    #expect(origin.requests.count == 1)
  }

  @Test func `reports a name that another item's folder takes, and goes on`() async throws {
    let scenario = Scenario()
    let origin = try OriginServer.start { request in
      .ok(PlainPNG.bytes(red: UInt8(request.path.count)), [("Cache-Control", "max-age=600")])
    }
    defer { origin.stop() }
    let manifest = try scenario.manifest([
      ["id": "a", "url": origin.url("/a")], ["id": "a.jpg/b", "url": origin.url("/bb")],
      ["id": "c", "url": origin.url("/ccc")],
    ])
    let run = try await scenario.run(manifest)
    #expect(run.nonzero == ["fetched": 2, "failed": 1], "\(run.errors)")
    #expect(run.status == 1 && run.errorCounts == ["bad-item": 1])
    #expect(scenario.publishedPaths == ["thumb/a.jpg/b.jpg", "thumb/c.jpg"])
    #expect(try await scenario.run(manifest).nonzero == ["fresh": 2, "failed": 1])
  }

  @Test func `refuses a wrong manifest before anything is done`() async throws {
    let scenario = Scenario()
    let path = scenario.folder.path + "/bad.json"
    StorageTemporaryFolder.write(
      Array(
        #"{"version": 1, "variants": [{"name": "a", "widht": 3}], "items": [{"ulr": "x"}]}"#.utf8),
      to: path)
    let run = try await scenario.run(path)
    #expect(run.status == 2)
    #expect(run.errors.contains("did you mean \"width\"?") && run.errors.contains("items[0]"))
    #expect(!FileManager.default.fileExists(atPath: scenario.root))
  }
}
