import Foundation
import Synchronization
import TestSupport
import Testing

@Suite struct `A job with sources` {
  /// A feed of pictures, and the pictures: what the feed says is up to the test.
  private final class Shop: Sendable {
    private let feed = Mutex<(status: Int, ids: [String])>((200, []))
    private let made = Mutex<OriginServer?>(nil)

    var origin: OriginServer { made.withLock { $0! } }

    init() throws {
      let server = try OriginServer.start { [self] request in
        guard request.path == "/feed.csv" else {
          return .ok(PlainPNG.bytes(), [("Cache-Control", "max-age=600")])
        }
        let (status, ids) = feed.withLock { $0 }
        guard status == 200 else { return .status(status) }
        let tag = "\"\(ids.joined(separator: "-"))\""
        if request["If-None-Match"] == tag { return .status(304, [], [("ETag", tag)]) }
        let rows = ids.map { "\($0),\(origin.url("/\($0).png"))\r\n" }
        return .ok("id,url\r\n" + rows.joined(), [("ETag", tag)])
      }
      made.withLock { $0 = server }
    }

    func says(_ ids: String...) { feed.withLock { $0 = (200, ids) } }
    func fails(_ status: Int) { feed.withLock { $0.status = status } }
  }

  @Test func `follows a feed, and keeps what it has while the feed fails`() async throws {
    let shop = try Shop()
    defer { shop.origin.stop() }
    var scenario = Scenario()
    scenario.network["attempts"] = 1
    scenario.settings["sources"] = [shop.origin.url("/feed.csv")]
    let manifest = try scenario.manifest([])
    shop.says("a", "b")
    let first = try await scenario.run(manifest)
    #expect(first.status == 0 && first.nonzero == ["fetched": 2])
    #expect(first.json["requests"] as? Int == 3)

    let second = try await scenario.run(manifest)
    #expect(second.status == 0 && second.nonzero == ["fresh": 2])
    #expect(second.json["requests"] as? Int == 1)

    shop.fails(503)
    let third = try await scenario.run(manifest)
    #expect(third.status == 3 && third.nonzero == ["fresh": 2])
    #expect((third.json["failed_sources"] as? [String])?.count == 1)
    #expect(third.errors.contains("feed.csv (127.0.0.1) answered 503"), "\(third.errors)")
    #expect(scenario.publishedPaths.count == 2)

    shop.says("b", "c")
    let fourth = try await scenario.run(manifest)
    #expect(fourth.status == 0 && fourth.nonzero == ["fresh": 1, "fetched": 1])
    #expect(scenario.publishedPaths == ["thumb/b.jpg", "thumb/c.jpg"])
  }

  struct Purge: CustomTestStringConvertible, Sendable {
    var testDescription: String { arguments.joined(separator: " ") }
    /// FEED stands for the feed's URL.
    var arguments: [String]
    var told: String
    var isAskedAnew = true
  }

  static let purges = [
    Purge(
      arguments: ["FEED"],
      told: "0 entries forgotten; 0 items to be fetched again; 1 source to be asked for anew\n"),
    Purge(
      arguments: ["--job", "job"],
      told: "2 entries forgotten; 2 items to be fetched again; 1 source to be asked for anew\n"),
    Purge(
      arguments: ["--host", "127.0.0.1"],
      told: "2 entries forgotten; 2 items to be fetched again; 1 source to be asked for anew\n"),
    Purge(
      arguments: ["--all"],
      told: "2 entries forgotten; 2 items to be fetched again; 1 source to be asked for anew\n"),
    Purge(
      arguments: ["--host", "elsewhere.example"],
      told: "0 entries forgotten; 0 items to be fetched again\n", isAskedAnew: false),
    Purge(
      arguments: ["http://127.0.0.1/feed.csv"],
      told: "0 entries forgotten; 0 items to be fetched again\n", isAskedAnew: false),
  ]

  @Test(arguments: purges)
  func `keeps nothing of a feed that is purged, and has it sent anew`(_ purge: Purge) async throws {
    let shop = try Shop()
    defer { shop.origin.stop() }
    let feed = shop.origin.url("/feed.csv")
    var scenario = Scenario()
    scenario.settings["sources"] = [feed]
    let manifest = try scenario.manifest([])
    shop.says("a", "b")
    #expect(try await scenario.run(manifest).nonzero == ["fetched": 2])
    let result = try await ProgramRun(
      "thumbworker",
      ["purge"] + purge.arguments.map { $0 == "FEED" ? feed : $0 } + ["--root", scenario.root],
      in: scenario.folder.path
    ).result()
    #expect(result.status == 0 && result.output == purge.told)
    let kept = try FileManager.default.contentsOfDirectory(atPath: scenario.root + "/sources")
    #expect(kept.isEmpty == purge.isAskedAnew)
    let asked = shop.origin.requests.count
    #expect(try await scenario.run(manifest).status == 0)
    let tags = shop.origin.requests.dropFirst(asked).filter { $0.path == "/feed.csv" }
      .map { $0["If-None-Match"] }
    #expect(tags == [purge.isAskedAnew ? nil : "\"a-b\""])
    #expect(scenario.publishedPaths == ["thumb/a.jpg", "thumb/b.jpg"])
  }

  @Test func `reads standard input, counts its bad lines and goes on`() async throws {
    let origin = try OriginServer.start { _ in .ok(PlainPNG.bytes()) }
    defer { origin.stop() }
    var scenario = Scenario()
    scenario.settings["sources"] = ["-"]
    let manifest = try scenario.manifest([])
    let input = scenario.folder.path + "/input"
    try Data("{\"url\": \"\(origin.url("/1"))\"}\nnonsense\n\"\(origin.url("/2"))\"\n".utf8)
      .write(to: URL(fileURLWithPath: input))
    let run = try await ProgramRun(
      "thumbworker", ["run", manifest, "--root", scenario.root, "--json", "--workers", "1"],
      in: scenario.folder.path, input: input
    ).result()
    #expect(run.status == 1 && run.nonzero == ["fetched": 2, "failed": 1])
    #expect(run.errorCounts == ["bad-item": 1])
    #expect(run.errors.contains("sources[0]:2: bad-item: standard input, line 2: not JSON"))

    let checked = try await ProgramRun(
      "thumbworker", ["validate", manifest], in: scenario.folder.path, input: input
    ).result()
    #expect(checked.status == 1)
    #expect(checked.output.contains("3 items, 1 variant: has faults"), "\(checked.output)")
    #expect(checked.errors.contains("standard input, line 2: not JSON"), "\(checked.errors)")

    let queued = try await ProgramRun(
      "thumbworker", ["enqueue", manifest, "--root", scenario.root], in: scenario.folder.path,
      input: "/dev/null"
    ).result()
    #expect(queued.status == 3 && queued.output.contains("3 items on the queue"))
    #expect(queued.errors.contains("standard input: is empty"), "\(queued.errors)")
  }

  @Test func `may be a source alone`() async throws {
    let folder = StorageTemporaryFolder()
    let list = folder.path + "/list.txt"
    try Data("http://127.0.0.1:1/a\n".utf8).write(to: URL(fileURLWithPath: list))
    let arguments = [list, "--variant", "thumb=20x20,fit=cover"]
    let plan = try await ProgramRun(
      "thumbworker", ["run", "--dry-run", "--json", "--root", folder.path + "/root"] + arguments,
      in: folder.path
    ).result()
    #expect(plan.status == 0 && plan.json["job"] as? String == "list")
    #expect((plan.json["plan"] as? [String: Int])?["fetch"] == 1)
    // What the manifest's `network.allow` would exempt is out of bounds here.
    let run = try await ProgramRun(
      "thumbworker", ["run", "--json", "--root", folder.path + "/root"] + arguments,
      in: folder.path
    ).result()
    #expect(run.status == 1 && run.errorCounts == ["blocked-address": 1])
  }
}
