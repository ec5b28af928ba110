import ForeignSQLite
import Foundation
import Glibc
import TestSupport
import Testing

/// A root in which one job was run, and an origin for it.
private final class House {
  var scenario: Scenario
  let origin: OriginServer
  /// Paths that answer with this status instead of a picture.
  let failing = Script<[String: Int]>([:])

  init(_ items: [String] = ["a", "b", "c"], failing: [String: Int] = [:]) async throws {
    let failures = self.failing
    failures.now = failing
    origin = try OriginServer.start { request in
      let name = String(request.path.dropFirst())
      if let status = failures.now[name] { return .status(status) }
      if name.hasPrefix("to-") {
        return .status(301, [], [("Location", "/" + name.dropFirst(3))])
      }
      if name.hasPrefix("via-") {
        let fields = [("Location", "/" + name.dropFirst(4)), ("Cache-Control", "no-store")]
        return .status(302, [], fields)
      }
      let fields = [("Cache-Control", "max-age=86400"), ("ETag", "\"1\"")]
      return .ok(PlainPNG.bytes(red: name.utf8.reduce(0) { $0 &+ $1 }), fields)
    }
    var scenario = Scenario()
    scenario.network["attempts"] = 1
    self.scenario = scenario
    _ = try await run(items)
  }

  deinit { origin.stop() }

  @discardableResult
  func run(_ items: [String], _ options: String...) async throws -> ProgramRun.Result {
    let manifest = try scenario.manifest(items.map { ["id": $0, "url": origin.url("/\($0)")] })
    return try await ProgramTurns.shared.inTurn {
      try await scenario.start(manifest, options).result()
    }
  }

  func keep(_ arguments: String...) async throws -> ProgramRun.Result {
    try await keep(arguments)
  }

  func keep(_ arguments: [String]) async throws -> ProgramRun.Result {
    try await ProgramRun(
      "thumbworker", arguments + ["--root", scenario.root], in: scenario.folder.path
    ).result()
  }

  func requested(since count: Int) -> [String] {
    origin.requests.dropFirst(count).map { String($0.path.dropFirst()) }.sorted()
  }

  func variant(of id: String) async throws -> String {
    let variants = try await scenario.show(id)["variants"] as? [[String: Any]]
    return try #require(variants?.first?["sha256"] as? String)
  }
}

@Suite struct `purge` {
  @Test func `forgets an entry, deletes its files and has it fetched again`() async throws {
    let house = try await House()
    let before = house.origin.requests.count
    let result = try await house.keep("purge", house.origin.url("/a"))
    #expect(result.status == 0)
    #expect(result.output == "1 entry forgotten; 1 item to be fetched again\n")
    #expect(house.scenario.publishedPaths == ["thumb/b.jpg", "thumb/c.jpg"])
    #expect(house.scenario.objectCount == 4)
    #expect(try await house.scenario.show("a")["state"] as? String == "absent")
    #expect(try await house.run(["a", "b", "c"]).nonzero == ["fetched": 1, "fresh": 2])
    #expect(house.requested(since: before) == ["a"])
    #expect(house.scenario.publishedPaths.count == 3)
  }

  @Test func `takes what a redirect leads to with it`() async throws {
    let house = try await House(["to-a", "a", "b"])
    #expect(house.scenario.objectCount == 4)
    let result = try await house.keep("purge", house.origin.url("/to-a"))
    #expect(result.output == "2 entries forgotten; 2 items to be fetched again\n")
    #expect(house.scenario.publishedPaths.count == 1 && house.scenario.objectCount == 2)
  }

  @Test func `counts no item twice in a run that is under way`() async throws {
    let gate = Script(false)
    let origin = try OriginServer.start { request in
      while request.path == "/last", !gate.now { usleep(2000) }
      return .ok(
        PlainPNG.bytes(red: request.path.utf8.reduce(0) { $0 &+ $1 }),
        [("Cache-Control", "max-age=600")])
    }
    defer { origin.stop() }
    let scenario = Scenario()
    let manifest = try scenario.manifest(
      ((0..<8).map { "/\($0)" } + ["/last"]).map { origin.url($0) })
    let run = try scenario.start(manifest)
    while scenario.publishedPaths.count < 8 { usleep(2000) }
    let purge = try await ProgramRun.thumbworker(
      "purge", "--all", "--root", scenario.root, in: scenario.folder.path)
    #expect(purge.status == 0)
    gate.now = true
    let result = await run.result()
    #expect(result.nonzero == ["fetched": 9] && result.json["items"] as? Int == 9)
    #expect(try await scenario.run(manifest).nonzero == ["fetched": 8, "fresh": 1])
  }

  @Test(.timeLimit(.minutes(2)))
  func `is no fault to a run that is being told that nothing has changed`() async throws {
    let gate = OriginGate()
    let origin = try OriginServer.start { request in
      let fields = [("Cache-Control", "no-cache"), ("ETag", "\"1\"")]
      if request.path == "/moved" {
        return .status(302, [], [("Location", "/target"), ("Cache-Control", "max-age=600")])
      }
      return request["If-None-Match"] == nil
        ? .ok(PlainPNG.bytes(red: request.path.utf8.reduce(0) { $0 &+ $1 }), fields)
        : .steps([.wait(gate)] + OriginResponse.status(304, [], fields).steps)
    }
    defer { origin.stop() }
    var scenario = Scenario()
    scenario.network["perHost"] = 8
    let manifest = try scenario.manifest(
      ["/1", "/2", "/3", "/4", "/5", "/moved"].map { origin.url($0) })
    #expect(try await scenario.run(manifest).nonzero == ["fetched": 6])
    let before = scenario.objects
    let run = try scenario.start(manifest)
    await origin.requests(reach: 7 + 6)
    let purge = try await ProgramRun.thumbworker(
      "purge", "--job", "job", "--root", scenario.root, in: scenario.folder.path)
    #expect(purge.status == 0 && scenario.objects == [])
    gate.open()
    let result = await run.result()
    #expect(result.status == 0 && result.nonzero == ["fetched": 6], "\(result.errors)")
    // Each was asked once whether it is still the same, and once for its bytes.
    let targets = Dictionary(grouping: origin.requests.dropFirst(7), by: \.path)
    #expect(targets.filter { $0.key != "/moved" }.mapValues(\.count).values.allSatisfy { $0 == 2 })
    #expect(scenario.objects == before && scenario.publishedPaths.count == 6)
  }

  @Test(arguments: [["--all"], ["--job", "job"], ["--host", "127.0.0.1"]])
  func `takes everything that it is told`(_ choice: [String]) async throws {
    let house = try await House()
    let result = try await house.keep(["purge"] + choice)
    #expect(result.output == "3 entries forgotten; 3 items to be fetched again\n")
    #expect(house.scenario.publishedPaths.isEmpty && house.scenario.objectCount == 0)
    let status = try await house.scenario.status()
    #expect((status["objects"] as? [String: Int]) == ["count": 0, "bytes": 0])
    #expect(try await house.run(["a", "b", "c"]).nonzero == ["fetched": 3])
  }

  @Test func `leaves everything else alone`() async throws {
    let house = try await House(["a"])
    for (arguments, status) in [
      ([], 2), (["--all", "--job", "job"], 2), (["no url"], 2), (["--job", "unknown"], 2),
      (["--host", "elsewhere.example"], 0), (["http://elsewhere.example/"], 0),
    ] as [([String], Int32)] {
      let result = try await house.keep(["purge"] + arguments)
      #expect(result.status == status, "\(arguments): \(result.errors)")
      let nothing = "0 entries forgotten; 0 items to be fetched again\n"
      #expect(result.output == (status == 0 ? nothing : ""))
    }
    #expect(house.scenario.publishedPaths.count == 1)
  }
}

@Suite struct `retry` {
  @Test func `makes failed items due, by the codes that it is given`() async throws {
    let house = try await House(["a", "b", "c"], failing: ["b": 404, "c": 503])
    let before = house.origin.requests.count
    #expect(try await house.run(["a", "b", "c"]).nonzero == ["fresh": 1, "cooling": 2])
    house.failing.now = [:]
    #expect(try await house.keep("retry", "--code", "http-404").output == "1 failed item due now\n")
    #expect(
      try await house.run(["a", "b", "c"]).nonzero == ["fresh": 1, "fetched": 1, "cooling": 1])
    #expect(try await house.keep("retry", "job").output == "1 failed item due now\n")
    #expect(try await house.run(["a", "b", "c"]).nonzero == ["fresh": 2, "fetched": 1])
    #expect(house.requested(since: before) == ["b", "c"])
    #expect(try await house.keep("retry", "unknown").status == 2)
  }

  @Test func `reaches the failure behind a redirect`() async throws {
    let house = try await House(["to-b"], failing: ["b": 404])
    house.failing.now = [:]
    #expect(try await house.run(["to-b"]).nonzero == ["cooling": 1])
    #expect(try await house.keep("retry").output == "1 failed item due now\n")
    #expect(try await house.run(["to-b"]).nonzero == ["fetched": 1])
  }
}

@Suite struct `jobs` {
  @Test func `are listed, paused and resumed`() async throws {
    let house = try await House()
    let list = try await house.keep("jobs")
    #expect(list.output.hasPrefix("job: 3 items; last run 20"))
    #expect(try await house.keep("jobs", "pause", "job").status == 0)
    #expect(try await house.keep("jobs").output.hasSuffix("; paused\n"))
    let before = house.origin.requests.count
    let paused = try await house.run(["a", "b", "c"], "--force")
    #expect(paused.status == 1 && paused.json["stopped_by"] as? String == "paused")
    #expect(paused.errors.contains("thumbworker jobs resume job"))
    #expect(house.origin.requests.count == before)
    #expect(try await house.keep("jobs", "resume", "job").status == 0)
    #expect(try await house.run(["a", "b", "c"], "--force").nonzero == ["revalidated": 3])
  }

  @Test func `are removed with their names, and their files by gc`() async throws {
    let house = try await House()
    #expect(try await house.keep("jobs", "remove", "job").status == 0)
    #expect(house.scenario.publishedPaths.isEmpty)
    #expect(!FileManager.default.fileExists(atPath: house.scenario.root + "/public/job"))
    #expect(try await house.keep("jobs").output == "there are no jobs\n")
    #expect(house.scenario.objectCount == 6)
    #expect(try await house.keep("gc", "--max-age", "0s").status == 0)
    #expect(house.scenario.objectCount == 0)
    #expect(try await house.keep("verify").status == 0)
    #expect(try await house.run(["a", "b", "c"]).nonzero == ["fetched": 3])
  }

  @Test func `are removed and leave their names where that is asked for`() async throws {
    let house = try await House()
    #expect(try await house.keep("jobs", "remove", "job", "--keep-names").status == 0)
    #expect(house.scenario.publishedPaths.count == 3)
  }

  @Test func `are cancelled: what is under way ends, nothing more begins`() async throws {
    let gate = Script(false)
    let origin = try OriginServer.start { request in
      while !gate.now { usleep(2000) }
      return .ok(PlainPNG.bytes(red: 7), [])
    }
    defer { origin.stop() }
    var scenario = Scenario()
    scenario.network["perHost"] = 1
    scenario.network["concurrency"] = 1
    let manifest = try scenario.manifest((0..<20).map { origin.url("/\($0)") })
    let run = try scenario.start(manifest)
    while origin.requests.isEmpty { usleep(2000) }
    let cancelled = try await ProgramRun.thumbworker(
      "jobs", "cancel", "job", "--root", scenario.root, in: scenario.folder.path)
    #expect(cancelled.status == 0)
    gate.now = true
    let result = await run.result()
    #expect(result.status == 1 && result.json["stopped_by"] as? String == "cancelled")
    #expect((1..<20).contains(result.outcomes["fetched"] ?? 0))
    let next = try await scenario.run(manifest)
    #expect(next.status == 0 && next.json["stopped_by"] is NSNull)
  }

  @Test func `refuse what they cannot do`() async throws {
    let house = try await House(["a"])
    for arguments in [["pause"], ["stop", "job"], ["pause", "unknown"], ["remove", "unknown"]] {
      let result = try await house.keep(["jobs"] + arguments)
      #expect(result.status == 2 && result.output.isEmpty && !result.errors.isEmpty)
    }
  }
}

@Suite struct `gc` {
  @Test func `lists what left the manifest, keeps it for a while and then deletes it`() async throws
  {
    let house = try await House(["a", "b", "c", "d"])
    try await house.run(["a", "b"])
    #expect(house.scenario.objectCount == 8)
    let listed = try await house.keep("gc", "--dry-run", "--max-age", "0s")
    #expect(listed.output.matches(of: /\/[cd]: .* in no job since/).count == 2, "\(listed.output)")
    #expect(!listed.output.contains("/a: "))
    #expect(house.scenario.objectCount == 8)
    #expect(try await house.keep("gc").status == 0)
    #expect(house.scenario.objectCount == 8, "within 30 days it stays")
    let json = try await house.keep("gc", "--max-age", "0s", "--json").json
    #expect(json["expired"] as? Int == 2)
    #expect(house.scenario.objectCount == 4)
    #expect(try await house.run(["a", "b"]).nonzero == ["fresh": 2])
    #expect(try await house.keep("verify").status == 0)
  }

  @Test func `keeps what a redirect leads to while an item needs it`() async throws {
    let house = try await House(["to-a", "a"])
    try await house.run(["to-a"])
    #expect(try await house.keep("gc", "--max-age", "0s").status == 0)
    #expect(try await house.run(["to-a"]).nonzero == ["fresh": 1])
    #expect(house.scenario.objectCount == 2)
  }

  @Test func `deletes files that the ledger does not know`() async throws {
    let house = try await House(["a"])
    let orphan = String(repeating: "ab", count: 32)
    StorageTemporaryFolder.write(
      [1, 2, 3], to: "\(house.scenario.root)/objects/ab/\(orphan.dropFirst(2))")
    let planned = try await house.keep("gc", "--dry-run")
    #expect(planned.output.contains("1 object that nothing referred to, 3 B: would go"))
    #expect(house.scenario.objects.contains(orphan))
    #expect(try await house.keep("gc").output.contains("3 B: gone"))
    #expect(!house.scenario.objects.contains(orphan) && house.scenario.objectCount == 2)
  }

  @Test func `says what it could not delete, and what to do`() async throws {
    let house = try await House(["a"])
    let folder = "\(house.scenario.root)/objects/ab"
    StorageTemporaryFolder.write([1], to: folder + "/" + String(repeating: "c", count: 62))
    guard let closed = UnwritableFile(folder) else { return }  // no such file system
    let result = try await house.keep("gc")
    withExtendedLifetime(closed) {}
    #expect(result.status == 3)
    #expect(result.errors.hasPrefix("thumbworker: store: may not remove "), "\(result.errors)")
    #expect(result.errors.contains("write access to the root"), "\(result.errors)")
  }

  @Test func `lets what no job needs go first where a limit asks for it`() async throws {
    let house = try await House(["a", "b", "c"])
    try await house.run(["a", "b"])
    let first = try await house.keep("gc", "--max-count", "4", "--json").json
    #expect(first["evicted"] as? Int == 1 && first["evicted_needed"] as? Int == 0)
    #expect(try await house.run(["a", "b"]).nonzero == ["fresh": 2])
    let second = try await house.keep("gc", "--max-count", "3")
    #expect(second.output.contains("1 of them a job needs"), "\(second.output)")
    #expect(house.scenario.objectCount == 2)
    #expect(try await house.run(["a", "b"]).nonzero == ["fresh": 1, "fetched": 1])
  }

  @Test func `keeps to one limit where entries share their bytes`() async throws {
    let house = try await House(["ab", "ba", "c"])  // the first two are one picture
    #expect(house.scenario.objectCount == 4)
    let after = try await house.keep("gc", "--max-count", "0", "--json")
    #expect(after.status == 0, "\(after.errors)")
    #expect(after.json["evicted"] as? Int == 3 && house.scenario.objectCount == 0)
    #expect(try await house.keep("verify").status == 0)
  }

  @Test func `keeps so much of the disk free, and a run leaves so much`() async throws {
    let house = try await House(["a", "b"])
    let stopped = try await house.run(["a", "b", "c"], "--min-free", "1000000GB")
    #expect(stopped.status == 3 && stopped.json["stopped_by"] as? String == "disk-full")
    #expect(stopped.errors.contains("are to stay free"), "\(stopped.errors)")
    #expect(house.scenario.objectCount == 4)
    let enough = try await house.keep("gc", "--min-free", "1B", "--json").json
    #expect(enough["evicted"] as? Int == 0)
    let all = try await house.keep("gc", "--min-free", "1000000GB", "--json").json
    #expect(all["evicted_needed"] as? Int == 2)
    #expect(house.scenario.objectCount == 0)
  }

  @Test func `has nothing to do after pictures that were replaced: their files went with them`()
    async throws
  {
    let scenario = Scenario()
    let number = Script(1)
    let mayKeep = Script(true)
    let origin = try OriginServer.start { _ in
      .ok(
        PlainPNG.bytes(red: UInt8(number.now * 60)),
        [("Cache-Control", mayKeep.now ? "no-cache" : "no-store")])
    }
    defer { origin.stop() }
    let manifest = try scenario.manifest([["id": "a", "url": origin.url("/a")]])
    var seen: Set<String> = []
    for picture in 1...3 {
      number.now = picture
      #expect(try await scenario.run(manifest).nonzero == ["fetched": 1])
      #expect(scenario.objectCount == 2 && seen.isDisjoint(with: scenario.objects))
      seen.formUnion(scenario.objects)
    }
    mayKeep.now = false
    #expect(try await scenario.run(manifest).nonzero == ["not_stored": 1])
    #expect(scenario.objectCount == 0)
  }

  @Test func `deletes variants that no job asks for any more, after a while`() async throws {
    let house = try await House(["a"])
    let small = try await house.variant(of: "a")
    house.scenario.settings["variants"] = [["name": "thumb", "width": 5]]
    #expect(try await house.run(["a"]).nonzero == ["rebuilt": 1])
    let kept = try await house.keep("gc", "--json").json
    #expect(kept["unwanted_variants"] as? Int == 1 && kept["expired_variants"] as? Int == 0)
    #expect(house.scenario.objects.contains(small), "within 30 days the job may change its mind")
    let gone = try await house.keep("gc", "--max-age", "0s", "--json").json
    #expect(gone["expired_variants"] as? Int == 1)
    #expect(!house.scenario.objects.contains(small) && house.scenario.objectCount == 2)
    #expect(try await house.keep("verify").status == 0)
    #expect(try await house.run(["a"]).nonzero == ["fresh": 1])
  }

  @Test func `keeps to a number of bytes`() async throws {
    let house = try await House(["a", "b", "c", "d"])
    let objects = try await house.scenario.status()["objects"] as? [String: Int]
    let half = (objects?["bytes"] ?? 0) / 2
    let after = try await house.keep("gc", "--max-bytes", "\(half)", "--json").json
    let bytes = try #require((after["objects"] as? [String: Int])?["bytes"])
    #expect(bytes <= half && bytes > 0)
    #expect(try await house.keep("verify").status == 0)
  }
}

@Suite struct `verify` {
  @Test func `finds nothing wrong after a run`() async throws {
    let house = try await House()
    let result = try await house.keep("verify")
    #expect(result.status == 0, "\(result.output)")
    #expect(result.output.hasSuffix("; 3 published names\nnothing is wrong\n"))
    #expect(try await house.keep("verify", "--json").json["objects"] as? Int == 6)
  }

  @Test func `finds nothing wrong with items whose URL cannot be used`() async throws {
    let house = try await House(["a"])
    let manifest = try house.scenario.manifest([house.origin.url("/a"), "ftp://a.example/x"])
    #expect(try await house.scenario.run(manifest).errorCounts == ["bad-url": 1])
    let result = try await house.keep("verify")
    #expect(result.status == 0, "\(result.output)")
  }

  @Test func `finds and mends what is damaged, gone or strange`() async throws {
    let house = try await House(["a", "b", "c", "d"])
    let (a, b) = (try await house.variant(of: "a"), try await house.variant(of: "b"))
    let original = try await house.scenario.original(of: "d")
    try house.scenario.damage(a)
    house.scenario.deleteObject(b)
    try house.scenario.damage(original)
    let names = house.scenario.publishedPaths
    let folder = "\(house.scenario.root)/public/job/"
    StorageTemporaryFolder.delete(folder + names[2])
    StorageTemporaryFolder.write([1], to: folder + "mine.txt")
    mkdir("\(house.scenario.root)/public/other", 0o755)

    let found = try await house.keep("verify", "--json")
    #expect(found.status == 1)
    for (field, count) in [
      ("damaged", 2), ("missing", 1), ("broken_names", 1), ("strangers", 2), ("wrong_counters", 0),
    ] { #expect(found.json[field] as? Int == count, "\(field)") }
    #expect(house.scenario.publishedPaths.count == 4, "it only looks")

    let mended = try await house.keep("verify", "--repair")
    #expect(mended.status == 0, "\(mended.output)\(mended.errors)")
    #expect(mended.output.contains("quarantine/\(a)"))
    #expect(!house.scenario.publishedPaths.contains(names[0]), "a damaged picture is not served")
    #expect(house.scenario.publishedPaths.contains(names[2]), "its object is whole")
    let run = try await house.run(["a", "b", "c", "d"])
    #expect(run.status == 0 && run.nonzero == ["rebuilt": 2, "fetched": 1, "fresh": 1])
    let after = try await house.keep("verify", "--json")
    #expect(after.status == 0 && after.json["strangers"] as? Int == 2, "\(after.output)")
    #expect(Set(house.scenario.publishedPaths) == Set(names + ["mine.txt"]))
  }

  struct Loss: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var items: [String]
    var make: @Sendable (Scenario, String) throws -> Void
  }

  private static let losses: [Loss] = [["ad", "bc"], ["via-a"], ["to-a", "via-a", "a"]].flatMap {
    items in
    [
      Loss(testDescription: "damaged: \(items)", items: items) { try $0.damage($1) },
      Loss(testDescription: "deleted: \(items)", items: items) { $0.deleteObject($1) },
      Loss(testDescription: "a folder: \(items)", items: items) {
        $0.deleteObject($1)
        mkdir($0.path(ofObject: $1), 0o755)
      },
    ]
  }

  /// Equal bytes have two URLs, or nothing leads from the picture to its item.
  @Test(arguments: losses)
  func `mends every name of a picture, wherever its URL leads`(_ loss: Loss) async throws {
    let house = try await House(loss.items)
    let pictures = house.scenario.publishedPaths.map { house.scenario.published($0) }
    let shown = try await house.keep("export", "job").output
    let digest = try #require(shown.firstMatch(of: /"sha256": ?"([0-9a-f]{64})"/)?.1)
    try loss.make(house.scenario, String(digest))
    let mended = try await house.keep("verify", "--repair")
    #expect(mended.status == 0, "\(mended.output)\(mended.errors)")
    #expect(try await house.run(loss.items).status == 0)
    #expect(house.scenario.publishedPaths.map { house.scenario.published($0) } == pictures)
    let after = try await house.keep("verify")
    #expect(after.status == 0, "\(after.output)")
  }

  /// Whatever was made of damaged bytes, a picture or a failure, is no word on the whole ones.
  @Test func `forgets what was made of an original that turns out to be damaged`() async throws {
    let house = try await House(["a"])
    let whole = house.scenario.objects
    let original = try await house.scenario.original(of: "a")
    try house.scenario.damage(original)
    house.scenario.settings["variants"] = [
      ["name": "thumb", "width": 16], ["name": "other", "width": 5],
    ]
    let misled = try await house.run(["a"])
    #expect(misled.status == 1 && misled.nonzero == ["failed": 1])
    #expect(try await house.keep("verify", "--repair").status == 0)
    let run = try await house.run(["a"])
    #expect(run.status == 0 && run.nonzero == ["fetched": 1], "\(run.errors)")
    #expect(house.scenario.publishedPaths == ["other/a.jpg", "thumb/a.jpg"])
    #expect(house.scenario.objects.isSuperset(of: whole))
    #expect(try await house.keep("verify").status == 0)
  }

  @Test func `finds a name with as many other bytes, and links it again`() async throws {
    let house = try await House(["a"])
    let path = house.scenario.root + "/public/job/thumb/a.jpg"
    let bytes = try #require(StorageTemporaryFolder.bytes(of: path))
    unlink(path)
    try Data(bytes.map { ~$0 }).write(to: URL(fileURLWithPath: path))
    let found = try await house.keep("verify", "--repair", "--json")
    #expect(found.json["broken_names"] as? Int == 1, "\(found.output)")
    #expect(StorageTemporaryFolder.bytes(of: path) == bytes)
    // A copy with the right bytes may stand for a link.
    unlink(path)
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    #expect(try await house.keep("verify").status == 0)
  }

  @Test func `mends what a look that was stopped has passed`() async throws {
    let house = try await House(["a"])
    try house.scenario.damage(try await house.variant(of: "a"))
    let place = String(repeating: "f", count: 64)
    let stopped = try await ProgramRun(
      "/usr/bin/sqlite3",
      [
        house.scenario.root + "/ledger.sqlite",
        "INSERT INTO progress VALUES ('verify', '\(place)')",
      ],
      in: house.scenario.folder.path
    ).result()
    #expect(stopped.status == 0)
    let mended = try await house.keep("verify", "--repair", "--json")
    #expect(mended.json["damaged"] as? Int == 1)
    let rest = try await house.keep("verify", "--json")
    #expect(rest.json["continued"] as? Bool == true && rest.json["objects"] as? Int == 0)
  }

  @Test func `finds counters that are wrong, and counts them anew`() async throws {
    let house = try await House()
    let file = house.scenario.root + "/ledger.sqlite"
    try ForeignProgram(file).execute("DELETE FROM host_counts; UPDATE meta SET objects = 7")
    let found = try await house.keep("verify")
    #expect(found.status == 1)
    #expect(found.output.contains("counter of items by host, 1/1: kept as 0, counted 3\n"))
    #expect(found.output.contains("counter of objects, in all: kept as 7, counted 6\n"))
    #expect(found.output.contains("\n2 faults: verify --repair mends them\n"))
    let mended = try await house.keep("verify", "--repair")
    #expect(mended.status == 0, "\(mended.output)\(mended.errors)")
    #expect(mended.output.contains("\n2 faults; 2 kinds of counters put right\n"))
    let after = try await house.keep("verify")
    #expect(after.status == 0 && after.output.hasSuffix("nothing is wrong\n"), "\(after.output)")
  }

  @Test func `ends with 1 where a counter cannot be put right`() async throws {
    let house = try await House(["a"])
    let file = house.scenario.root + "/ledger.sqlite"
    try ForeignProgram(file).execute("DELETE FROM objects WHERE entries = 1")
    let mended = try await house.keep("verify", "--repair", "--json")
    #expect(mended.status == 1)
    #expect(mended.json["counter_kinds_mended"] as? Int == 2, "\(mended.output)")
    let left = try await house.keep("verify", "--repair")
    #expect(left.status == 1)
    #expect(left.output.contains("\n1 kind of counters could not be put right: "))
  }

  @Test func `takes its time where it is told to`() async throws {
    let house = try await House(["a"])
    #expect(try await house.keep("verify", "--max-rate", "1GB").status == 0)
    #expect(try await house.keep("verify", "--max-rate", "fast").status == 2)
  }
}

@Suite struct `ledger backup` {
  @Test func `is a ledger that knows the same, for its owner alone`() async throws {
    let house = try await House()
    let copy = house.scenario.folder.path + "/copy/ledger.sqlite"
    mkdir(house.scenario.folder.path + "/copy", 0o755)
    #expect(try await house.keep("ledger", "backup", copy).status == 0)
    var status = stat()
    #expect(stat(copy, &status) == 0 && status.st_mode & 0o777 == 0o600)
    let known =
      try await ProgramRun.thumbworker(
        "status", "--root", house.scenario.folder.path + "/copy", "--json",
        in: house.scenario.folder.path
      ).json["jobs"] as? [[String: Any]]
    #expect(known?.first?["fresh"] as? Int == 3)
    let again = try await house.keep("ledger", "backup", copy)
    #expect(again.status == 3 && again.errors.contains("something stands there already"))
    let nowhere = try await house.keep("ledger", "backup", "/no/such/folder/x")
    #expect(nowhere.status == 3 && nowhere.errors.contains("name another file"))
    #expect(try await house.keep("ledger", "restore", copy).status == 2)
  }
}
