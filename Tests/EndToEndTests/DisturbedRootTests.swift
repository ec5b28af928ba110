import ForeignSQLite
import Foundation
import Glibc
import TestSupport
import Testing

/// A job of small pictures whose origin can be told to wait.
private final class Disturbed {
  var scenario: Scenario
  let origin: OriginServer
  /// Pictures from this number on are not sent before the gate opens.
  let gate = OriginGate()
  private let count: Int

  init(_ count: Int, waitingFrom first: Int = .max, root: String? = nil) throws {
    self.count = count
    scenario = Scenario()
    if let root { scenario.rootPath = root }
    let gate = gate
    origin = try OriginServer.start { request in
      let number = Int(request.path.dropFirst()) ?? 0
      let picture = OriginResponse.ok(
        PlainPNG.bytes(width: 100, height: 75, red: UInt8(number & 255), green: UInt8(number >> 8)),
        [("Cache-Control", "max-age=86400")])
      return number < first ? picture : .steps([.wait(gate)] + picture.steps)
    }
  }

  deinit {
    gate.open()
    origin.stop()
  }

  var manifest: String {
    get throws {
      try scenario.manifest((0..<count).map { ["id": "i\($0)", "url": origin.url("/\($0)")] })
    }
  }

  func thumbworker(_ arguments: String...) async throws -> ProgramRun.Result {
    try await ProgramRun(
      "thumbworker", arguments + ["--root", scenario.root], in: scenario.folder.path
    ).result()
  }

  func start(_ arguments: String...) throws -> ProgramRun {
    try ProgramRun(
      "thumbworker", arguments + ["--root", scenario.root, "--workers", "1"],
      in: scenario.folder.path)
  }

  /// How many of the job's items are well, by `status`.
  func fresh() async throws -> Int {
    let jobs = try await scenario.status()["jobs"] as? [[String: Any]]
    return jobs?.first?["fresh"] as? Int ?? 0
  }
}

@Suite struct `A root that is disturbed` {
  @Test(.enabled(if: geteuid() == 0, "mounting a small file system needs root"))
  func `with a full disk keeps what was done, and the rest is done when there is space again`()
    async throws
  {
    let disk = try #require(SmallDisk(bytes: 3 << 20))
    let job = try Disturbed(150, root: disk.file("root"))
    let first = try await job.scenario.run(try job.manifest)
    #expect(first.status == 3 && first.json["stopped_by"] as? String == "disk-full", "\(first)")
    #expect(first.errors.contains("free some space"), "\(first.errors)")
    try disk.grow(to: 64 << 20)
    let (asked, done) = (job.origin.requests.count, try await job.fresh())
    #expect(done > 0 && done < 150, "the disk is meant to fill up on the way")
    let next = try await job.scenario.run(try job.manifest)
    #expect(next.status == 0 && job.scenario.publishedPaths.count == 150, "\(next.errors)")
    #expect(job.origin.requests.count - asked == 150 - done)
    let verified = try await job.thumbworker("verify")
    #expect(verified.status == 0, "\(verified.output)")

    try disk.makeReadOnly()
    let refused = try await job.scenario.run(try job.manifest, "--force")
    #expect(refused.status == 3 && refused.errors.contains("write access"), "\(refused.errors)")
    #expect(try await job.fresh() == 150, "what is known can be read")
  }

  @Test func `by being deleted ends its run with a word, and nothing is written elsewhere`()
    async throws
  {
    let job = try Disturbed(20, waitingFrom: 8)
    let run = try job.scenario.start(try job.manifest)
    await job.origin.requests(reach: 9)
    let names = StorageTemporaryFolder.names(in: job.scenario.folder.path)
    StorageTemporaryFolder.delete(job.scenario.root)
    job.gate.open()
    let result = await run.result()
    #expect(result.status == 3, "\(result.errors)")
    #expect(["ledger", "store"].contains(result.json["stopped_by"] as? String), "\(result.output)")
    #expect(result.errors.contains("run again"), "\(result.errors)")
    let left = StorageTemporaryFolder.names(in: job.scenario.folder.path)
    // What the run made while it was being deleted may be left, but nothing is begun anew.
    #expect(left.filter { $0 != "root" } == names.filter { $0 != "root" })
    #expect(access(job.scenario.root + "/ledger.sqlite", F_OK) != 0)
    let next = try await job.scenario.run(try job.manifest)
    #expect(next.status == 0 && next.nonzero == ["fetched": 20], "\(next.errors)")
  }

  @Test func `by being deleted ends a worker that had nothing to do`() async throws {
    let job = try Disturbed(2)
    let worker = try job.start("work")
    #expect(try await job.thumbworker("enqueue", try job.manifest).status == 0)
    while job.scenario.publishedPaths.count < 2 { try await Task.sleep(for: .milliseconds(20)) }
    StorageTemporaryFolder.delete(job.scenario.root)
    let result = await worker.result()
    #expect(result.status == 3 && result.errors.contains("was moved or deleted"), "\(result)")
    #expect(access(job.scenario.root, F_OK) != 0)
  }

  @Test func `by a foreign lock and by readers fails no item of four workers`() async throws {
    let job = try Disturbed(240, waitingFrom: 60)
    #expect(try await job.thumbworker("enqueue", try job.manifest).status == 0)
    let workers = try (1...4).map { _ in try job.start("work", "--drain", "--json") }
    let watch = try ProgramRun(
      "thumbworker", ["status", "--watch", "--json", "--root", job.scenario.root],
      in: job.scenario.folder.path)
    await job.origin.requests(reach: 61)
    let foreign = try ForeignProgram(job.scenario.root + "/ledger.sqlite")
    try foreign.query("BEGIN IMMEDIATE")
    job.gate.open()
    let end = ContinuousClock.now + .seconds(3)
    var looks = 0
    while ContinuousClock.now < end {
      #expect(try await job.scenario.status()["root"] as? String == job.scenario.root)
      looks += 1
    }
    try foreign.query("ROLLBACK")
    #expect(looks > 0)
    for worker in workers {
      let result = await worker.result()
      #expect(result.status == 0 && !result.errors.contains("failed"), "\(result.errors)")
    }
    watch.signal(SIGTERM)
    let watched = await watch.result()
    #expect(watched.status == 143, "\(watched.errors)")
    #expect(watched.errors == "" && watched.jsonLines.count >= 2)
    #expect(try await job.fresh() == 240 && job.origin.requests.count == 240)
    let wal = StorageTemporaryFolder.bytes(of: job.scenario.root + "/ledger.sqlite-wal")
    #expect((wal?.count ?? 0) < 64 << 20)
  }

  @Test(arguments: [
    ("PRAGMA user_version = 9999", "use the newer thumbworker"),
    ("PRAGMA application_id = 7", "give another --root"),
  ])
  func `with a ledger that it does not know is left as it is`(
    change: String, hint: String
  ) async throws {
    let job = try Disturbed(2)
    #expect(try await job.scenario.run(try job.manifest).status == 0)
    let path = job.scenario.root + "/ledger.sqlite"
    try ForeignProgram(path).query(change)
    let before = StorageTemporaryFolder.bytes(of: path)
    let run = ["run", try job.manifest]
    for command in [run, ["work", "--drain"], ["status"], ["gc"], ["verify"]] {
      let result = try await ProgramRun(
        "thumbworker", command + ["--root", job.scenario.root], in: job.scenario.folder.path
      ).result()
      #expect(result.status == 3 && result.errors.contains(hint), "\(command) \(result.errors)")
      #expect(result.errors.contains("ledger"), "\(command) \(result.errors)")
    }
    #expect(StorageTemporaryFolder.bytes(of: path) == before)
    #expect(job.origin.requests.count == 2)
  }
}
