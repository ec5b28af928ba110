import Fetching
import HTTPTransfer
import TestSupport
import Testing
import Vocabulary

@Suite(.enabled(if: OriginNginx.isInstalled)) struct `Over TLS` {
  @Test func `HTTP/2 carries many requests on few connections`() async throws {
    let origin = try OriginNginx()
    defer { origin.stop() }
    let lab = Lab(.init(connections: 16, caFile: origin.certificateFile)) { $0.perHost = 16 }
    let url = "https://127.0.0.1:\(origin.port)/a.txt"
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<50 {
        group.addTask {
          let sink = MemorySink()
          let response = try await lab.fetch(url, to: sink)
          #expect(response.status == 200)
          #expect(sink.bytes == Array("hello".utf8))
        }
      }
      try await group.waitForAll()
    }
    let log = await origin.accessLog(reach: 50)
    #expect(log.count == 50)
    #expect(log.allSatisfy { $0.hasPrefix("HTTP/2") })
    #expect(Set(log.map { $0.split(separator: " ")[1] }).count == 1)
  }

  @Test func `the certificate has to be trusted, and for this name`() async throws {
    let origin = try OriginNginx()
    defer { origin.stop() }
    let stranger = Lab { $0.attempts = 3 }
    let untrusted = try await stranger.failure(of: "https://127.0.0.1:\(origin.port)/a.txt")
    #expect(untrusted?.code == "tls")
    #expect(untrusted?.effort.attempts == 1)

    let names = ["tls.example", "other.example"].map { "\($0):\(origin.port):127.0.0.1" }
    let friend = Lab(
      .init(connections: 2, caFile: origin.certificateFile, fixedNames: names))
    #expect(
      try await friend.fetch("https://tls.example:\(origin.port)/a.txt").status == 200)
    let misnamed = try await friend.failure(of: "https://other.example:\(origin.port)/a.txt")
    #expect(misnamed?.code == "tls")
    #expect(misnamed?.requests == 0)
  }

  @Test func `a connection is not lent to a job that may not have it`() async throws {
    let origin = try OriginNginx()
    defer { origin.stop() }
    var lab = Lab(.init(connections: 4, caFile: origin.certificateFile))
    let url = "https://127.0.0.1:\(origin.port)/a.txt"
    #expect(try await lab.fetch(url).status == 200)
    lab.settings.allow = []
    #expect(try await lab.failure(of: url)?.code == "blocked-address")
    lab.settings.allow = [Lab.loopback]
    #expect(try await lab.fetch(url + "?again").status == 200)
    let log = await origin.accessLog(reach: 2)
    #expect(log.map { $0.split(separator: " ").last } == ["/a.txt", "/a.txt?again"])
  }
}
