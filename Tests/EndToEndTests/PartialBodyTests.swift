import Foundation
import Glibc
import TestSupport
import Testing

@Suite struct `A large body that breaks off in one run` {
  private static let whole = PlainPNG.bytes(width: 1000, height: 800)
  private static let other = PlainPNG.bytes(width: 1000, height: 800, red: 1)
  private static let cut = whole.count * 6 / 10
  private static let tag = ("ETag", "\"v1\"")

  private typealias Fields = [(String, String)]

  private static func start(
    _ fields: [(String, String)] = [tag], then step: OriginResponse.Step = .close
  ) -> OriginResponse {
    let length = ("Content-Length", String(whole.count))
    return .steps([
      .sendBytes(OriginResponse.head(200, fields + [length]) + whole[..<cut]), step,
    ])
  }

  private static func rest(
    of request: OriginServer.Request, says change: (Int) -> String = { _ in "" }
  ) -> OriginResponse {
    guard let first = first(of: request) else { return .ok(whole, [tag]) }
    let said = change(first)
    let range = said.isEmpty ? "bytes \(first)-\(whole.count - 1)/\(whole.count)" : said
    return .status(206, Array(whole[first...]), [tag, ("Content-Range", range)])
  }

  /// Of `bytes=1440000-`.
  private static func first(of request: OriginServer.Request) -> Int? {
    request["range"].flatMap { Int($0.dropFirst("bytes=".count).dropLast()) }
  }

  private func scenario() -> Scenario {
    var scenario = Scenario()
    scenario.network["attempts"] = 1
    return scenario
  }

  private func stored(_ bytes: [UInt8], _ scenario: Scenario) async throws -> Bool {
    let original = try await scenario.show("a")["original"] as? [String: Any]
    guard let digest = original?["sha256"] as? String else { return false }
    let path = "\(scenario.root)/objects/\(digest.prefix(2))/\(digest.dropFirst(2))"
    return StorageTemporaryFolder.bytes(of: path) == bytes
  }

  private func kept(_ scenario: Scenario) -> [String] {
    StorageTemporaryFolder.names(in: scenario.root + "/tmp/partial")
  }

  struct Answer: CustomTestStringConvertible {
    let testDescription: String
    /// To the request for the rest; any later one gets the whole.
    let second: @Sendable (OriginServer.Request) -> OriginResponse
    /// What each request of the second run asks for: the rest or the whole.
    let asksForRest: [Bool]
    var isOther = false
  }

  static let answers = [
    Answer(
      testDescription: "goes on with its rest", second: { rest(of: $0) }, asksForRest: [true]),
    Answer(
      testDescription: "has changed", second: { _ in .ok(other, [("ETag", "\"v2\"")]) },
      asksForRest: [true], isOther: true),
    Answer(
      testDescription: "is sent whole all the same", second: { _ in .ok(whole, [tag]) },
      asksForRest: [true]),
    Answer(
      testDescription: "is answered from another start",
      second: { rest(of: $0) { "bytes \($0 - 1)-\(whole.count - 2)/\(whole.count)" } },
      asksForRest: [true, false]),
    Answer(
      testDescription: "is answered with another total",
      second: { rest(of: $0) { "bytes \($0)-\(whole.count - 1)/\(whole.count + 1)" } },
      asksForRest: [true, false]),
    Answer(
      testDescription: "is answered with 416", second: { _ in .status(416) },
      asksForRest: [true, false]),
  ]

  @Test(arguments: answers)
  func `in the next`(_ row: Answer) async throws {
    let scenario = scenario()
    let origin = try OriginServer.start { request in
      switch request.number {
      case 1: Self.start()
      case 2: row.second(request)
      default: .ok(Self.whole, [Self.tag])
      }
    }
    defer { origin.stop() }
    let manifest = try scenario.manifest([["id": "a", "url": origin.url("/a.png")]])
    let first = try await scenario.run(manifest)
    #expect(first.errorCounts == ["truncated": 1])
    #expect(kept(scenario).count == 2)
    let second = try await scenario.run(manifest, "--retry-failed")
    #expect(second.nonzero == ["fetched": 1], "\(second.errors)")
    let requests = origin.requests.dropFirst()
    #expect(requests.map { $0["range"] != nil } == row.asksForRest)
    #expect(requests.first?["range"] == "bytes=\(Self.cut)-")
    #expect(requests.first?["if-range"] == "\"v1\"")
    #expect(try await stored(row.isOther ? Self.other : Self.whole, scenario))
    #expect(kept(scenario) == [])
  }

  @Test func `and is damaged since, is fetched from where it is right`() async throws {
    let scenario = scenario()
    let origin = try OriginServer.start { request in
      request.number == 1 ? Self.start() : Self.rest(of: request)
    }
    defer { origin.stop() }
    let manifest = try scenario.manifest([["id": "a", "url": origin.url("/a.png")]])
    _ = try await scenario.run(manifest)
    let body = try #require(kept(scenario).first { $0.hasSuffix(".body") })
    let path = "\(scenario.root)/tmp/partial/\(body)"
    var bytes = StorageTemporaryFolder.bytes(of: path) ?? []
    bytes[Self.cut - 1] ^= 1
    StorageTemporaryFolder.write(bytes, to: path)
    let second = try await scenario.run(manifest, "--retry-failed")
    #expect(second.nonzero == ["fetched": 1], "\(second.errors)")
    let first = try #require(origin.requests.last.flatMap(Self.first))
    #expect((256 << 10..<Self.cut).contains(first))
    #expect(try await stored(Self.whole, scenario))
  }

  @Test(arguments: [SIGKILL, SIGTERM])
  func `by a signal, goes on in the next`(signal: Int32) async throws {
    let scenario = scenario()
    let origin = try OriginServer.start { request in
      request.number == 1 ? Self.start(then: .hang) : Self.rest(of: request)
    }
    defer { origin.stop() }
    let manifest = try scenario.manifest([["id": "a", "url": origin.url("/a.png")]])
    let victim = try scenario.start(manifest, ["--grace", "100ms", "--lease", "1s"])
    // Its beginning has seven lines, and one for each time that it is noted: after 256 KiB, and one MiB
    // later.
    while noteLines(scenario) < 9 { await Task.yield() }
    victim.signal(signal)
    _ = await victim.result()
    let second = try await scenario.run(manifest, "--retry-failed")
    #expect(second.nonzero == ["fetched": 1], "\(second.errors)")
    let first = try #require(origin.requests.last.flatMap(Self.first))
    #expect((1 << 20...Self.cut).contains(first))
    #expect(try await stored(Self.whole, scenario))
  }

  @Test func `and is purged by a redirect that leads to it, leaves nothing`() async throws {
    let scenario = scenario()
    let origin = try OriginServer.start { request in
      request.path == "/to" ? .status(301, [], [("Location", "/a.png")]) : Self.start()
    }
    defer { origin.stop() }
    let manifest = try scenario.manifest([origin.url("/to")])
    #expect(try await scenario.run(manifest).errorCounts == ["truncated": 1])
    #expect(kept(scenario).count == 2)
    let purge = try await ProgramRun.thumbworker(
      "purge", origin.url("/to"), "--root", scenario.root, in: scenario.folder.path)
    #expect(purge.status == 0, "\(purge.errors)")
    #expect(kept(scenario).isEmpty)
  }

  @Test func `and is purged, leaves nothing`() async throws {
    let scenario = scenario()
    let origin = try OriginServer.start { _ in Self.start() }
    defer { origin.stop() }
    let urls = [origin.url("/a.png"), origin.url("/b.png")]
    let manifest = try scenario.manifest(urls)
    #expect(try await scenario.run(manifest).errorCounts == ["truncated": 2])
    #expect(kept(scenario).count == 4)
    let purge = try await ProgramRun.thumbworker(
      "purge", urls[0], "--root", scenario.root, in: scenario.folder.path)
    #expect(purge.status == 0, "\(purge.errors)")
    #expect(kept(scenario).count == 2)
  }

  private func noteLines(_ scenario: Scenario) -> Int {
    let temporary = scenario.root + "/tmp"
    for folder in StorageTemporaryFolder.names(in: temporary) {
      for name in StorageTemporaryFolder.names(in: "\(temporary)/\(folder)")
      where name.contains(".") {
        let text = StorageTemporaryFolder.bytes(of: "\(temporary)/\(folder)/\(name)") ?? []
        return text.count { $0 == UInt8(ascii: "\n") }
      }
    }
    return 0
  }

  @Test(arguments: [
    [("ETag", "W/\"v1\"")], [], [tag, ("Cache-Control", "no-store")],
    [tag, ("Accept-Ranges", "none")],
  ])
  func `is not kept where its rest or its keeping is not to be had`(
    fields: [(String, String)]
  ) async throws {
    let scenario = scenario()
    let origin = try OriginServer.start { request in
      request.number == 1 ? Self.start(fields) : .ok(Self.whole, fields)
    }
    defer { origin.stop() }
    let manifest = try scenario.manifest([["id": "a", "url": origin.url("/a.png")]])
    #expect(try await scenario.run(manifest).errorCounts == ["truncated": 1])
    #expect(kept(scenario) == [])
    _ = try await scenario.run(manifest, "--retry-failed")
    #expect(origin.requests.map { $0["range"] } == [nil, nil])
  }
}
