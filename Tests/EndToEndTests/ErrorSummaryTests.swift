import Foundation
import TestSupport
import Testing

@Suite struct `The errors of a summary` {
  @Test func `tell how many, where, and one of them with what was seen`() async throws {
    let scenario = Scenario()
    let origin = try OriginServer.start { request in
      switch request.path {
      case "/page": .status(404, Array("<!DOCTYPE html><p>Gone.</p>".utf8))
      case "/picture": .status(404, PlainPNG.bytes())
      case "/json": .status(400, Array(#"{"error": "no"}"#.utf8))
      case "/text": .ok("<!DOCTYPE html><p>Log in first.</p>")
      default: .ok(PlainPNG.bytes())
      }
    }
    let other = try OriginServer.start(host: "127.0.0.2") { _ in
      .status(404, Array("<?xml version=\"1.0\"?><Error/>".utf8))
    }
    defer {
      origin.stop()
      other.stop()
    }
    var items = (1...5).map { ["id": "x\($0)", "url": other.url("/\($0)")] }
    items += [
      ["id": "page", "url": origin.url("/page?X-Amz-Signature=secret")],
      ["id": "picture", "url": origin.url("/picture")], ["id": "json", "url": origin.url("/json")],
      ["id": "text", "url": origin.url("/text")], ["id": "good", "url": origin.url("/good")],
    ]
    let run = try await scenario.run(scenario.manifest(items))
    #expect(run.errorCounts == ["http-404": 7, "http-400": 1, "not-an-image": 1])
    let details = try #require(run.json["error_details"] as? [[String: Any]])
    #expect(details.map { $0["code"] as? String } == ["http-404", "http-400", "not-an-image"])
    #expect(details.map { $0["items"] as? Int } == [7, 1, 1])
    #expect(details.map { $0["share"] as? Double } == [0.7, 0.1, 0.1])
    let hosts = try #require(details[0]["hosts"] as? [[String: Any]])
    #expect(hosts.map { $0["host"] as? String } == ["127.0.0.2", "127.0.0.1"])
    #expect(hosts.map { $0["items"] as? Int } == [5, 2])
    #expect(run.errors.contains("http-404: 7 items (70 %): 127.0.0.2 5, 127.0.0.1 2\n"))

    // What was seen: the URL, who answered, the status, what the body begins like.
    #expect(run.errors.contains("\(origin.url("/json")) (127.0.0.1) answered 400, with JSON"))
    #expect(run.errors.contains("\(origin.url("/picture")) (127.0.0.1) answered 404, with PNG"))
    #expect(run.errors.contains("\(other.url("/1")) (127.0.0.2) answered 404, with XML"))
    #expect(run.errors.contains(" (127.0.0.1) answered 404, with HTML"))
    #expect(run.errors.contains("not-an-image: \(origin.url("/text")): "))
    for text in [run.errors, run.output] { #expect(!text.contains("secret")) }
  }

  @Test func `name the host at fault behind a redirect, and none where there is none`()
    async throws
  {
    let scenario = Scenario()
    let target = try OriginServer.start(host: "127.0.0.2") { _ in .status(503) }
    let origin = try OriginServer.start { [url = target.url("/t")] _ in .redirect(to: url) }
    defer {
      origin.stop()
      target.stop()
    }
    let run = try await scenario.run(
      scenario.manifest([
        ["id": "a", "url": origin.url("/a")], ["id": "ftp", "url": "ftp://a.example/x"],
      ]))
    let details = run.json["error_details"] as? [[String: Any]] ?? []
    let hosts = details.map {
      ($0["hosts"] as? [[String: Any]] ?? []).map { $0["host"] as? String }
    }
    #expect(details.map { $0["code"] as? String } == ["bad-url", "http-503"])
    #expect(hosts == [[], ["127.0.0.2"]])
  }
}
