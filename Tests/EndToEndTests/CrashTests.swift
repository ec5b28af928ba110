import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@Suite struct `A run that is disturbed` {
  /// `/7` is the seventh picture of a few hundred.
  @Sendable private static func picture(_ request: OriginServer.Request) -> OriginResponse {
    let number = Int(request.path.dropFirst()) ?? 0
    return .ok(
      PlainPNG.bytes(width: 100, height: 75, red: UInt8(number & 255), green: UInt8(number >> 8)),
      [("Cache-Control", "max-age=600")])
  }

  private static func items(_ count: Int, _ origin: OriginServer) -> [[String: String]] {
    (0..<count).map { ["id": "i\($0)", "url": origin.url("/\($0)")] }
  }

  @Test func `is finished by the next one after kill -9, which repeats only what was under way`()
    async throws
  {
    let scenario = Scenario()
    let gate = OriginGate()
    let origin = try OriginServer.start { request in
      let picture = Self.picture(request)
      let number = Int(request.path.dropFirst()) ?? 0
      return number < 120 ? picture : .steps([.wait(gate)] + picture.steps)
    }
    defer { origin.stop() }
    let manifest = try scenario.manifest(Self.items(300, origin))
    let victim = try scenario.start(manifest, ["--lease", "1s"])
    await origin.requests(reach: 120)
    victim.signal(SIGKILL)
    #expect(await victim.result().status == 137)
    let asked = origin.requests.count
    gate.open()
    let next = try await scenario.run(manifest)
    #expect(next.status == 0, "\(next.errors)")
    #expect(next.outcomes.values.reduce(0, +) == 300)
    #expect(scenario.publishedPaths.count == 300)
    // Under way: what was claimed and not yet written down.
    #expect(origin.requests.count <= 300 + 192, "\(asked) before the kill")
    #expect(try await scenario.run(manifest).nonzero == ["fresh": 300])
  }

  @Test func `shares the work with another run of the same job`() async throws {
    let scenario = Scenario()
    let origin = try OriginServer.start(Self.picture)
    defer { origin.stop() }
    let manifest = try scenario.manifest(Self.items(200, origin))
    let one = try scenario.start(manifest)
    let two = try scenario.start(manifest)
    let results = await [one.result(), two.result()]
    for result in results {
      #expect(result.status == 0, "\(result.errors)")
      #expect(result.outcomes.values.reduce(0, +) == 200, "\(result.output)")
    }
    #expect(origin.requests.count == 200)
    #expect(results.reduce(0) { $0 + $1.outcomes["fetched", default: 0] } == 200)
    #expect(scenario.publishedPaths.count == 200)
  }

  @Test func `goes on when its decoder is killed`() async throws {
    let scenario = Scenario()
    let gate = OriginGate()
    let origin = try OriginServer.start { request in
      let picture = Self.picture(request)
      return request.path == "/5" ? .steps([.wait(gate)] + picture.steps) : picture
    }
    defer { origin.stop() }
    let manifest = try scenario.manifest(Self.items(40, origin))
    let run = try scenario.start(manifest, ["--workers", "1"])
    await origin.requests(reach: 20)
    for decoder in run.children { kill(decoder, SIGKILL) }
    gate.open()
    let result = await run.result()
    #expect(result.outcomes.values.reduce(0, +) == 40)
    // The item whose decoder was killed may fail; the others may not.
    #expect(result.outcomes["fetched", default: 0] >= 39, "\(result.errors)")
    let next = try await scenario.run(manifest, "--retry-failed")
    #expect(next.status == 0, "\(next.errors)")
  }

  @Test(arguments: [(SIGTERM, 143), (SIGINT, 130)] as [(Int32, Int32)])
  func `stops at a signal and keeps what was done`(signal: Int32, status: Int32) async throws {
    let scenario = Scenario()
    let origin = try OriginServer.start { request in
      (Int(request.path.dropFirst()) ?? 0) < 10 ? Self.picture(request) : .steps([.hang])
    }
    defer { origin.stop() }
    let manifest = try scenario.manifest(Self.items(14, origin))
    let run = try scenario.start(manifest, ["--grace", "100ms"])
    await origin.requests(reach: 14)
    run.signal(signal)
    let result = await run.result()
    #expect(result.status == status)
    #expect(result.json["interrupted"] as? Bool == true)
    let queue = try await scenario.status()["queue"] as? [String: Int]
    #expect(queue?["leased"] == 0)
  }
}
