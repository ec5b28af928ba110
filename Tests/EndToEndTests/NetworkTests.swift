import Foundation
import TestSupport
import Testing

@Suite struct `A run over the network` {
  /// Sorted, the dead host's come first, and there are more of them than items are under way at a time.
  @Test func `serves a good host while another takes every request and never answers`() async throws
  {
    var scenario = Scenario()
    scenario.network["idleTimeout"] = "1h"
    scenario.network["timeout"] = "1h"
    let dead = try OriginServer.start(host: "127.0.0.1") { _ in .steps([.hang]) }
    let good = try OriginServer.start(host: "127.0.0.2") { _ in
      .ok(PlainPNG.bytes(), [("Cache-Control", "max-age=600")])
    }
    defer {
      dead.stop()
      good.stop()
    }
    let items =
      (0..<300).map { ["id": "a\($0)", "url": dead.url("/\($0)")] }
      + (0..<300).map { ["id": "b\($0)", "url": good.url("/\($0)")] }
    let run = try scenario.start(try scenario.manifest(items))
    await good.requests(reach: 300)
    // Its six never end, so no seventh was let through: nobody waited for any of them.
    #expect(dead.requests.count <= 6)
    run.signal(SIGTERM)
    #expect(await run.result().status == 143)
  }

  @Test(.enabled(if: OriginNginx.isInstalled))
  func `follows redirects over HTTP/2 to another origin, by a certificate of the job's own`()
    async throws
  {
    let pictures = Dictionary(
      uniqueKeysWithValues: (0..<50).map { ("\($0).png", PlainPNG.bytes(red: UInt8($0))) })
    let second = try OriginNginx(files: pictures)
    let first = try OriginNginx(
      redirectingTo: "https://127.0.0.1:\(second.port)/$arg_n.png")
    defer {
      first.stop()
      second.stop()
    }
    var scenario = Scenario()
    scenario.network["perHost"] = 50
    scenario.network["concurrency"] = 50
    scenario.network["caFile"] = "ours.pem"
    let certificates = try [first, second].map {
      try String(contentsOfFile: $0.certificateFile, encoding: .utf8)
    }
    try certificates.joined().write(
      toFile: "\(scenario.folder.path)/ours.pem", atomically: true, encoding: .utf8)
    let manifest = try scenario.manifest(
      (0..<50).map { ["id": "i\($0)", "url": "https://127.0.0.1:\(first.port)/away/?n=\($0)"] })
    let run = try await scenario.run(manifest)
    #expect(run.nonzero == ["fetched": 50], "\(run.errors)")
    for origin in [first, second] {
      let log = await origin.accessLog(reach: 50)
      #expect(log.count == 50)
      #expect(log.allSatisfy { $0.hasPrefix("HTTP/2") })
    }

    scenario.network["caFile"] = nil
    let stranger = try await scenario.beside("stranger").run(
      scenario.beside("stranger").manifest(["https://127.0.0.1:\(first.port)/a.txt"]))
    #expect(stranger.errorCounts == ["tls": 1])
  }

  @Test func `goes through its proxy, whose password it tells nobody`() async throws {
    let proxy = try OriginServer.start { request in
      request["proxy-authorization"] == "Basic YWxpY2U6Z2VoZWlt"
        ? .ok(PlainPNG.bytes(), [("Cache-Control", "max-age=600")]) : .status(407)
    }
    defer { proxy.stop() }
    var scenario = Scenario()
    scenario.network["proxy"] = "http://${PROXY_USER}:${PROXY_PASSWORD}@127.0.0.1:\(proxy.port)"
    scenario.environment = [
      "PROXY_USER": "alice", "PROXY_PASSWORD": "geheim", "no_proxy": "*",
      "http_proxy": "http://127.0.0.1:1",
    ]
    let manifest = try scenario.manifest([
      ["id": "a", "url": "http://shop.localhost/a.png"],
      ["id": "b", "url": "http://10.0.0.1/b.png"],
    ])
    let run = try await scenario.run(manifest)
    #expect(run.nonzero == ["fetched": 1, "failed": 1], "\(run.errors)")
    #expect(run.errorCounts == ["blocked-address": 1])
    #expect(proxy.requests.map(\.target) == ["http://shop.localhost/a.png"])
    for name in StorageTemporaryFolder.names(in: scenario.root) where name.hasPrefix("ledger") {
      let bytes = StorageTemporaryFolder.bytes(of: "\(scenario.root)/\(name)") ?? []
      #expect(!String(decoding: bytes, as: UTF8.self).contains("geheim"), "\(name)")
    }
    #expect(!(run.output + run.errors).contains("geheim"))
  }
}

@Suite struct `The sources` {
  private static let root = URL(fileURLWithPath: #filePath).pathComponents.dropLast(3)
    .joined(separator: "/")

  /// All requests pass the address guard, because nothing but its target can make any.
  @Test func `open connections in one target only`() throws {
    let calls = [
      " socket(", "Glibc.socket(", " connect(", "Glibc.connect(", "getaddrinfo(", "URLSession",
      "FoundationNetworking", "import CCurl", "import Network", "gethostby",
    ]
    let sources = Self.root + "/Sources"
    let files = try #require(FileManager.default.enumerator(atPath: sources))
    var found: Set<String> = []
    for case let file as String in files where file.hasSuffix(".swift") {
      let text = try String(contentsOfFile: "\(sources)/\(file)", encoding: .utf8)
      let code = text.split(separator: "\n").filter { line in
        !line.drop { $0 == " " }.hasPrefix("//")
      }
      if code.contains(where: { line in calls.contains { " \(line)".contains($0) } }) {
        found.insert(String(file.prefix { $0 != "/" }))
      }
    }
    // The decoder tries as well, at its start, to see that it cannot.
    #expect(found == ["HTTPTransfer", "thumbdecoder", "thumbworker-bench"])
  }

  /// It is libcurl with less to hold on to, and has crashed on redirects over HTTP/2.
  @Test func `make programs without Foundation's own client`() throws {
    for program in ["thumbworker", "thumbdecoder"] {
      let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(ProgramRun.binaries)/\(program)"))
      #expect(bytes.range(of: Data("libcurl.so".utf8)) != nil || program == "thumbdecoder")
      #expect(bytes.range(of: Data("libFoundationNetworking.so".utf8)) == nil)
    }
  }
}
