import Foundation
import Synchronization
import TestSupport
import Testing

@Suite struct `A URL that many redirects lead to` {
  private func scenario() -> Scenario {
    var scenario = Scenario()
    scenario.network["perHost"] = 6
    return scenario
  }

  private func items(_ origin: OriginServer, _ name: String, _ count: Int) -> [[String: Any]] {
    (1...count).map { ["id": "\(name)\($0)", "url": origin.url("/\(name)\($0)")] }
  }

  /// `/t…` answers as told, everything else leads to `/t`.
  private func origin(
    _ answer: @escaping @Sendable (OriginServer.Request) -> OriginResponse
  ) throws -> OriginServer {
    try OriginServer.start { $0.path.hasPrefix("/t") ? answer($0) : .redirect(to: "/t") }
  }

  @Test(arguments: [[], [("Cache-Control", "no-cache")]])
  func `is asked for once, for whichever lifetime`(_ fields: [(String, String)]) async throws {
    let scenario = scenario()
    let origin = try origin { _ in .ok(PlainPNG.bytes(), fields) }
    defer { origin.stop() }
    let manifest = try scenario.manifest(
      items(origin, "a", 20) + [["id": "itself", "url": origin.url("/t")]])
    let run = try await scenario.run(manifest)
    #expect(run.status == 0 && run.nonzero == ["fetched": 21])
    #expect(scenario.publishedPaths.count == 21)
    #expect(origin.requests.count { $0.path == "/t" } == 1)
    #expect(run.json["variants_made"] as? Int == 1)
    let again = try await scenario.run(manifest, "--force")
    #expect(again.status == 0 && again.nonzero == ["revalidated": 21])
    #expect(origin.requests.count { $0.path == "/t" } == 2, "each run asks for it once")
  }

  @Test func `fails once, for all of them, with the same reason`() async throws {
    var scenario = scenario()
    scenario.network["attempts"] = 2
    let origin = try origin { _ in .status(500) }
    defer { origin.stop() }
    let manifest = try scenario.manifest(
      items(origin, "a", 5) + [["id": "itself", "url": origin.url("/t")]])
    let run = try await scenario.run(manifest)
    #expect(run.nonzero == ["failed": 6] && run.errorCounts == ["http-500": 6])
    #expect(origin.requests.count { $0.path == "/t" } == 2)
  }

  @Test func `may not be stored, which is asked once`() async throws {
    let scenario = scenario()
    let origin = try origin { _ in .ok(PlainPNG.bytes(), [("Cache-Control", "no-store")]) }
    defer { origin.stop() }
    let run = try await scenario.run(scenario.manifest(items(origin, "a", 8)))
    #expect(run.nonzero == ["not_stored": 8])
    #expect(origin.requests.count { $0.path == "/t" } == 1)
  }

  @Test func `is asked for once by two processes`() async throws {
    let scenario = scenario()
    let gate = OriginGate()
    let picture = OriginResponse.ok(PlainPNG.bytes())
    let origin = try origin { _ in .steps([.wait(gate)] + picture.steps) }
    defer { origin.stop() }
    let first = try scenario.start(scenario.manifest(items(origin, "a", 8)))
    let other = scenario.beside("other")
    let second = try other.start(other.manifest(items(origin, "b", 8)))
    await origin.requests(reach: 17)
    gate.open()
    let results = [await first.result(), await second.result()]
    #expect(results.map(\.nonzero) == [["fetched": 8], ["fetched": 8]])
    #expect(results.map(\.status) == [0, 0], "\(results.map(\.errors))")
    #expect(scenario.publishedPaths.count == 8 && other.publishedPaths.count == 8)
    #expect(origin.requests.count { $0.path == "/t" } == 1)
  }

  @Test(arguments: [1, 2])
  func `ends chains that come round to one another`(_ processes: Int) async throws {
    let scenario = scenario()
    let origin = try OriginServer.start { .redirect(to: $0.path == "/a" ? "/b" : "/a") }
    defer { origin.stop() }
    let ids = ["a", "b"].map { ["id": $0, "url": origin.url("/\($0)")] }
    let runs = try (0..<processes).map { number in
      let job = scenario.beside("job\(number)")
      return try job.start(job.manifest(processes == 1 ? ids : [ids[number]]))
    }
    var codes: [String: Int] = [:]
    for run in runs { codes.merge(await run.result().errorCounts, uniquingKeysWith: +) }
    #expect(codes == ["too-many-redirects": 2])
  }
}

@Suite struct `Equal pictures under many URLs` {
  @Test func `are rendered once, and counted as what was stored`() async throws {
    let scenario = Scenario()
    let gate = OriginGate()
    let picture = OriginResponse.ok(PlainPNG.bytes())
    let origin = try OriginServer.start { _ in .steps([.wait(gate)] + picture.steps) }
    defer { origin.stop() }
    let manifest = try scenario.manifest((1...6).map { origin.url("/\($0)") })
    let run = try scenario.start(manifest, ["--workers", "4"])
    await origin.requests(reach: 6)
    gate.open()
    let result = await run.result()
    #expect(result.nonzero == ["fetched": 6])
    #expect(result.json["variants_made"] as? Int == 1)
    let status = try await scenario.status()
    let objects = status["objects"] as? [String: Int]
    #expect(objects?["count"] == 2 && objects?["bytes"] == result.json["bytes_stored"] as? Int)
  }
}
