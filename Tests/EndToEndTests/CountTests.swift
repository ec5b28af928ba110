import Foundation
import Glibc
import TestSupport
import Testing

@Suite struct `The counts of a run` {
  private func items(_ origin: OriginServer, _ names: [String]) -> [[String: Any]] {
    names.map { ["id": $0, "url": origin.url("/\($0)")] }
  }

  private func total(_ run: ProgramRun.Result) -> Int {
    run.outcomes.values.reduce(0, +) + (run.json["pending"] as? Int ?? 0)
  }

  @Test func `have what is well and not due as fresh, though the run was cut short`() async throws {
    let scenario = Scenario()
    let origin = try OriginServer.start { request in
      switch request.path {
      case "/hangs": .steps([.hang])
      case "/new1", "/new2": .ok(PlainPNG.bytes())
      default: .ok(PlainPNG.bytes(), [("Cache-Control", "max-age=3600")])
      }
    }
    defer { origin.stop() }
    let old = items(origin, ["a", "b", "c"])
    _ = try await scenario.run(scenario.manifest(old))
    let more = try scenario.manifest(old + items(origin, ["new1", "new2"]))
    let limited = try await scenario.run(more, "--limit", "1")
    #expect(limited.nonzero == ["fresh": 3, "fetched": 1] && limited.json["pending"] as? Int == 1)

    let hanging = try scenario.start(
      scenario.manifest(old + items(origin, ["new1", "new2", "hangs"])))
    await origin.requests(reach: 6)
    hanging.signal(SIGINT)
    let interrupted = await hanging.result()
    #expect(interrupted.json["interrupted"] as? Bool == true)
    #expect((interrupted.outcomes["fresh"] ?? 0) >= 4 && total(interrupted) == 6)
  }

  @Test func `add up to the items where two runs settle the same ones`() async throws {
    let scenario = Scenario()
    let gate = OriginGate()
    let picture = OriginResponse.ok(PlainPNG.bytes(), [("Cache-Control", "max-age=3600")])
    let origin = try OriginServer.start { request in
      request.path == "/last" && request.number == 1
        ? .steps([.wait(gate)] + picture.steps) : picture
    }
    defer { origin.stop() }
    let names = (1...6).map { "a\($0)" } + ["last"]
    let manifest = try scenario.manifest(items(origin, names))
    let first = try scenario.start(manifest, ["--force"])
    // The first six are the first run's, before the second settles them again.
    while ((try await scenario.status()["jobs"] as? [[String: Any]])?.first?["fresh"] as? Int) != 6
    {
    }
    let second = try scenario.start(manifest, ["--force"])
    await origin.requests(reach: 13)
    while ((try await scenario.status()["queue"] as? [String: Any])?["leased"] as? Int) != 1 {}
    gate.open()
    for run in [await first.result(), await second.result()] {
      #expect(run.status == 0 && total(run) == 7, "\(run.output)")
    }
  }

  @Test(.enabled(if: getuid() == 0, "needs root, to mount a small disk"))
  func `name no run where none could begin`() async throws {
    let disk = try #require(SmallDisk(bytes: 3 << 20))
    let scenario = Scenario()
    let origin = try OriginServer.start { _ in
      .ok(PlainPNG.bytes(), [("Cache-Control", "max-age=3600")])
    }
    defer { origin.stop() }
    let manifest = try scenario.manifest(items(origin, ["a", "b"]))
    let arguments = ["run", manifest, "--root", disk.file("root"), "--json"]
    func run() async throws -> ProgramRun.Result {
      try await ProgramRun("thumbworker", arguments, in: scenario.folder.path).result()
    }
    #expect(try await run().nonzero == ["fetched": 2])
    // With no page left the ledger cannot be opened; with some, it can be read and not written.
    for pages in 0..<24 {
      try fill(disk, butFor: pages << 12)
      let full = try await run()
      guard full.status == 3, full.json["run"] is NSNull else { continue }
      #expect(full.json["stopped_by"] as? String == "disk-full")
      #expect(full.json["items"] as? Int == 2 && full.nonzero == ["fresh": 2])
      return
    }
    Issue.record("every run has begun")
  }

  private func fill(_ disk: SmallDisk, butFor bytes: Int) throws {
    unlink(disk.file("ballast"))
    var room = statvfs()
    try #require(statvfs(disk.file("root"), &room) == 0)
    let file = open(disk.file("ballast"), O_WRONLY | O_CREAT, 0o600)
    defer { close(file) }
    posix_fallocate(file, 0, max(1, Int(room.f_bavail * room.f_bsize) - bytes))
  }
}
