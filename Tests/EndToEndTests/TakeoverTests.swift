import ForeignSQLite
import Foundation
import Glibc
import TestSupport
import Testing

@Suite struct `A queue that others left` {
  private static func items(_ count: Int, _ origin: OriginServer) -> [[String: String]] {
    (0..<count).map { ["id": "i\($0)", "url": origin.url("/\($0)")] }
  }

  private static func picture(_ request: OriginServer.Request) -> OriginResponse {
    .ok(
      PlainPNG.bytes(red: UInt8(request.path.dropFirst()) ?? 0),
      [("Cache-Control", "max-age=86400")])
  }

  @Test func `of which some failed is tried again for exactly those`() async throws {
    var scenario = Scenario()
    scenario.network["attempts"] = 1
    let isBroken = Script(true)
    let origin = try OriginServer.start { request in
      let number = Int(request.path.dropFirst()) ?? 0
      if isBroken.now, number % 10 < 3 { return .status(number % 10 == 0 ? 404 : 503) }
      return Self.picture(request)
    }
    defer { origin.stop() }
    let manifest = try scenario.manifest(Self.items(40, origin))
    let first = try await scenario.run(manifest)
    #expect(first.status == 1 && first.nonzero == ["fetched": 28, "failed": 12])
    isBroken.now = false
    let asked = origin.requests.count
    #expect(try await scenario.run(manifest).nonzero == ["fresh": 28, "cooling": 12])
    #expect(origin.requests.count == asked)
    let retried = try await ProgramRun.thumbworker(
      "retry", scenario.name, "--code", "http-404", "--root", scenario.root,
      in: scenario.folder.path)
    #expect(retried.output == "4 failed items due now\n")
    #expect(
      try await scenario.run(manifest).nonzero == ["fresh": 28, "fetched": 4, "cooling": 8])
    let last = try await scenario.run(manifest, "--retry-failed")
    #expect(last.status == 0 && last.nonzero == ["fresh": 32, "fetched": 8])
    #expect(origin.requests.count == asked + 12)
  }

  @Test func `with dead items tells which they are, and retry revives them`() async throws {
    var scenario = Scenario()
    scenario.network["attempts"] = 1
    let origin = try OriginServer.start { request in
      switch request.path {
      case "/0": .ok(Array(PlainPNG.bytes().prefix(2000)), [("Cache-Control", "max-age=86400")])
      case "/1": .status(503)
      default: Self.picture(request)
      }
    }
    defer { origin.stop() }
    let manifest = try scenario.manifest(Self.items(3, origin))
    func dead() async throws -> (counts: [Int?], ids: [String]) {
      let status = try await scenario.status()
      let job = (status["jobs"] as? [[String: Any]])?.first
      let export = try await ProgramRun.thumbworker(
        "export", scenario.name, "--root", scenario.root, in: scenario.folder.path)
      return (
        [
          (status["queue"] as? [String: Int])?["dead"], job?["dead"] as? Int,
          job?["failed"] as? Int,
        ],
        export.jsonLines.filter { $0["dead"] as? Bool == true }.map { $0["id"] as? String ?? "" }
      )
    }
    #expect(try await scenario.run(manifest).nonzero == ["fetched": 1, "failed": 2])
    var found = try await dead()
    #expect(found.counts == [1, 1, 2] && found.ids == ["i0"])
    #expect(try await scenario.run(manifest).nonzero == ["fresh": 1, "cooling": 2])
    #expect(origin.requests.count == 3)
    let retried = try await ProgramRun.thumbworker(
      "retry", "--root", scenario.root, in: scenario.folder.path)
    #expect(retried.output == "2 failed items due now\n")
    #expect(try await scenario.run(manifest).nonzero == ["fresh": 1, "failed": 2])
    #expect(origin.requests.count == 4, "the bytes are there: only their decoding is tried again")
    found = try await dead()
    #expect(found.counts == [1, 1, 2] && found.ids == ["i0"])
  }

  @Test func `by one that was frozen past its lease is done by another, once`() async throws {
    let scenario = Scenario()
    let gate = OriginGate()
    let origin = try OriginServer.start { request in
      let picture = Self.picture(request)
      return request.number == 1 ? .steps([.wait(gate)] + picture.steps) : picture
    }
    defer { origin.stop() }
    let manifest = try scenario.manifest(Self.items(5, origin))
    let frozen = try scenario.start(manifest, ["--lease", "500ms"])
    await origin.requests(reach: 5)
    frozen.signal(SIGSTOP)
    let other = try await scenario.run(manifest)
    #expect(other.status == 0 && other.nonzero == ["fetched": 5], "\(other.errors)")
    #expect(origin.requests.count == 10, "the frozen one's five were under way")
    let before = scenario.objects
    gate.open()
    frozen.signal(SIGCONT)
    let thawed = await frozen.result()
    #expect(thawed.status == 0 && thawed.outcomes.values.reduce(0, +) == 5, "\(thawed.errors)")
    let ledger = try ForeignProgram(scenario.root + "/ledger.sqlite")
    let runs = try ledger.query("SELECT max(number) FROM runs")
    #expect(ledger.count("items", where: "state = 1 AND run = \(runs[0][0])") == 5)
    #expect(origin.requests.count == 10 && scenario.objects == before)
    let verified = try await ProgramRun.thumbworker(
      "verify", "--root", scenario.root, in: scenario.folder.path)
    #expect(verified.status == 0, "\(verified.output)")
  }
}
