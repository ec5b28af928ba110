import Fetching
import Glibc
import HTTPTransfer
import TestSupport
import Testing
import Vocabulary

@Suite struct `Through a proxy` {
  init() {
    // What the environment says of proxies counts neither for them nor against them.
    setenv("no_proxy", "*", 1)
    setenv("http_proxy", "http://127.0.0.1:1", 1)
    setenv("https_proxy", "http://127.0.0.1:1", 1)
  }

  private func lab(
    _ proxy: String, names: [String] = [], caFile: String? = nil,
    _ adjust: (inout NetworkSettings) -> Void = { _ in }
  ) throws -> Lab {
    var lab = Lab(.init(connections: 8, caFile: caFile, fixedNames: names))
    lab.settings.proxy = try ProxySettings(proxy)
    adjust(&lab.settings)
    return lab
  }

  @Test func `http is asked for in absolute form, byte for byte`() async throws {
    let proxy = try OriginServer.start { _ in .ok("by proxy") }
    defer { proxy.stop() }
    let lab = try lab(
      "http://user:pass%40word@127.0.0.1:\(proxy.port)",
      names: ["shop.example:80:127.0.0.9", "xn--bcher-kva.example:81:127.0.0.9"])
    let sink = MemorySink()
    let response = try await lab.fetch("http://shop.example/a/../b%2Fc?q=1%20+2&e=", to: sink)
    #expect(sink.bytes == Array("by proxy".utf8))
    #expect(response.address == NetworkAddress("127.0.0.9"))
    _ = try await lab.fetch("http://Bücher.example:81/ü")
    #expect(
      proxy.requests.map(\.target) == [
        "http://shop.example/a/../b%2Fc?q=1%20+2&e=", "http://xn--bcher-kva.example:81/%C3%BC",
      ])
    #expect(proxy.requests.first?["host"] == "shop.example")
    #expect(proxy.requests.first?["proxy-authorization"] == "Basic dXNlcjpwYXNzQHdvcmQ=")
    #expect(proxy.connections == 1)
  }

  @Test func `an origin sees no credentials of the proxy`() async throws {
    let origin = try OriginServer.start { _ in .ok("x") }
    let proxy = try OriginProxy()
    defer {
      origin.stop()
      proxy.stop()
    }
    let lab = try lab(
      "socks5://alice:geheim@127.0.0.1:\(proxy.port)",
      names: ["shop.example:\(origin.port):127.0.0.1"])
    #expect(try await lab.fetch("http://shop.example:\(origin.port)/a").status == 200)
    let target = "127.0.0.1:\(origin.port)"
    #expect(proxy.tunnels == [.init(target: target, credentials: "alice:geheim")])
    #expect(origin.requests.map(\.target) == ["/a"])
    #expect(
      origin.requests.allSatisfy { !$0.head.contains("geheim") && $0["proxy-authorization"] == nil }
    )
    #expect(origin.requests.first?["host"] == "shop.example:\(origin.port)")
  }

  @Test(.enabled(if: OriginNginx.isInstalled), arguments: ["http", "socks5", "socks5h"])
  func `https is tunnelled to the address that was checked, and verified`(scheme: String)
    async throws
  {
    let origin = try OriginNginx()
    let proxy = try OriginProxy()
    defer {
      origin.stop()
      proxy.stop()
    }
    let names = ["tls.example", "other.example"].map { "\($0):\(origin.port):127.0.0.1" }
    let address = "\(scheme)://127.0.0.1:\(proxy.port)"
    let friend = try lab(address, names: names, caFile: origin.certificateFile) {
      $0.headers = [.init(name: "Authorization", value: "Bearer geheim")]
    }
    let sink = MemorySink()
    let url = "https://tls.example:\(origin.port)/a.txt"
    #expect(try await friend.fetch(url, to: sink).status == 200)
    #expect(sink.bytes == Array("hello".utf8))
    #expect(proxy.tunnels.map(\.target) == ["127.0.0.1:\(origin.port)"])
    #expect(proxy.tunnels.allSatisfy { !$0.head.contains("geheim") })
    let misnamed = try await friend.failure(of: "https://other.example:\(origin.port)/a.txt")
    #expect(misnamed?.code == "tls")
    let stranger = try lab(address, names: names)
    #expect(try await stranger.failure(of: url)?.code == "tls")
    #expect(await origin.accessLog(reach: 1).count == 1)
  }

  @Test(.enabled(if: OriginNginx.isInstalled))
  func `over TLS the proxy's own certificate is verified`() async throws {
    let proxy = try OriginNginx()
    defer { proxy.stop() }
    let names = ["shop.example:80:127.0.0.9"]
    let address = "https://127.0.0.1:\(proxy.port)"
    let friend = try lab(address, names: names, caFile: proxy.certificateFile)
    let sink = MemorySink()
    #expect(try await friend.fetch("http://shop.example/a.txt", to: sink).status == 200)
    #expect(sink.bytes == Array("hello".utf8))
    let stranger = try lab(address, names: names)
    #expect(try await stranger.failure(of: "http://shop.example/a.txt")?.code == "tls")
  }

  @Test(arguments: ["http", "https", "socks5"])
  func `nothing is sent for a target at a special address`(scheme: String) async throws {
    let proxy = try OriginProxy()
    defer { proxy.stop() }
    let lab = try lab(
      "\(scheme)://127.0.0.1:\(proxy.port)",
      names: ["inside.example:80:10.0.0.1,169.254.169.254", "inside.example:443:10.0.0.1"])
    for url in [
      "http://inside.example/", "https://inside.example/", "http://10.1.2.3/", "https://[::1]/",
      "http://0xa9fea9fe/", "https://[64:ff9b::a00:1]/",
    ] {
      let failure = try await lab.failure(of: url)
      #expect(failure?.code == "blocked-address", "\(url)")
      #expect(failure?.requests == 0)
    }
    #expect(proxy.connections == 0)
  }

  @Test func `only the allowed ones of a name's addresses are given to it`() async throws {
    let origin = try OriginServer.start { _ in .ok("x") }
    let proxy = try OriginProxy()
    defer {
      origin.stop()
      proxy.stop()
    }
    let lab = try lab(
      "socks5://127.0.0.1:\(proxy.port)",
      names: ["many.example:\(origin.port):[::1],10.0.0.1,127.0.0.1"])
    #expect(try await lab.fetch("http://many.example:\(origin.port)/").status == 200)
    #expect(proxy.tunnels.map(\.target) == ["127.0.0.1:\(origin.port)"])
  }

  @Test func `its own address has to be allowed`() async throws {
    let proxy = try OriginServer.start { _ in .ok("x") }
    defer { proxy.stop() }
    let lab = try lab(
      "http://127.0.0.1:\(proxy.port)", names: ["shop.example:80:93.184.216.34"]
    ) { $0.allow = [] }
    let failure = try await lab.failure(of: "http://shop.example/")
    #expect(failure?.code == "blocked-address")
    #expect(
      failure?.message
        == "http://shop.example/ was not asked: network.proxy leads to 127.0.0.1, a loopback address"
    )
    #expect(proxy.connections == 0)
  }

  @Test func `its name is looked up by us, as is the target's`() async throws {
    let proxy = try OriginServer.start { _ in .ok("x") }
    defer { proxy.stop() }
    let resolver = OriginResolver()
    var lab = Lab(
      .init(
        connections: 4,
        resolve: { name in
          resolver.look(up: name) { _, _ in
            name == "lost.example"
              ? .failure("no such name", isFinal: true)
              : .addresses([NetworkAddress("127.0.0.1")!])
          }
        }))
    lab.settings.proxy = try ProxySettings("http://proxy.example:\(proxy.port)")
    for path in ["/a", "/b"] {
      #expect(try await lab.fetch("http://shop.example\(path)").status == 200)
    }
    #expect(resolver.asked == ["shop.example", "proxy.example"])
    #expect(try await lab.failure(of: "http://lost.example/")?.code == "dns")
    lab.settings.proxy = try ProxySettings("http://lost.example:3128")
    let failure = try await lab.failure(of: "http://shop.example/")
    #expect(failure?.code == "proxy")
    #expect(
      failure?.message
        == "http://shop.example/ was not asked: network.proxy failed: its name was not resolved: "
        + "no such name")
    #expect(proxy.requests.count == 2)
  }

  struct Refusal: CustomTestStringConvertible {
    let status: Int
    let attempts: Int
    var testDescription: String { "\(status)" }
  }

  @Test(arguments: [
    Refusal(status: 407, attempts: 1), Refusal(status: 403, attempts: 1),
    Refusal(status: 502, attempts: 3),
  ])
  func `its refusal is told as its own`(_ row: Refusal) async throws {
    let proxy = try OriginProxy(answering: row.status)
    defer { proxy.stop() }
    let lab = try lab(
      "http://127.0.0.1:\(proxy.port)", names: ["shop.example:443:127.0.0.1"]
    ) { $0.attempts = 3 }
    let failure = try await lab.failure(of: "https://shop.example/")
    #expect(failure?.code == "proxy")
    #expect(failure?.message.contains("it answered CONNECT with \(row.status)") == true)
    #expect(failure?.effort.attempts == row.attempts)
    #expect(failure?.requests == 0)
    #expect(failure?.disposition == .retry(notBefore: nil))
  }

  @Test func `one that is down is not held against its targets`() async throws {
    let proxy = try OriginServer.start { _ in .ok("x") }
    proxy.stop()
    let lab = try lab(
      "http://127.0.0.1:\(proxy.port)", names: ["shop.example:80:127.0.0.1"])
    for _ in 1...12 {
      #expect(try await lab.failure(of: "http://shop.example/")?.code == "proxy")
    }
    #expect(lab.fetcher.standings.isEmpty)
  }

  @Test func `the jobs without one go straight, those with another by that`() async throws {
    let origin = try OriginServer.start { _ in .ok("straight") }
    let one = try OriginServer.start { _ in .ok("one") }
    let two = try OriginServer.start { _ in .ok("two") }
    defer { for server in [origin, one, two] { server.stop() } }
    var lab = Lab(.init(connections: 2))
    var bodies: [String] = []
    for proxy in [nil, one, two, nil, one] as [OriginServer?] {
      lab.settings.proxy = try proxy.map { try ProxySettings("http://127.0.0.1:\($0.port)") }
      let sink = MemorySink()
      _ = try await lab.fetch(origin.url("/"), to: sink)
      bodies.append(String(decoding: sink.bytes, as: UTF8.self))
    }
    #expect(bodies == ["straight", "one", "two", "straight", "one"])
  }
}
