import Foundation
import TestSupport
import Testing

@Suite struct `What may not be stored` {
  /// A picture under `no-cache`, until the script says otherwise.
  private func origin(_ says: Script<String>) throws -> OriginServer {
    try OriginServer.start { request in
      .ok(
        PlainPNG.bytes(red: request.path == "/other" ? 7 : 1),
        [("Cache-Control", request.path == "/other" ? "no-cache" : says.now), ("ETag", "\"1\"")])
    }
  }

  @Test(arguments: ["no-store", "private", "no-store, max-age=600", "private=\"x\""])
  func `takes every copy away, in every job, its objects too`(forbids: String) async throws {
    let says = Script("no-cache")
    let origin = try origin(says)
    defer { origin.stop() }
    let one = Scenario()
    var two = one.beside("two")
    two.settings["variants"] = [["name": "large", "width": 32, "format": "webp"]]
    let first = try one.manifest([["id": "a", "url": origin.url("/a")]])
    let second = try two.manifest([
      ["id": "b", "url": origin.url("/a")], ["id": "c", "url": origin.url("/other")],
    ])
    _ = try await one.run(first)
    _ = try await two.run(second)
    #expect(one.publishedPaths == ["thumb/a.jpg"])
    #expect(two.publishedPaths == ["large/b.webp", "large/c.webp"])
    #expect(one.objects.count == 5)

    says.now = forbids
    let run = try await one.run(first)
    #expect(run.nonzero == ["not_stored": 1], "\(run.errors)")
    #expect(one.publishedPaths == [])
    #expect(two.publishedPaths == ["large/c.webp"])
    #expect(one.objects.count == 2, "the other URL's original and variant")

    let shown = try await one.show(origin.url("/a"))
    #expect(shown["state"] as? String == "absent")
    #expect(shown["original"] is NSNull)
    #expect(shown["etag"] is NSNull)
    #expect(shown["last_answer"] as? String == "not-stored")
    #expect((shown["decided_by"] as? String).map { forbids.contains($0) } == true)
    let told = try await one.told("a")
    #expect(told.contains("Cache-Control: \(forbids)"))
    #expect(told.contains("nothing may be stored, by its last answer"))
    // It is asked at each run, with nothing to be recognised by.
    #expect(try await two.run(second).nonzero == ["not_stored": 1, "revalidated": 1])
    let asked = origin.requests.filter { $0.path == "/a" }
    #expect(asked.last?["If-None-Match"] == nil)
    #expect(asked.count == 4)
  }

  @Test func `is learnt from a 304 as well`() async throws {
    let forbids = Script(false)
    let origin = try OriginServer.start { request in
      let fields = [("ETag", "\"1\""), ("Cache-Control", forbids.now ? "no-store" : "no-cache")]
      return request["If-None-Match"] == nil
        ? .ok(PlainPNG.bytes(), fields) : .status(304, [], fields)
    }
    defer { origin.stop() }
    let scenario = Scenario()
    let manifest = try scenario.manifest([["id": "a", "url": origin.url("/a")]])
    _ = try await scenario.run(manifest)
    #expect(try await scenario.run(manifest).nonzero == ["revalidated": 1])
    forbids.now = true
    #expect(try await scenario.run(manifest).nonzero == ["not_stored": 1])
    #expect(scenario.publishedPaths == [] && scenario.objects == [])
  }

  @Test func `leaves equal bytes of another URL alone`() async throws {
    let forbids = Script(false)
    let origin = try OriginServer.start { request in
      .ok(
        PlainPNG.bytes(),
        [("Cache-Control", request.path == "/a" && forbids.now ? "no-store" : "no-cache")])
    }
    defer { origin.stop() }
    let scenario = Scenario()
    let manifest = try scenario.manifest([
      ["id": "a", "url": origin.url("/a")], ["id": "b", "url": origin.url("/b")],
    ])
    _ = try await scenario.run(manifest)
    let before = scenario.objects
    forbids.now = true
    #expect(try await scenario.run(manifest).nonzero == ["not_stored": 1, "revalidated": 1])
    #expect(scenario.publishedPaths == ["thumb/b.jpg"])
    #expect(scenario.objects == before && before.count == 2)
  }

  @Test func `is taken from those as well whose redirects lead to it`() async throws {
    let says = Script("no-cache")
    let origin = try OriginServer.start { request in
      request.path == "/moved"
        ? .status(301, [], [("Location", "/a"), ("Cache-Control", "max-age=600")])
        : .ok(PlainPNG.bytes(), [("Cache-Control", says.now)])
    }
    defer { origin.stop() }
    let direct = Scenario()
    let moved = direct.beside("moved")
    let first = try direct.manifest([["id": "a", "url": origin.url("/a")]])
    _ = try await direct.run(first)
    _ = try await moved.run(moved.manifest([["id": "b", "url": origin.url("/moved")]]))
    #expect(moved.publishedPaths == ["thumb/b.jpg"])
    says.now = "no-store"
    #expect(try await direct.run(first).nonzero == ["not_stored": 1])
    #expect(moved.publishedPaths == [] && direct.objects == [])
  }

  @Test func `may be a redirect where a picture was`() async throws {
    let isMoved = Script(false)
    let origin = try OriginServer.start { request in
      request.path == "/a" && isMoved.now
        ? .status(302, [], [("Location", "/b"), ("Cache-Control", "no-store")])
        : .ok(PlainPNG.bytes(red: UInt8(request.path.utf8.last!)), [("Cache-Control", "no-cache")])
    }
    defer { origin.stop() }
    let scenario = Scenario()
    let manifest = try scenario.manifest([["id": "a", "url": origin.url("/a")]])
    _ = try await scenario.run(manifest)
    let before = scenario.objects
    isMoved.now = true
    #expect(try await scenario.run(manifest).nonzero == ["fetched": 1])
    #expect(scenario.publishedPaths == ["thumb/a.jpg"])
    #expect(scenario.objects.isDisjoint(with: before) && scenario.objects.count == 2)
    // The hop is not kept: it is asked each time, and so is what it leads to.
    #expect(try await scenario.run(manifest).json["requests"] as? Int == 2)
  }

  @Test func `is stored all the same where must-understand allows it, or a private cache may`()
    async throws
  {
    let origin = try OriginServer.start { request in
      .ok(
        PlainPNG.bytes(red: UInt8(request.path.utf8.last!)),
        [
          (
            "Cache-Control",
            request.path == "/a" ? "no-store, must-understand, max-age=60" : "private, max-age=60"
          )
        ])
    }
    defer { origin.stop() }
    var scenario = Scenario()
    scenario.settings["cache"] = ["shared": false]
    let manifest = try scenario.manifest([
      ["id": "a", "url": origin.url("/a")], ["id": "b", "url": origin.url("/b")],
    ])
    #expect(try await scenario.run(manifest).nonzero == ["fetched": 2])
    #expect(try await scenario.run(manifest).nonzero == ["fresh": 2])
  }

  @Test func `is what was asked for with Authorization, unless it is released for others`()
    async throws
  {
    let origin = try OriginServer.start { request in
      .ok(
        PlainPNG.bytes(),
        [("Cache-Control", request.path == "/public" ? "public, max-age=60" : "max-age=60")])
    }
    defer { origin.stop() }
    var scenario = Scenario()
    scenario.network["headers"] = ["Authorization": "Bearer ${FRESHNESS_TEST_TOKEN}"]
    scenario.environment["FRESHNESS_TEST_TOKEN"] = "geheim"
    let manifest = try scenario.manifest([
      ["id": "a", "url": origin.url("/own")], ["id": "b", "url": origin.url("/public")],
    ])
    #expect(try await scenario.run(manifest).nonzero == ["not_stored": 1, "fetched": 1])
    // Whoever looks needs no credentials, and sees none.
    #expect(try await scenario.show("b")["state"] as? String == "fresh")
    #expect(try await scenario.show("a")["decided_by"] as? String == "authorization")
    #expect(try await scenario.view("b")["action"] as? String == "nothing")
    #expect(try await scenario.status()["jobs"] != nil)
    let ledger = try #require(StorageTemporaryFolder.bytes(of: scenario.root + "/ledger.sqlite"))
    #expect(!String(decoding: ledger, as: UTF8.self).contains("geheim"))
    scenario.settings["cache"] = ["shared": false]
    let own = try scenario.manifest([["id": "a", "url": origin.url("/own")]])
    #expect(try await scenario.run(own).nonzero == ["fetched": 1])
  }
}
