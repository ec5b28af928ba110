import Foundation
import TestSupport
import Testing

/// What an origin says, and how long it is fresh by a policy; nil: it is not stored.
private struct PolicyRow: Sendable {
  var id: String
  var fields: [(String, String)]
  var kingfisher: Int?

  init(_ id: String, _ fields: [(String, String)], seconds: Int?) {
    self.id = id
    self.fields = fields
    kingfisher = seconds
  }

  private static let week = 604_800

  static let rows = [
    PolicyRow("nothing", [], seconds: week),
    PolicyRow("no-store", [("Cache-Control", "no-store")], seconds: nil),
    PolicyRow("hour", [("Cache-Control", "max-age=3600")], seconds: 3600),
    PolicyRow("zero", [("Cache-Control", "max-age=0")], seconds: nil),
    PolicyRow("no-cache", [("Cache-Control", "no-cache")], seconds: week),
    PolicyRow("aged", [("Cache-Control", "max-age=4"), ("Age", "1")], seconds: 3),
    PolicyRow("spent", [("Cache-Control", "max-age=3"), ("Age", "5")], seconds: nil),
    PolicyRow("private", [("Cache-Control", "private")], seconds: week),
    PolicyRow("expires", [("Expires", "0")], seconds: week),
  ]
}

@Suite struct `The policy of a job` {
  private func origin() throws -> OriginServer {
    try OriginServer.start { request in
      let number = PolicyRow.rows.firstIndex { "/\($0.id)" == request.path } ?? 99
      return .ok(
        PlainPNG.bytes(red: UInt8(number)),
        number < PolicyRow.rows.count ? PolicyRow.rows[number].fields : [])
    }
  }

  private func items(_ origin: OriginServer) -> [[String: String]] {
    PolicyRow.rows.map { ["id": $0.id, "url": origin.url("/\($0.id)")] }
  }

  private func lifetime(_ scenario: Scenario, _ id: String) async throws -> Int? {
    let shown = try await scenario.show(id)
    guard !(shown["original"] is NSNull) else { return nil }
    return milliseconds(from: shown["response_time"], to: shown["fresh_until"])
  }

  @Test func `kingfisher stores and times as that library does`() async throws {
    let origin = try origin()
    defer { origin.stop() }
    var scenario = Scenario()
    scenario.settings["cache"] = ["policy": "kingfisher"]
    let run = try await scenario.run(scenario.manifest(items(origin)))
    #expect(run.nonzero == ["fetched": 6, "not_stored": 3], "\(run.errors)")
    for row in PolicyRow.rows {
      #expect(
        try await lifetime(scenario, row.id) == row.kingfisher.map { $0 * 1000 }, "\(row.id)")
    }
    scenario.settings["cache"] = ["policy": "kingfisher", "defaultTTL": "10s"]
    _ = try await scenario.run(scenario.manifest(items(origin)))
    #expect(try await lifetime(scenario, "hour") == 10_000)
    let told = try await scenario.told("hour")
    #expect(told.contains("lifetime 1h: max-age (policy kingfisher)"))
    #expect(told.contains("cut to cache.defaultTTL, 10s"))
  }

  @Test func `ignore keeps each of them for the job's own time`() async throws {
    let origin = try origin()
    defer { origin.stop() }
    var scenario = Scenario()
    scenario.settings["cache"] = ["policy": "ignore"]
    let manifest = try scenario.manifest(items(origin))
    #expect(try await scenario.run(manifest).nonzero == ["fetched": PolicyRow.rows.count])
    for row in PolicyRow.rows {
      #expect(try await lifetime(scenario, row.id) == 604_800_000, "\(row.id)")
    }
    #expect(try await scenario.run(manifest).nonzero == ["fresh": PolicyRow.rows.count])
    #expect(try await scenario.show("no-store")["decided_by"] as? String == "ignore")
  }

  /// Kingfisher's own: first without a header, then `no-store` on a forced fetch.
  @Test(arguments: ["rfc9111", "kingfisher"])
  func `does not keep an original or a variant that the server takes back`(policy: String)
    async throws
  {
    let forbids = Script(false)
    let origin = try OriginServer.start { _ in
      .ok(PlainPNG.bytes(), forbids.now ? [("Cache-Control", "no-store")] : [])
    }
    defer { origin.stop() }
    var scenario = Scenario()
    scenario.settings["cache"] = ["policy": policy]
    scenario.settings["publish"] = ["original": true]
    let manifest = try scenario.manifest([["id": "a", "url": origin.url("/a")]])
    #expect(try await scenario.run(manifest).nonzero == ["fetched": 1])
    #expect(scenario.publishedPaths == ["original/a.png", "thumb/a.jpg"])
    forbids.now = true
    #expect(try await scenario.run(manifest).nonzero == ["fresh": 1])
    #expect(try await scenario.run(manifest, "--force").nonzero == ["not_stored": 1])
    #expect(scenario.publishedPaths == [] && scenario.objects == [])
  }

  @Test(arguments: ["rfc9111", "kingfisher", "ignore"])
  func `never lets reading or a later variant prolong a life`(policy: String) async throws {
    let origin = try OriginServer.start { _ in
      .ok(PlainPNG.bytes(), [("Cache-Control", "max-age=600")])
    }
    defer { origin.stop() }
    var scenario = Scenario()
    scenario.settings["cache"] = ["policy": policy]
    let items = [["id": "a", "url": origin.url("/a")]]
    let manifest = try scenario.manifest(items)
    _ = try await scenario.run(manifest)
    let before = try await scenario.show("a")["fresh_until"] as? String
    _ = try await scenario.run(manifest)
    _ = try await scenario.status()
    scenario.settings["variants"] = [["name": "thumb", "width": 16], ["name": "new", "width": 8]]
    #expect(try await scenario.run(scenario.manifest(items)).nonzero == ["rebuilt": 1])
    #expect(scenario.publishedPaths == ["new/a.jpg", "thumb/a.jpg"])
    #expect(try await scenario.show("a")["fresh_until"] as? String == before)
    #expect(origin.requests.count == 1)
  }
}

@Suite struct `One response for many jobs` {
  @Test func `is judged by each with its own settings`() async throws {
    let origin = try OriginServer.start { _ in
      .ok(PlainPNG.bytes(), [("Cache-Control", "max-age=3600")])
    }
    defer { origin.stop() }
    var short = Scenario().beside("short")
    short.settings["cache"] = ["maxTTL": "10m"]
    var long = short.beside("long")
    long.settings["cache"] = ["minTTL": "30d"]
    var strict = short.beside("strict")
    strict.settings["cache"] = ["maxTTL": "0s"]
    let items = [["id": "a", "url": origin.url("/a")]]
    #expect(try await short.run(short.manifest(items)).nonzero == ["fetched": 1])
    let second = try await long.run(long.manifest(items))
    #expect(second.nonzero == ["rebuilt": 1] || second.nonzero == ["fresh": 1])
    #expect(origin.requests.count == 1)
    let shown = try await short.show("a")
    let jobs = try #require(shown["jobs"] as? [[String: Any]])
    let lifetimes = jobs.map { milliseconds(from: shown["response_time"], to: $0["fresh_until"]) }
    #expect(jobs.map { $0["job"] as? String } == ["long", "short"])
    #expect(lifetimes == [2_592_000_000, 600_000])
    let told = try await short.told("a")
    #expect(told.contains("job long:") && told.contains("lengthened to cache.minTTL, 30d"))
    #expect(told.contains("job short:") && told.contains("cut to cache.maxTTL, 10m"))
    // Another answer for one is another for all; none is asked for by who still holds it fresh.
    #expect(try await strict.run(strict.manifest(items)).nonzero == ["revalidated": 1])
    #expect(try await long.run(long.manifest(items)).nonzero == ["fresh": 1])
    #expect(origin.requests.count == 2)
  }

  @Test func `follows a changed setting at the next run, without a request`() async throws {
    let origin = try OriginServer.start { _ in .ok(PlainPNG.bytes()) }
    defer { origin.stop() }
    var scenario = Scenario()
    let items = [["id": "a", "url": origin.url("/a")]]
    _ = try await scenario.run(scenario.manifest(items))
    func freshFor() async throws -> Int? {
      let shown = try await scenario.show("a")
      return milliseconds(from: shown["response_time"], to: shown["fresh_until"])
    }
    let age = 604_800_000 - (try await freshFor() ?? 0)
    for (cache, seconds) in [
      (["defaultTTL": "1h"], 3600), (["defaultTTL": "30d"], 2_592_000),
      (["policy": "kingfisher"], 604_800), (["policy": "ignore", "defaultTTL": "2d"], 172_800),
      (["maxTTL": "5m"], 300),
    ] as [([String: String], Int)] {
      scenario.settings["cache"] = cache
      let run = try await scenario.run(scenario.manifest(items))
      #expect(run.nonzero == ["fresh": 1] && run.json["requests"] as? Int == 0, "\(cache)")
      let ageCounts = cache["policy"] == nil && cache["maxTTL"] == nil
      #expect(try await freshFor() == seconds * 1000 - (ageCounts ? age : 0), "\(cache)")
    }
    #expect(origin.requests.count == 1)
    scenario.settings["cache"] = ["defaultTTL": "0s"]
    #expect(try await scenario.run(scenario.manifest(items)).json["requests"] as? Int == 1)
  }

  /// Whoever sends another Accept gets another picture, and each job publishes its own.
  @Test func `is asked for anew by whom its Vary does not fit`() async throws {
    let origin = try OriginServer.start { request in
      .ok(
        PlainPNG.bytes(red: request["accept"] == "image/png" ? 1 : 2),
        [("Cache-Control", "max-age=600"), ("Vary", "Accept")])
    }
    defer { origin.stop() }
    let plain = Scenario()
    var png = plain.beside("png")
    png.network["headers"] = ["Accept": "image/png"]
    let items = [["id": "a", "url": origin.url("/a")]]
    let (first, second) = (try plain.manifest(items), try png.manifest(items))
    _ = try await plain.run(first)
    let published = try #require(plain.published("thumb/a.jpg"))
    #expect(try await plain.view("a")["action"] as? String == "nothing")
    #expect(try await png.run(second).nonzero == ["fetched": 1])
    #expect(png.published("thumb/a.jpg") != published)
    #expect(plain.published("thumb/a.jpg") == published)
    let view = try await plain.view("a")
    #expect(view["reason"] as? String == "vary" && view["action"] as? String == "download")
    #expect(try await plain.told("a").contains("it varies by accept, which would now be sent"))
    #expect(try await plain.run(first).nonzero == ["fetched": 1])
    #expect(plain.published("thumb/a.jpg") == published)
    #expect(origin.requests.map { $0["accept"] == "image/png" } == [false, true, false])
  }

  @Test func `is due at once in others when it was replaced`() async throws {
    let colour = Script<UInt8>(1)
    let origin = try OriginServer.start { _ in
      .ok(PlainPNG.bytes(red: colour.now), [("Cache-Control", "max-age=600")])
    }
    defer { origin.stop() }
    let one = Scenario()
    let two = one.beside("two")
    let items = [["id": "a", "url": origin.url("/a")]]
    let (first, second) = (try one.manifest(items), try two.manifest(items))
    _ = try await one.run(first)
    _ = try await two.run(second)
    colour.now = 2
    #expect(try await one.run(first, "--force").nonzero == ["fetched": 1])
    // No request: what the other has fetched is fresh here as well.
    let run = try await two.run(second)
    #expect(run.json["requests"] as? Int == 0)
    #expect(two.published("thumb/a.jpg") == one.published("thumb/a.jpg"))
  }
}

@Suite struct `Settings of a host` {
  @Test func `count for that host and for no other that looks like it`() async throws {
    let origin = try OriginServer.start { _ in
      .ok(PlainPNG.bytes(), [("Cache-Control", "max-age=3600")])
    }
    defer { origin.stop() }
    let alike = try OriginServer.start(host: "127.0.0.11", port: origin.port) { _ in
      .ok(PlainPNG.bytes(), [("Cache-Control", "max-age=3600")])
    }
    defer { alike.stop() }
    var scenario = Scenario()
    scenario.settings["hosts"] = [
      ["match": "127.0.0.1", "cache": ["maxTTL": "1m"]],
      ["match": "*.shop.localhost", "cache": ["maxTTL": "2m"]],
      ["match": "a.shop.localhost", "cache": ["maxTTL": "3m"]],
      ["match": "EXACT.localhost.", "cache": ["maxTTL": "4m"]],
    ]
    scenario.settings["cache"] = ["maxTTL": "50m"]
    let minutes = [
      "127.0.0.1": 1, "127.0.0.11": 50, "a.shop.localhost": 2, "b.a.shop.localhost": 2,
      "shop.localhost": 50, "badshop.localhost": 50, "exact.localhost": 4, "notexact.localhost": 50,
      "a.exact.localhost": 50,
    ]
    let items = minutes.keys.sorted().map { host in
      ["id": host, "url": "http://\(host):\(origin.port)/"]
    }
    let run = try await scenario.run(scenario.manifest(items))
    #expect(run.nonzero == ["fetched": items.count], "\(run.errors)")
    for (host, minutes) in minutes {
      let shown = try await scenario.show(host)
      let freshFor = milliseconds(from: shown["response_time"], to: shown["fresh_until"])
      #expect(freshFor == minutes * 60_000, "\(host)")
    }
  }
}

@Suite struct `A targeted field` {
  @Test func `counts where the job names it, and nowhere else`() async throws {
    let origin = try OriginServer.start { request in
      .ok(
        PlainPNG.bytes(red: UInt8(request.path.utf8.last!)),
        [
          (
            "CDN-Cache-Control",
            request.path == "/a"
              ? "max-age=600" : request.path == "/b" ? "max-age=\"6\"" : "no-store"
          ),
          ("Cache-Control", "max-age=60"),
        ])
    }
    defer { origin.stop() }
    var scenario = Scenario()
    let items = ["a", "b", "c"].map { ["id": $0, "url": origin.url("/\($0)")] }
    _ = try await scenario.run(scenario.manifest(items))
    #expect(try await scenario.view("a")["decided_by"] as? String == "max-age")
    scenario.settings["cache"] = ["targets": ["CDN-Cache-Control"]]
    let run = try await scenario.run(scenario.manifest(items))
    #expect(run.nonzero == ["fresh": 2, "not_stored": 1])
    let hops = try #require(try await scenario.view("a")["hops"] as? [[String: Any]])
    #expect(hops[0]["target"] as? String == "CDN-Cache-Control")
    #expect(hops[0]["lifetime_ms"] as? Int == 600_000)
    #expect(hops[0]["deciding"] as? [String] == ["CDN-Cache-Control: max-age=600"])
    let other = try #require(try await scenario.view("b")["hops"] as? [[String: Any]])
    #expect(other[0]["target"] is NSNull && other[0]["lifetime_ms"] as? Int == 60_000)
    #expect(scenario.publishedPaths == ["thumb/a.jpg", "thumb/b.jpg"])
  }
}
