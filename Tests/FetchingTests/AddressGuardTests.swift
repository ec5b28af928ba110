import Fetching
import HTTPTransfer
import TestSupport
import Testing
import Vocabulary

@Suite struct `The address guard` {
  struct Row: CustomTestStringConvertible {
    let address: String
    let kind: String?
    var testDescription: String { "\(address): \(kind ?? "public")" }

    init(_ address: String, _ kind: String?) {
      self.address = address
      self.kind = kind
    }
  }

  static let rows = [
    Row("1.1.1.1", nil), Row("8.8.8.8", nil), Row("93.184.216.34", nil),
    Row("0.0.0.0", "unspecified"), Row("0.1.2.3", "unspecified"),
    Row("9.255.255.255", nil), Row("10.0.0.0", "private"), Row("10.255.255.255", "private"),
    Row("11.0.0.0", nil),
    Row("100.63.255.255", nil), Row("100.64.0.0", "carrier-grade NAT"),
    Row("100.100.100.200", "carrier-grade NAT"), Row("100.127.255.255", "carrier-grade NAT"),
    Row("100.128.0.0", nil),
    Row("127.0.0.1", "loopback"), Row("127.255.255.254", "loopback"), Row("128.0.0.1", nil),
    Row("168.63.129.16", "platform-internal"), Row("168.63.129.17", nil),
    Row("169.253.255.255", nil), Row("169.254.169.254", "link-local"), Row("169.255.0.0", nil),
    Row("172.15.255.255", nil), Row("172.16.0.1", "private"), Row("172.31.255.255", "private"),
    Row("172.32.0.0", nil),
    Row("192.0.0.8", "reserved"), Row("192.0.1.1", nil), Row("192.0.2.1", "documentation"),
    Row("192.0.3.1", nil), Row("192.88.99.1", "reserved"),
    Row("192.167.255.255", nil), Row("192.168.1.1", "private"), Row("192.169.0.0", nil),
    Row("198.17.255.255", nil), Row("198.18.0.1", "benchmarking"),
    Row("198.19.255.255", "benchmarking"), Row("198.20.0.0", nil),
    Row("198.51.100.7", "documentation"), Row("203.0.113.7", "documentation"),
    Row("223.255.255.255", nil), Row("224.0.0.1", "multicast"), Row("239.255.255.255", "multicast"),
    Row("240.0.0.1", "reserved"), Row("255.255.255.254", "reserved"),
    Row("255.255.255.255", "broadcast"),

    Row("2606:4700::1111", nil), Row("2a00:1450:4001::1", nil),
    Row("::", "unspecified"), Row("::1", "loopback"), Row("::2", "reserved"),
    Row("::127.0.0.1", "reserved"), Row("::8.8.8.8", "reserved"),
    Row("::ffff:127.0.0.1", "loopback"), Row("::ffff:a9fe:a9fe", "link-local"),
    Row("::ffff:10.0.0.1", "private"), Row("::ffff:8.8.8.8", nil),
    Row("::ffff:0:127.0.0.1", "reserved"),
    Row("64:ff9b::127.0.0.1", "loopback"), Row("64:ff9b::a00:1", "private"),
    Row("64:ff9b::8.8.8.8", nil), Row("64:ff9b:1::8.8.8.8", "reserved"),
    Row("100::1", "reserved"),
    Row("2001::1", "Teredo"), Row("2001:0:53aa:64c::1", "Teredo"), Row("2001:2::1", "reserved"),
    Row("2001:10::1", "reserved"), Row("2001:20::1", "reserved"), Row("2001:200::1", nil),
    Row("2001:db8::1", "documentation"), Row("2001:db9::1", nil),
    Row("2002:7f00:1::1", "6to4"), Row("2002:808:808::1", "6to4"),
    Row("2a00:1450::5efe:127.0.0.1", "loopback"), Row("2a00:1450::200:5efe:10.0.0.1", "private"),
    Row("2a00:1450::5efe:8.8.8.8", nil),
    Row("3fff:0fff::1", "documentation"), Row("3fff:1000::1", nil),
    Row("4000::1", "reserved"), Row("5f00::1", "reserved"),
    Row("fc00::1", "unique-local"), Row("fd00:ec2::254", "unique-local"),
    Row("fe80::1", "link-local"), Row("febf::1", "link-local"), Row("fec0::1", "site-local"),
    Row("ff02::1", "multicast"),
  ]

  @Test(arguments: rows)
  func `knows special addresses`(_ row: Row) throws {
    let address = try #require(NetworkAddress(row.address))
    #expect(AddressGuard().refusal(of: address) == row.kind)
  }

  struct Exemption: CustomTestStringConvertible {
    let allow: String
    let address: String
    let isAllowed: Bool
    var testDescription: String { "\(allow) and \(address)" }
  }

  static let exemptions = [
    Exemption(allow: "127.0.0.0/8", address: "127.0.0.1", isAllowed: true),
    Exemption(allow: "127.0.0.0/8", address: "10.0.0.1", isAllowed: false),
    Exemption(allow: "127.0.0.0/8", address: "::ffff:127.0.0.1", isAllowed: true),
    Exemption(allow: "127.0.0.0/8", address: "64:ff9b::127.0.0.1", isAllowed: true),
    Exemption(allow: "127.0.0.0/8", address: "::127.0.0.1", isAllowed: false),
    Exemption(allow: "127.0.0.0/8", address: "::1", isAllowed: false),
    Exemption(allow: "10.1.0.0/16", address: "10.1.2.3", isAllowed: true),
    Exemption(allow: "10.1.0.0/16", address: "10.2.2.3", isAllowed: false),
    Exemption(allow: "fd00::/8", address: "fd12::1", isAllowed: true),
    Exemption(allow: "::1", address: "::1", isAllowed: true),
    Exemption(allow: "0.0.0.0/0", address: "169.254.169.254", isAllowed: true),
  ]

  @Test(arguments: exemptions)
  func `exempts what network.allow names`(_ row: Exemption) throws {
    let guarding = AddressGuard(allow: [try #require(AddressRange(row.allow))])
    let address = try #require(NetworkAddress(row.address))
    #expect((guarding.refusal(of: address) == nil) == row.isAllowed)
  }

  /// Spellings of this machine that a check of the text would miss.
  static let spellings = [
    "127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "017700000001",
    "0177.0.0.1", "127.000.000.001", "localhost", "LOCALHOST", "localhost.", "127.0.0.2", "0",
    "0.0.0.0",
    "[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]",
    "[64:ff9b::7f00:1]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]", "[fe80::1]", "[fd00::1]",
    "10.0.0.1", "169.254.169.254", "192.168.0.1", "100.64.0.1", "255.255.255.255", "224.0.0.1",
  ]

  @Test(arguments: spellings)
  func `refuses every spelling of a special address`(_ host: String) async throws {
    let origin = try OriginServer.start { _ in .ok("never") }
    defer { origin.stop() }
    var lab = Lab()
    lab.settings.allow = []
    let failure = try await lab.failure(of: "http://\(host):\(origin.port)/")
    // A host name that only looks like an address may also have no address at all.
    #expect(failure.map { ["blocked-address", "dns"].contains($0.code) } == true)
    #expect(failure?.requests == 0)
    #expect(origin.connections == 0)
  }

  /// Spellings that are hosts to some parser or other: refused as URLs, or seen through.
  @Test(arguments: [
    "127.0.0.1.", "0x7f.1", "0x7F000001", "017700000001.", "127.0.0.1..", "127.1.",
    "\u{FF11}\u{FF12}\u{FF17}.0.0.1", "\u{2460}\u{2461}\u{2466}.0.0.1",
    "127\u{3002}0\u{3002}0\u{3002}1",
    "%31%32%37.0.0.1", "127.0.0.1%00.example.com", "127.0.0.1%2f", "127.0.0.1\\@example.com",
    "[::1%25lo]", "[::1%lo]", "[fe80::1%25eth0]", "[::ffff:127.0.0.1%25lo]", "[0::0:127.0.0.1]",
    "[::FFFF:0x7f.0.0.1]", "example.com@127.0.0.1", "127.0.0.1#@example.com", "127.0.0.1 ",
    "\u{FF4C}ocalhost", "localhost\u{3002}", "LOCALHOST.", "loc\u{00AD}alhost",
    "256.0.0.1", "127.0.0.0x1", "4294967297", "0300.0250.0.1",
  ])
  func `refuses a special address in the clothes of a name`(_ host: String) async throws {
    let origin = try OriginServer.start { _ in .ok("never") }
    defer { origin.stop() }
    var lab = Lab()
    lab.settings.allow = []
    guard let url = try? ItemURL("http://\(host):\(origin.port)/") else { return }
    let failure = try await lab.failure(of: url.unredactedText)
    #expect(failure.map { ["blocked-address", "dns"].contains($0.code) } == true, "\(url)")
    #expect(failure?.requests == 0)
    #expect(origin.connections == 0)
  }

  @Test func `names the address and the way out`() async throws {
    var lab = Lab()
    lab.settings.allow = []
    let failure = try await lab.failure(of: "http://127.0.0.1:9/a.jpg?token=geheim")
    #expect(failure?.code == "blocked-address")
    #expect(
      failure?.message
        == "http://127.0.0.1:9/a.jpg?token=REDACTED leads to 127.0.0.1, a loopback address")
    #expect(
      failure?.hint == "if this job may reach it, add 127.0.0.1 or its range to network.allow")
    #expect(failure?.disposition == .giveUp)
  }

  @Test func `uses only the allowed ones of a name's addresses`() async throws {
    let origin = try OriginServer.start(host: "127.0.0.1") { _ in .ok("hello") }
    defer { origin.stop() }
    var lab = Lab(
      .init(
        connections: 4,
        fixedNames: ["many.example:\(origin.port):127.0.0.2,10.0.0.1,127.0.0.1"]))
    lab.settings.allow = [AddressRange("127.0.0.1")!]
    let response = try await lab.fetch("http://many.example:\(origin.port)/")
    #expect(response.status == 200)
    #expect(response.address == NetworkAddress("127.0.0.1"))
  }

  @Test func `refuses a name all of whose addresses are special`() async throws {
    var lab = Lab(.init(connections: 4, fixedNames: ["inside.example:80:10.0.0.1,192.168.0.1"]))
    lab.settings.allow = []
    let failure = try await lab.failure(of: "http://inside.example/")
    #expect(failure?.code == "blocked-address")
    #expect(failure?.message.contains("10.0.0.1, a private address") == true)
  }

  @Test func `does not lend one job's connection to another that may not have it`() async throws {
    let origin = try OriginServer.start { _ in .ok("hello") }
    defer { origin.stop() }
    var lab = Lab()
    _ = try await lab.fetch(origin.url("/allowed"))
    lab.settings.allow = []
    let failure = try await lab.failure(of: origin.url("/forbidden"))
    #expect(failure?.code == "blocked-address")
    #expect(origin.requests.map(\.target) == ["/allowed"])
    lab.settings.allow = [Lab.loopback]
    #expect(try await lab.fetch(origin.url("/again")).status == 200)
  }
}
