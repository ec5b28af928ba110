import Foundation
import TestSupport
import Testing

/// An origin of one picture that answers something else when told to.
private final class MoodyOrigin: Sendable {
  struct Mood: Sendable {
    var status = 200
    var fields: [(String, String)] = [("Cache-Control", "no-cache"), ("ETag", "\"1\"")]
  }

  let mood: Script<Mood>
  let server: OriginServer

  init(_ fields: [(String, String)]? = nil) throws {
    let mood = Script(fields.map { Mood(fields: $0) } ?? Mood())
    self.mood = mood
    server = try OriginServer.start { _ in
      let mood = mood.now
      return mood.status == 200
        ? .ok(PlainPNG.bytes(), mood.fields) : .status(mood.status, [], mood.fields)
    }
  }

  deinit { server.stop() }

  func answer(_ status: Int, _ fields: [(String, String)] = []) {
    mood.now = Mood(status: status, fields: fields)
  }

  var item: [String: String] { ["id": "a", "url": server.url("/a")] }
}

extension Scenario {
  /// One try per run, and so many seconds' patience with what is missing.
  fileprivate static func impatient(negativeTTL: String? = nil) -> Scenario {
    var scenario = Scenario()
    scenario.network["attempts"] = 1
    if let negativeTTL { scenario.settings["cache"] = ["negativeTTL": negativeTTL] }
    return scenario
  }
}

@Suite struct `A picture that is missing` {
  @Test func `goes when a second 404 confirms the first`() async throws {
    let origin = try MoodyOrigin()
    let scenario = Scenario.impatient(negativeTTL: "0s")
    let two = scenario.beside("two")
    let manifest = try scenario.manifest([origin.item])
    let other = try two.manifest([origin.item])
    _ = try await scenario.run(manifest)
    _ = try await two.run(other)
    origin.answer(404)
    var run = try await scenario.run(manifest)
    #expect(run.nonzero == ["failed": 1] && run.errorCounts == ["http-404": 1])
    #expect(scenario.publishedPaths == ["thumb/a.jpg"])
    run = try await scenario.run(manifest)
    #expect(run.nonzero == ["failed": 1])
    #expect(scenario.publishedPaths == [])
    #expect(try await scenario.told("a").contains("a second 404 has confirmed the first"))
    #expect(two.publishedPaths == ["thumb/a.jpg"], "each job withdraws when it looks")
    _ = try await two.run(other)
    #expect(two.publishedPaths == [])
    // What was known is still there: when it comes back, nothing is downloaded.
    origin.answer(304)
    #expect(try await scenario.run(manifest).nonzero == ["revalidated": 1])
    #expect(scenario.publishedPaths == ["thumb/a.jpg"])
  }

  @Test func `stays while the second 404 comes too soon, or another failure between`()
    async throws
  {
    let origin = try MoodyOrigin()
    let scenario = Scenario.impatient()
    let manifest = try scenario.manifest([origin.item])
    _ = try await scenario.run(manifest)
    origin.answer(404)
    _ = try await scenario.run(manifest)
    #expect(try await scenario.run(manifest).nonzero == ["cooling": 1])
    #expect(try await scenario.run(manifest, "--retry-failed").nonzero == ["failed": 1])
    #expect(scenario.publishedPaths == ["thumb/a.jpg"])
    let error = try #require(try await scenario.show("a")["last_error"] as? [String: Any])
    #expect(error["code"] as? String == "http-404" && error["count"] as? Int == 2)
    #expect(milliseconds(from: error["at"], to: error["next_try"]) == 3_600_000)
    let told = try await scenario.told("a")
    #expect(told.contains("with --retry-failed it is asked at once"))
    #expect(told.contains("on confirms the first"))

    var patient = scenario
    patient.settings["cache"] = ["negativeTTL": "0s"]
    let changed = try patient.manifest([origin.item])
    origin.answer(503)
    #expect(try await patient.run(changed).nonzero == ["failed": 1], "the changed setting counts")
    origin.answer(404)
    _ = try await patient.run(changed, "--retry-failed")
    #expect(scenario.publishedPaths == ["thumb/a.jpg"], "the row of 404s began anew")
    _ = try await patient.run(changed)
    #expect(scenario.publishedPaths == [])
  }

  @Test func `goes at once with a 410, everywhere`() async throws {
    let origin = try MoodyOrigin()
    let scenario = Scenario.impatient()
    let two = scenario.beside("two")
    let manifest = try scenario.manifest([origin.item])
    _ = try await scenario.run(manifest)
    _ = try await two.run(two.manifest([origin.item]))
    origin.answer(410)
    let run = try await scenario.run(manifest)
    #expect(run.nonzero == ["failed": 1] && run.json["stale_kept"] as? Int == 0)
    #expect(scenario.publishedPaths == [] && two.publishedPaths == [] && scenario.objects == [])
    let shown = try await scenario.show("a")
    #expect(shown["etag"] is NSNull && shown["original"] is NSNull)
    #expect(try await scenario.run(manifest).nonzero == ["cooling": 1])
  }

  @Test(arguments: [404, 410, 403, 500])
  func `is left alone for as long as its server says`(status: Int) async throws {
    let origin = try MoodyOrigin()
    origin.answer(status, [("Cache-Control", "max-age=600")])
    let scenario = Scenario.impatient(negativeTTL: "0s")
    let manifest = try scenario.manifest([origin.item])
    #expect(try await scenario.run(manifest).nonzero == ["failed": 1])
    #expect(try await scenario.run(manifest).nonzero == ["cooling": 1])
    #expect(try await scenario.run(manifest, "--retry-failed").nonzero == ["cooling": 1])
    #expect(try await scenario.told("a").contains("the server itself named that time"))
    #expect(try await scenario.run(manifest, "--force").nonzero == ["failed": 1])
    #expect(origin.server.requests.count == 2)
  }

  @Test func `that comes into being is found at its time`() async throws {
    let origin = try MoodyOrigin()
    origin.answer(404)
    let scenario = Scenario.impatient()
    let manifest = try scenario.manifest([origin.item])
    _ = try await scenario.run(manifest)
    origin.answer(200, [("Cache-Control", "max-age=60")])
    #expect(try await scenario.run(manifest).nonzero == ["cooling": 1])
    #expect(try await scenario.run(manifest, "--retry-failed").nonzero == ["fetched": 1])
    #expect(try await scenario.show("a")["last_error"] is NSNull)
  }
}

@Suite struct `While its origin fails, a copy` {
  struct Row: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var says: String
    var status = 503
    var withdraw = "gone"
    var staleIfError: String?
    var stays: Bool
  }

  static let rows = [
    Row(testDescription: "stays", says: "max-age=0", stays: true),
    Row(testDescription: "stays after a 500", says: "max-age=0", status: 500, stays: true),
    Row(testDescription: "stays after a 401", says: "max-age=0", status: 401, stays: true),
    Row(testDescription: "stays after a 418", says: "max-age=0", status: 418, stays: true),
    Row(testDescription: "stays, whatever is forbidden", says: "no-cache", stays: true),
    Row(
      testDescription: "goes without grace", says: "max-age=0", staleIfError: "0s", stays: false),
    Row(
      testDescription: "stays by the server's own grace", says: "max-age=0, stale-if-error=600",
      staleIfError: "0s", stays: true),
    Row(
      testDescription: "stays in strict mode where nothing forbids it", says: "max-age=0",
      withdraw: "stale", stays: true),
    Row(
      testDescription: "goes by must-revalidate", says: "max-age=0, must-revalidate",
      withdraw: "stale", stays: false),
    Row(
      testDescription: "goes by proxy-revalidate", says: "max-age=0, proxy-revalidate",
      withdraw: "stale", stays: false),
    Row(testDescription: "goes by no-cache", says: "no-cache", withdraw: "stale", stays: false),
    Row(testDescription: "goes by s-maxage", says: "s-maxage=0", withdraw: "stale", stays: false),
  ]

  @Test(arguments: rows)
  func `stays or goes`(_ row: Row) async throws {
    let origin = try MoodyOrigin([("Cache-Control", row.says)])
    var scenario = Scenario.impatient()
    scenario.settings["publish"] = ["withdraw": row.withdraw]
    if let grace = row.staleIfError { scenario.settings["cache"] = ["staleIfError": grace] }
    let manifest = try scenario.manifest([origin.item])
    _ = try await scenario.run(manifest)
    origin.answer(row.status)
    let run = try await scenario.run(manifest)
    #expect(run.nonzero == ["failed": 1] && run.status == 1)
    #expect(run.json["stale_kept"] as? Int == (row.stays ? 1 : 0))
    #expect(scenario.publishedPaths == (row.stays ? ["thumb/a.jpg"] : []))
    #expect(try await scenario.run(manifest).nonzero == ["cooling": 1])
    #expect(scenario.publishedPaths == (row.stays ? ["thumb/a.jpg"] : []))
    let shown = try await scenario.show("a")
    #expect(shown["state"] as? String == "failed" && !(shown["original"] is NSNull))
    // The copy was never lost: one good answer and it is back, without a decode.
    origin.answer(200, [("Cache-Control", row.says)])
    let back = try await scenario.run(manifest, "--retry-failed")
    #expect(back.nonzero == ["revalidated": 1] && back.json["variants_made"] as? Int == 0)
    #expect(scenario.publishedPaths == ["thumb/a.jpg"])
  }

  @Test func `stays where the origin does not answer at all, and show says until when`()
    async throws
  {
    let origin = try MoodyOrigin()
    let scenario = Scenario.impatient()
    let manifest = try scenario.manifest([origin.item])
    _ = try await scenario.run(manifest)
    origin.server.stop()
    #expect(try await scenario.run(manifest).errorCounts == ["connect": 1])
    #expect(scenario.publishedPaths == ["thumb/a.jpg"])
    let error = try #require(try await scenario.show("a")["last_error"] as? [String: Any])
    let hops = try #require(try await scenario.view("a")["hops"] as? [[String: Any]])
    #expect(milliseconds(from: error["since"], to: hops[0]["serves_until"]) == 2_592_000_000)
    #expect(milliseconds(from: error["at"], to: error["next_try"]) == 30_000)
    #expect(try await scenario.told("a").contains("while its origin goes on failing"))
  }

  /// Neither a timeout nor an error page with a success's status is remembered for ever.
  @Test func `is replaced as soon as the origin is well again`() async throws {
    let mood = Script("hang")
    let gate = OriginGate()
    let origin = try OriginServer.start { _ in
      switch mood.now {
      case "hang": .steps([.wait(gate), .close])
      case "page": .ok("<!doctype html><title>busy</title>", [("Cache-Control", "max-age=600")])
      case "xml": .status(429, Array("<Error>SlowDown</Error>".utf8), [("Retry-After", "0")])
      default: .ok(PlainPNG.bytes(), [("Cache-Control", "max-age=600")])
      }
    }
    defer {
      gate.open()
      origin.stop()
    }
    var scenario = Scenario.impatient()
    scenario.network["idleTimeout"] = "300ms"
    let manifest = try scenario.manifest([["id": "a", "url": origin.url("/a")]])
    #expect(try await scenario.run(manifest).errorCounts == ["timeout": 1])
    for (next, code) in [("page", "not-an-image"), ("xml", "http-429")] {
      mood.now = next
      #expect(try await scenario.run(manifest, "--retry-failed").errorCounts == [code: 1])
      #expect(scenario.objects == [] && scenario.publishedPaths == [])
    }
    mood.now = "well"
    #expect(try await scenario.run(manifest, "--retry-failed").nonzero == ["fetched": 1])
  }

  @Test func `stays when an error page comes in its place, until its grace is over`()
    async throws
  {
    let isWell = Script(true)
    let origin = try OriginServer.start { _ in
      isWell.now
        ? .ok(PlainPNG.bytes(), [("Cache-Control", "no-cache")]) : .ok("<html>sorry</html>")
    }
    defer { origin.stop() }
    var scenario = Scenario.impatient()
    let items = [["id": "a", "url": origin.url("/a")]]
    _ = try await scenario.run(scenario.manifest(items))
    isWell.now = false
    #expect(try await scenario.run(scenario.manifest(items)).errorCounts == ["not-an-image": 1])
    #expect(scenario.publishedPaths == ["thumb/a.jpg"])
    scenario.settings["cache"] = ["staleIfError": "0s"]
    _ = try await scenario.run(scenario.manifest(items), "--retry-failed")
    #expect(scenario.publishedPaths == [])
  }
}
