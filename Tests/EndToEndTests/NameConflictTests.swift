import Foundation
import TestSupport
import Testing

@Suite struct `Names in each other's way` {
  private func scene() throws -> (Scenario, OriginServer, [String: [String: Any]]) {
    let origin = try OriginServer.start { _ in
      .ok(PlainPNG.bytes(), [("Cache-Control", "max-age=3600")])
    }
    let items = ["a", "a.jpg/b"].reduce(into: [String: [String: Any]]()) {
      $0[$1] = ["id": $1, "url": origin.url("/\($1.count)")]
    }
    return (Scenario(), origin, items)
  }

  @Test(arguments: [["a", "a.jpg/b"], ["a.jpg/b", "a"]])
  func `fail the item whose one name is the folder of another's, in each run`(_ order: [String])
    async throws
  {
    let (scenario, origin, items) = try scene()
    defer { origin.stop() }
    let manifest = try scenario.manifest(order.map { items[$0]! })
    for outcome in ["fetched", "fresh"] {
      let run = try await scenario.run(manifest)
      #expect(run.status == 1 && run.nonzero == [outcome: 1, "failed": 1])
      #expect(run.errorCounts == ["bad-item": 1] && run.json["warnings"] as? Int == 0)
      #expect(run.errors.contains("thumb/a.jpg is a folder of the item a.jpg/b's"))
      #expect(scenario.publishedPaths == ["thumb/a.jpg/b.jpg"])
    }
    #expect(origin.requests.count == 2)
    let alone = try await scenario.run(scenario.manifest([items["a"]!]))
    #expect(alone.nonzero == ["fresh": 1] || alone.nonzero == ["rebuilt": 1])
    #expect(scenario.publishedPaths == ["thumb/a.jpg"])
  }

  @Test func `make room for a folder that comes later`() async throws {
    let (scenario, origin, items) = try scene()
    defer { origin.stop() }
    #expect(try await scenario.run(scenario.manifest([items["a"]!])).status == 0)
    #expect(scenario.publishedPaths == ["thumb/a.jpg"])
    let run = try await scenario.run(scenario.manifest([items["a"]!, items["a.jpg/b"]!]))
    #expect(run.nonzero == ["fetched": 1, "failed": 1] && run.status == 1)
    #expect(scenario.publishedPaths == ["thumb/a.jpg/b.jpg"])
  }

  @Test func `fail nobody once a source has dropped the folder's item`() async throws {
    var (scenario, origin, _) = try scene()
    defer { origin.stop() }
    let lines = ["a", "a.jpg/b", "cd"].map { id in
      #"{"id":"\#(id)","url":"\#(origin.url("/\(id.count)"))"}"# + "\n"
    }
    let (first, second) = (
      scenario.folder.path + "/first.ndjson", scenario.folder.path + "/second.ndjson"
    )
    scenario.settings["sources"] = [first, second]
    let manifest = try scenario.manifest([])
    StorageTemporaryFolder.write(lines[...1].joined().utf8, to: first)
    StorageTemporaryFolder.write(lines[2].utf8, to: second)
    #expect(try await scenario.run(manifest).nonzero == ["fetched": 2, "failed": 1])
    StorageTemporaryFolder.write(lines[0].utf8, to: first)
    let run = try await scenario.run(manifest)
    #expect(run.status == 0 && run.json["items"] as? Int == 2, "\(run.errors)")
    #expect(scenario.publishedPaths == ["thumb/a.jpg", "thumb/cd.jpg"])
  }

  @Test func `fail whatever is in the way`() async throws {
    let (scenario, origin, items) = try scene()
    defer { origin.stop() }
    let folder = "\(scenario.root)/public/job/thumb/a.jpg"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let manifest = try scenario.manifest([items["a"]!])
    for _ in 1...2 {
      let run = try await scenario.run(manifest)
      #expect(run.status == 1 && run.nonzero == ["failed": 1])
      #expect(run.errorCounts == ["bad-item": 1])
    }
    try FileManager.default.removeItem(atPath: folder)
    #expect(try await scenario.run(manifest).status == 0)
    #expect(scenario.publishedPaths == ["thumb/a.jpg"])
  }
}

@Suite struct `Ids that only a normal form makes equal` {
  @Test func `are published each, in the first run`() async throws {
    let scenario = Scenario()
    let origin = try OriginServer.start { _ in .ok(PlainPNG.bytes()) }
    defer { origin.stop() }
    let ids = ["caf\u{E9}", "cafe\u{301}", "\u{E9}/x", "e\u{301}/x"]
    let manifest = try scenario.manifest(ids.map { ["id": $0, "url": origin.url("/one")] })
    let run = try await scenario.run(manifest)
    #expect(run.status == 0 && run.nonzero == ["fetched": 4], "\(run.errors)")
    let paths = scenario.publishedPaths.map { Array($0.utf8) }
    #expect(Set(paths) == Set(ids.map { Array("thumb/\($0).jpg".utf8) }))
    for id in ids {
      #expect((try await scenario.show(id)["published"] as? [Any])?.count == 4)
    }
    let half = try await scenario.run(
      scenario.manifest([["id": ids[1], "url": origin.url("/one")]]))
    #expect(half.status == 0)
    #expect(scenario.publishedPaths.map { Array($0.utf8) } == [Array("thumb/\(ids[1]).jpg".utf8)])
  }
}
