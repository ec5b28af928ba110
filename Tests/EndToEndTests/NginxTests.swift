import Foundation
import Glibc
import TestSupport
import Testing

/// Photographs of a real camera where the machine has some, else drawn ones: three, of a few hundred
/// kilobytes each.
private let photographs: [[UInt8]] = {
  let folder = "/usr/share/backgrounds"
  let found = StorageTemporaryFolder.names(in: folder).filter { $0.hasSuffix(".jpg") }
    .compactMap { StorageTemporaryFolder.bytes(of: "\(folder)/\($0)") }
    .sorted { $0.count < $1.count }
  guard found.count < 3 else { return Array(found.prefix(3)) }
  return (1...3).map { PlainPNG.bytes(width: 400, height: 300, red: UInt8($0)) }
}()

@Suite(.enabled(if: NginxServer.isInstalled, "nginx is not installed"))
struct `A run against nginx` {
  private let scenario: Scenario
  private let nginx: NginxServer

  private static let lifetimes = """
    location /hour/ { add_header Cache-Control "max-age=3600"; }
    location /ask/ { add_header Cache-Control "no-cache"; }
    location /moved/ { return 301 /hour/a.jpg; }
    location /error-page.jpg { default_type image/jpeg; return 200 "<!doctype html><title>Sorry"; }
    location /broken/ { return 500; }
    """

  init() throws {
    var scenario = Scenario()
    scenario.settings["variants"] = [
      ["name": "thumb", "width": 120, "height": 120, "fit": "cover", "format": "webp"],
      ["name": "card", "width": 320],
    ]
    scenario.network["attempts"] = 1
    self.scenario = scenario
    nginx = try NginxServer(
      server: Self.lifetimes, http: "server { listen 127.0.0.2:@PORT@; root @FILES@; }")
    for (name, photograph) in zip(["a", "b", "c"], photographs) {
      nginx.write(photograph, to: "hour/\(name).jpg")
      nginx.write(photograph, to: "ask/\(name).jpg")
    }
  }

  private func item(_ id: String, _ path: String) -> [String: String] {
    ["id": id, "url": nginx.url + path]
  }

  private func items(in folder: String) -> [[String: String]] {
    ["a", "b", "c"].map { item($0, "/\(folder)/\($0).jpg") }
  }

  @Test func `brings photographs once, and asks for nothing while they are fresh`() async throws {
    let manifest = try scenario.manifest(items(in: "hour"))
    let first = try await scenario.run(manifest)
    #expect(first.status == 0, "\(first.errors)")
    #expect(first.nonzero == ["fetched": 3])
    #expect(first.json["warnings"] as? Int == 0, "\(first.errors)")
    let bodies = photographs.reduce(0) { $0 + $1.count }
    let received = try #require(first.json["bytes_in"] as? Int)
    #expect((bodies + 1..<bodies + 3000).contains(received), "heads count as well")
    #expect(try nginx.requests().map(\.target).sorted() == items(in: "hour").map { path(of: $0) })
    for name in ["a", "b", "c"] {
      let thumb = try header("thumb/\(name).webp")
      #expect(thumb.description == "120×120 webp")
      let card = try header("card/\(name).jpg")
      #expect(card.format == .jpeg && card.width == 320 && card.isWhole)
    }

    let second = try await scenario.run(manifest)
    #expect(second.status == 0)
    #expect(second.nonzero == ["fresh": 3])
    #expect(second.json["requests"] as? Int == 0)
    #expect(try nginx.requests().count == 3, "the access log has a new line")
  }

  private func path(of item: [String: String]) -> String {
    String(item["url"]!.dropFirst(nginx.url.count))
  }

  private func header(_ path: String) throws -> ImageHeader {
    try #require(ImageHeader(scenario.published(path) ?? []), "\(path) is no picture")
  }

  @Test(arguments: [("ask", []), ("hour", ["--refresh-ahead", "2h"]), ("hour", ["--force"])])
  func `asks with both validators for what has expired, and takes 304 for an answer`(
    folder: String, options: [String]
  ) async throws {
    let manifest = try scenario.manifest(items(in: folder))
    _ = try await scenario.run(manifest)
    let second = try await scenario.start(manifest, options).result()
    #expect(second.nonzero == ["revalidated": 3], "\(second.errors)")
    #expect(second.json["variants_made"] as? Int == 0)
    #expect(second.json["bytes_in"] as? Int ?? .max < 3000, "more than heads came")
    let asked = try nginx.requests().suffix(3)
    #expect(asked.map(\.status) == [304, 304, 304])
    #expect(asked.allSatisfy { $0.ifNoneMatch.hasPrefix("\"") && !$0.ifModifiedSince.isEmpty })
  }

  @Test func `replaces what has changed under its published name, and only that`() async throws {
    let manifest = try scenario.manifest(items(in: "ask"))
    _ = try await scenario.run(manifest)
    let before = scenario.published("thumb/a.webp")
    let reader = open(scenario.root + "/public/job/thumb/a.webp", O_RDONLY)
    defer { close(reader) }
    nginx.write(photographs[1], to: "ask/a.jpg")
    let second = try await scenario.run(manifest)
    #expect(second.nonzero == ["fetched": 1, "revalidated": 2])
    // The bytes are those of another item: nothing had to be decoded for them.
    #expect(second.json["variants_made"] as? Int == 0)
    #expect(scenario.published("thumb/a.webp") == scenario.published("thumb/b.webp"))
    #expect(scenario.published("thumb/a.webp") != before)
    // Who reads the old file goes on reading it whole.
    var status = stat()
    fstat(reader, &status)
    #expect(Int(status.st_size) == before?.count)
  }

  @Test func `publishes under the target's bytes where a URL has moved`() async throws {
    let manifest = try scenario.manifest([item("old", "/moved/a.jpg"), item("new", "/hour/a.jpg")])
    let run = try await scenario.run(manifest)
    #expect(run.nonzero == ["fetched": 2], "\(run.errors)")
    #expect(scenario.published("thumb/old.webp") == scenario.published("thumb/new.webp"))
    let shown = try await scenario.show("old")
    #expect(shown["redirects"] as? [String] == [nginx.url + "/hour/a.jpg"])
    #expect(try await scenario.run(manifest).json["requests"] as? Int == 0)
  }

  @Test func `fails what is not there, no picture, or too large, and makes the rest`() async throws
  {
    var scenario = scenario
    scenario.network["maxBytes"] = photographs[2].count - 1
    let manifest = try scenario.manifest([
      item("a", "/hour/a.jpg"), item("missing", "/hour/missing.jpg"),
      item("page", "/error-page.jpg"), item("large", "/hour/c.jpg"), item("500", "/broken/a.jpg"),
    ])
    let run = try await scenario.run(manifest)
    #expect(run.status == 1)
    #expect(run.nonzero == ["fetched": 1, "failed": 4])
    #expect(
      run.errorCounts == ["http-404": 1, "not-an-image": 1, "too-large": 1, "http-500": 1],
      "\(run.errors)")
    #expect(run.errors.contains("/error-page.jpg: it is an HTML page"))
    #expect(scenario.publishedPaths == ["card/a.jpg", "thumb/a.webp"])
  }

  @Test func `makes what failed as soon as its server is well`() async throws {
    let manifest = try scenario.manifest([item("a", "/broken/a.jpg")])
    nginx.write(photographs[0], to: "broken/a.jpg")
    #expect(try await scenario.run(manifest).errorCounts == ["http-500": 1])
    try nginx.reconfigure(server: "location /broken/ { add_header Cache-Control max-age=60; }")
    #expect(try await scenario.run(manifest).nonzero == ["cooling": 1])
    #expect(try await scenario.run(manifest, "--retry-failed").nonzero == ["fetched": 1])
    #expect(try await scenario.show("a")["last_error"] is NSNull)
  }

  @Test func `goes to no private address but those that its job allows`() async throws {
    var scenario = scenario
    scenario.network["allow"] = ["127.0.0.1/32"]
    scenario.settings["hosts"] = [["match": "localhost", "network": ["allow": [String]()]]]
    try nginx.reconfigure(
      server: "location /away/ { return 302 http://127.0.0.2:@PORT@/hour/a.jpg; }",
      http: "server { listen 127.0.0.2:@PORT@; root @FILES@; }")
    let port = nginx.port
    let manifest = try scenario.manifest([
      item("allowed", "/hour/a.jpg"), item("led-away", "/away/a.jpg"),
      ["id": "address", "url": "http://127.0.0.2:\(port)/hour/b.jpg"],
      ["id": "name", "url": "http://localhost:\(port)/hour/a.jpg"],
      ["id": "mapped", "url": "http://[::ffff:127.0.0.2]:\(port)/hour/a.jpg"],
    ])
    let run = try await scenario.run(manifest)
    #expect(run.nonzero == ["fetched": 1, "failed": 4])
    #expect(run.errorCounts == ["blocked-address": 4], "\(run.errors)")
    #expect(try nginx.requests().map(\.target).sorted() == ["/away/a.jpg", "/hour/a.jpg"])
  }
}
