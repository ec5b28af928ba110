import Synchronization
import Glibc
import Fetching
import HTTPCaching
import Hashing
import HTTPTransfer
import TestSupport
import Testing
import Vocabulary

@Suite struct `A request` {
  struct Row: CustomTestStringConvertible {
    let written: String
    let asked: String
    var testDescription: String { written }

    init(_ written: String, _ asked: String) {
      self.written = written
      self.asked = asked
    }
  }

  static let rows = [
    Row("", "/"), Row("/", "/"), Row("/a.jpg", "/a.jpg"), Row("?", "/?"), Row("?q", "/?q"),
    Row("/a/../b/./c.jpg", "/a/../b/./c.jpg"), Row("/..", "/.."), Row("/%2e%2e/x", "/%2e%2e/x"),
    Row("//double//slash", "//double//slash"), Row("/a b.jpg", "/a%20b.jpg"),
    Row("/a%20b.jpg", "/a%20b.jpg"), Row("/a+b.jpg?x=1+2", "/a+b.jpg?x=1+2"),
    Row("/猫.jpg", "/%E7%8C%AB.jpg"), Row("/%e7%8c%ab.jpg", "/%e7%8c%ab.jpg"),
    Row("/a.jpg?", "/a.jpg?"), Row("/a.jpg??", "/a.jpg??"), Row("/a?b=c?d", "/a?b=c?d"),
    Row("/100%", "/100%"), Row("/%zz", "/%zz"), Row("/a;b,c=d:e@f", "/a;b,c=d:e@f"),
    Row("/a[1].jpg", "/a[1].jpg"), Row("/{a}|b^c`", "/%7Ba%7D%7Cb%5Ec%60"),
    Row("/\"<>\\", "/%22%3C%3E%5C"), Row("/a.jpg#part", "/a.jpg"), Row("/?a=%23", "/?a=%23"),
    Row("/*", "/*"), Row("/a'b(c)!~", "/a'b(c)!~"),
  ]

  @Test func `does not go out where it may not begin, and makes way for the next`() async throws {
    let origin = try OriginServer.start { _ in .ok("x") }
    defer { origin.stop() }
    let lab = Lab { $0.perHost = 1 }
    var request = try lab.request(origin.url("/a"))
    request.mayBegin = { false }
    #expect(await lab.failure(of: request)?.isCancellation == true)
    _ = try await lab.fetch(origin.url("/b"))
    #expect(origin.requests.map(\.path) == ["/b"])
  }

  @Test(arguments: rows)
  func `goes out as the URL is written`(_ row: Row) async throws {
    let origin = try OriginServer.start { _ in .ok("x") }
    defer { origin.stop() }
    _ = try await Lab().fetch(origin.url("") + row.written)
    #expect(origin.requests.map(\.target) == [row.asked])
    #expect(origin.requests.first?.head.hasPrefix("GET \(row.asked) HTTP/1.1\r\n") == true)
  }

  @Test func `says who asks, for images, unencoded, and nothing else`() async throws {
    let origin = try OriginServer.start { _ in .ok("x") }
    defer { origin.stop() }
    let response = try await Lab().fetch(origin.url("/"))
    let fields = try #require(origin.requests.first).fields.sorted { $0.name < $1.name }
    #expect(
      fields.map { "\($0.name): \($0.value)" } == [
        "Accept: image/*,*/*;q=0.8", "Accept-Encoding: identity", "Host: 127.0.0.1:\(origin.port)",
        "User-Agent: thumbworker/0.1.0 (+contact unset)",
      ])
    #expect(response.requestFields["accept-encoding"] == ["identity"])
    #expect(response.requestFields["user-agent"] == ["thumbworker/0.1.0 (+contact unset)"])
    #expect(!response.hadAuthorization)
  }

  @Test func `carries the job's headers and the conditions`() async throws {
    let origin = try OriginServer.start { _ in .status(304) }
    defer { origin.stop() }
    var lab = Lab()
    lab.settings.userAgent = "shop/1 (+mailto:it@shop.example)"
    lab.settings.headers = [
      .init(name: "accept", value: "image/webp"), .init(name: "X-Empty", value: ""),
      .init(name: "Referer", value: "https://shop.example/"),
    ]
    var request = try lab.request(origin.url("/"))
    request.conditions = HTTPFields(pairs: [
      ("If-None-Match", "W/\"a\""), ("If-Modified-Since", "Thu, 01 Jan 2026 00:00:00 GMT"),
    ])
    let response = try await lab.fetcher.fetch(request)
    let seen = try #require(origin.requests.first)
    #expect(response.status == 304)
    #expect(response.body == nil)
    #expect(seen["accept"] == "image/webp")
    #expect(seen["x-empty"] == "")
    #expect(seen["referer"] == "https://shop.example/")
    #expect(seen["user-agent"] == "shop/1 (+mailto:it@shop.example)")
    #expect(seen["if-none-match"] == "W/\"a\"")
    #expect(seen["if-modified-since"] == "Thu, 01 Jan 2026 00:00:00 GMT")
  }

  @Test func `carries credentials only where they are to go, and keeps only their digest`()
    async throws
  {
    let origin = try OriginServer.start { _ in .ok("x") }
    defer { origin.stop() }
    var lab = Lab()
    lab.settings.headers = [
      .init(name: "Authorization", value: "Bearer geheim"), .init(name: "X-Plain", value: "1"),
    ]
    var request = try lab.request(origin.url("/"))
    let own = try await lab.fetcher.fetch(request)
    request.sendsCredentials = false
    let foreign = try await lab.fetcher.fetch(request)
    #expect(origin.requests.map { $0["authorization"] } == ["Bearer geheim", nil])
    #expect(origin.requests.map { $0["x-plain"] } == ["1", "1"])
    #expect(own.hadAuthorization)
    #expect(own.requestFields["authorization"] == [Digest(of: "Bearer geheim").description])
    #expect(!foreign.hadAuthorization)
    #expect(!foreign.requestFields.contains("authorization"))
  }

  @Test(arguments: ["Bearer x\n", "a\r\nX-Other: b", "a\0b"])
  func `is not made with a header that would break its frame`(_ value: String) async throws {
    let origin = try OriginServer.start { _ in .ok("x") }
    defer { origin.stop() }
    var lab = Lab()
    lab.settings.headers = [.init(name: "Authorization", value: value)]
    let failure = try await lab.failure(of: origin.url("/"))
    #expect(failure?.code == "bad-header")
    #expect(failure?.message.contains(value) == false)
    #expect(origin.requests.isEmpty)
  }

  @Test func `goes to the punycode form of an international name`() async throws {
    let origin = try OriginServer.start { _ in .ok("x") }
    defer { origin.stop() }
    let lab = Lab(
      .init(connections: 2, fixedNames: ["xn--bcher-kva.example:\(origin.port):127.0.0.1"]))
    _ = try await lab.fetch("http://Bücher.example:\(origin.port)/")
    #expect(origin.requests.first?["host"] == "xn--bcher-kva.example:\(origin.port)")
  }

  @Test func `goes over IPv6`() async throws {
    let origin = try OriginServer.start(host: "::1") { _ in .ok("x") }
    defer { origin.stop() }
    var lab = Lab()
    lab.settings.allow = [AddressRange("::1")!]
    let response = try await lab.fetch(origin.url("/"))
    #expect(response.address == NetworkAddress("::1"))
  }

  @Test func `shares its connection with the next`() async throws {
    let origin = try OriginServer.start { _ in .ok("x") }
    defer { origin.stop() }
    let lab = Lab()
    for number in 1...5 { _ = try await lab.fetch(origin.url("/\(number)")) }
    #expect(origin.connections == 1)
  }

  /// libcurl takes a connection that was closed before its first answer byte for a stale one, and asks
  /// again over another. Whoever counts requests has to see it.
  @Test func `is repeated once where kept connections turn out to be gone`() async throws {
    let arrived = Atomic(0)
    let origin = try OriginServer.start { request in
      if request.path == "/die" { return .steps([.reset]) }
      arrived.add(1, ordering: .relaxed)
      // Each on a connection of its own.
      while arrived.load(ordering: .relaxed) < 6 { usleep(1000) }
      return .ok("x")
    }
    defer { origin.stop() }
    let lab = Lab()
    await withTaskGroup { group in
      for number in 0..<6 {
        group.addTask { _ = try? await lab.fetch(origin.url("/\(number)")) }
      }
    }
    let failure = try await lab.failure(of: origin.url("/die"))
    #expect(failure?.code == "connect" && failure?.effort.attempts == 1)
    #expect(failure?.requests == 2)
    #expect(origin.requests.count { $0.target == "/die" } == 2)
  }

  @Test func `is counted each time that it leaves`() async throws {
    let origin = try OriginServer.start { request in
      request.path == "/stale" && request.number == 1 ? .steps([.reset]) : .ok("x")
    }
    defer { origin.stop() }
    let lab = Lab()
    #expect(try await lab.fetch(origin.url("/first")).requests == 1)
    let response = try await lab.fetch(origin.url("/stale"))
    #expect(response.status == 200)
    #expect(response.requests == 2)
    #expect(response.effort.attempts == 1)
    #expect(origin.requests.map(\.target) == ["/first", "/stale", "/stale"])
    #expect(origin.requests.map(\.connection) == [1, 1, 2])
    #expect(origin.peakRequests == 1)
  }
}
