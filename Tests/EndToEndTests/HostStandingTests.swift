import Foundation
import Synchronization
import TestSupport
import Testing

@Suite struct `A host in trouble` {
  private func items(_ origin: OriginServer, _ name: String, _ count: Int) -> [[String: Any]] {
    (1...count).map { ["id": "\(name)\($0)", "url": origin.url("/\(name)\($0)")] }
  }

  @Test func `that asks to be left alone is left alone by the next run, which says so`()
    async throws
  {
    let scenario = Scenario()
    let origin = try OriginServer.start { request in
      request.path == "/a1"
        ? .status(429, [], [("Retry-After", "3600")]) : .ok(PlainPNG.bytes())
    }
    defer { origin.stop() }
    let first = try await scenario.run(scenario.manifest(items(origin, "a", 1)))
    #expect(first.errorCounts == ["http-429": 1])
    let more = try scenario.beside("more").manifest(items(origin, "b", 3))
    let second = try await scenario.run(more)
    #expect(second.status == 1 && second.nonzero == ["failed": 3])
    #expect(second.errorCounts == ["postponed": 3] && second.json["requests"] as? Int == 0)
    #expect(second.errors.contains("127.0.0.1 wants no requests before "))
    #expect(origin.requests.count == 1)
    let insisting = try await scenario.run(more, "--retry-failed")
    #expect(insisting.errorCounts == ["postponed": 3] && origin.requests.count == 1)

    let host = try #require((try await scenario.status()["hosts"] as? [[String: Any]])?.first)
    #expect(host["host"] as? String == "127.0.0.1")
    #expect(host["held_until"] as? String == host["cooling_until"] as? String)
    let told = try await ProgramRun.thumbworker(
      "status", "--root", scenario.root, in: scenario.folder.path)
    #expect(told.output.contains("left alone until \(host["held_until"] as? String ?? "?")"))
  }

  @Test func `that cannot be reached costs few tries, and none while its pause lasts`()
    async throws
  {
    var scenario = Scenario()
    scenario.network["attempts"] = 4
    let origin = try OriginServer.start { _ in .steps([.reset]) }
    defer { origin.stop() }
    let manifest = try scenario.manifest(items(origin, "a", 30))
    #expect(try await scenario.run(manifest).nonzero == ["failed": 30])
    let tries = origin.connections
    #expect((5...12).contains(tries), "of thirty times four")
    // Whoever insists gets one try for each run; the pause doubles to two minutes.
    for _ in 1...2 {
      let run = try await scenario.run(manifest, "--retry-failed")
      #expect(run.errorCounts == ["connect": 1, "postponed": 29])
    }
    #expect(origin.connections == tries + 2)
    let other = try scenario.beside("other").manifest(items(origin, "b", 30))
    let spared = try await scenario.run(other)
    #expect(spared.errorCounts == ["postponed": 30] && origin.connections == tries + 2)
    #expect(spared.errors.contains("127.0.0.1 could not be reached ("))
  }

  @Test func `is known though the run that met it was killed`() async throws {
    let scenario = Scenario()
    let origin = try OriginServer.start { request in
      request.path == "/a1" ? .status(503, [], [("Retry-After", "600")]) : .steps([.hang])
    }
    defer { origin.stop() }
    let other = try OriginServer.start(host: "127.0.0.2") { _ in .steps([.hang]) }
    defer { other.stop() }
    let run = try scenario.start(
      scenario.manifest(items(origin, "a", 1) + [["id": "hangs", "url": other.url("/")]]))
    while (try await scenario.status()["hosts"] as? [[String: Any]])?.contains(where: {
      $0["held_until"] is String
    }) != true {}
    run.signal(SIGKILL)
    _ = await run.result()
    let next = try await scenario.run(
      scenario.beside("next").manifest(items(origin, "b", 2)))
    #expect(next.errorCounts == ["postponed": 2])
    #expect(origin.requests.map(\.path) == ["/a1"])
  }
}
