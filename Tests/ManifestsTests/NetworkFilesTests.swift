import Glibc
import TestSupport
import Testing
import Vocabulary

@testable import Manifests

@Suite struct `A manifest's proxy` {
  private func proxy(
    _ text: String, environment: [String: String] = [:]
  ) throws -> ProxySettings? {
    let file = ManifestTestFile("{\"version\": 1, \"network\": {\"proxy\": \"\(text)\"}}")
    return try ManifestFile.open(path: file.path, environment: environment).settings.network.proxy
  }

  struct Row: CustomTestStringConvertible {
    let text: String
    let kind: ProxySettings.Kind
    let host: String
    let port: UInt16
    var testDescription: String { text }
  }

  @Test(arguments: [
    Row(text: "http://Proxy.Example:3128", kind: .http, host: "proxy.example", port: 3128),
    Row(text: "http://10.0.0.1:80/", kind: .http, host: "10.0.0.1", port: 80),
    Row(text: "HTTPS://[fd00::1]:8443", kind: .https, host: "[fd00::1]", port: 8443),
    Row(text: "socks5://p.example:1080", kind: .socks5, host: "p.example", port: 1080),
    Row(text: "socks5h://p.example:1080", kind: .socks5, host: "p.example", port: 1080),
  ])
  func `is a kind, a host and a port`(_ row: Row) throws {
    let proxy = try #require(try proxy(row.text))
    #expect((proxy.kind, proxy.host, proxy.port) == (row.kind, row.host, row.port))
    #expect(proxy.credentials == nil)
  }

  @Test func `takes its credentials from the environment, whatever they hold`() throws {
    let environment = ["U": "al:ice", "P": "g@h/e%41i#m"]
    let proxy = try proxy("http://${U}:${P}@p.example:3128", environment: environment)
    #expect(proxy?.credentials == .init(user: "al:ice", password: "g@h/e%41i#m"))
    #expect(proxy.map { "\($0)" } == "http://p.example:3128")
  }

  @Test func `may come from the environment as a whole`() throws {
    let environment = ["HTTPS_PROXY": "http://al%3Aice:ge%40heim@p.example:3128/"]
    let proxy = try proxy("${HTTPS_PROXY}", environment: environment)
    #expect(proxy?.credentials == .init(user: "al:ice", password: "ge@heim"))
    #expect(proxy?.host == "p.example")
  }

  @Test(arguments: ["http://alice:geheim@p:1", "http://geheim@p:1", "http://${U}:geheim@p:1"])
  func `is refused with credentials in it`(text: String) {
    let said = problems(
      "{\"version\": 1, \"network\": {\"proxy\": \"\(text)\"}}", environment: ["U": "alice"])
    #expect(
      said == [
        "network.proxy: credentials do not belong in a manifest: write "
          + "http://${PROXY_USER}:${PROXY_PASSWORD}@… and set both in the environment"
      ])
  }

  @Test(arguments: [
    ("${P}", "geheim"), ("${P}", "http://u:geheim@p"), ("${P}", "socks4a://u:geheim@p:1"),
    ("http://${P}@p:1", "geheim\n"),
  ])
  func `is never shown where it is wrong`(text: String, value: String) {
    let said = problems(
      "{\"version\": 1, \"network\": {\"proxy\": \"\(text)\"}}", environment: ["P": value])
    #expect(said.count == 1)
    #expect(!said.joined().contains("geheim"))
  }

  @Test func `is kept by the names of its variables`() throws {
    let file = ManifestTestFile(
      "{\"version\": 1, \"network\": {\"proxy\": \"http://${U}:${P}@p:1\"},"
        + "\"hosts\": [{\"match\": \"a.b\", \"network\": {\"proxy\": null}}]}")
    let environment = ["U": "alice", "P": "geheim"]
    let manifest = try ManifestFile.open(path: file.path, environment: environment)
    #expect(!manifest.headText.contains("geheim"))
    let read = try settings(fromHead: manifest.headText, environment: environment)
    #expect(read == manifest.settings)
    #expect(read.network(forHost: "a.b").proxy == nil)
    let shown = try settings(fromHead: manifest.headText, environment: [:], standIn: "x")
    #expect(shown.network.proxy?.credentials == .init(user: "x", password: "x"))
  }
}

@Suite struct `A manifest's certificates` {
  /// The outline of one: a sequence of the length that it says.
  private static let certificate = [
    "-----BEGIN CERTIFICATE-----", "MIIBBDCB", String(repeating: "AAAA", count: 86),
    "-----END CERTIFICATE-----",
  ]

  struct Row: CustomTestStringConvertible {
    let testDescription: String
    let lines: [String]
    let fault: String?
  }

  static let rows = [
    Row(testDescription: "one", lines: certificate, fault: nil),
    Row(
      testDescription: "two with words between",
      lines: ["# ours"] + certificate + ["", "subject=CN"] + certificate, fault: nil),
    Row(
      testDescription: "a key beside it",
      lines: ["-----BEGIN PRIVATE KEY-----", "AAAA", "-----END PRIVATE KEY-----"] + certificate,
      fault: nil),
    Row(
      testDescription: "a key alone",
      lines: ["-----BEGIN PRIVATE KEY-----", "AAAA", "-----END PRIVATE KEY-----"],
      fault: "holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)"),
    Row(
      testDescription: "nothing", lines: [],
      fault: "holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)"),
    Row(
      testDescription: "cut", lines: Array(certificate.dropLast()),
      fault: "holds a CERTIFICATE without its end"),
    Row(
      testDescription: "short", lines: [certificate[0], certificate[1], certificate[3]],
      fault: "holds a certificate that is damaged"),
    Row(
      testDescription: "no Base64",
      lines: [certificate[0], "MIIB*DCB", certificate[2], certificate[3]],
      fault: "holds a certificate that is damaged"),
  ]

  @Test(arguments: rows)
  func `are looked at`(_ row: Row) {
    #expect(CertificateFile.fault(of: Array(row.lines.joined(separator: "\n").utf8)) == row.fault)
    #expect(CertificateFile.fault(of: Array(row.lines.joined(separator: "\r\n").utf8)) == row.fault)
  }

  @Test(.enabled(if: access("/etc/ssl/certs/ca-certificates.crt", R_OK) == 0))
  func `may be those of all public authorities`() {
    #expect(CertificateFile.fault(ofFileAt: "/etc/ssl/certs/ca-certificates.crt") == nil)
  }

  @Test func `stand relative to the manifest, and are kept by their absolute path`() throws {
    let file = ManifestTestFile(
      "{\"version\": 1, \"network\": {\"caFile\": \"ours.pem\"}, \"hosts\": "
        + "[{\"match\": \"a.b\", \"network\": {\"caFile\": \"./theirs.pem\"}},"
        + "{\"match\": \"c.d\", \"network\": {\"caFile\": null}}]}")
    let folder = file.path.split(separator: "/").dropLast().map { "/\($0)" }.joined()
    let names = ["\(folder)/ours.pem", "\(folder)/./theirs.pem"]
    for name in names { write(Self.certificate, to: name) }
    defer { for name in names { unlink(name) } }
    let manifest = try ManifestFile.open(path: file.path, environment: [:])
    let hosts = ["x.y", "a.b", "c.d"]
    #expect(
      hosts.map { manifest.settings.network(forHost: $0).caFile } == [names[0], names[1], nil])
    #expect(try settings(fromHead: manifest.headText, environment: [:]) == manifest.settings)
    for name in names { unlink(name) }
    let shown = try settings(fromHead: manifest.headText, environment: [:], standIn: "x")
    #expect(shown.network.caFile == names[0])
  }

  private func write(_ lines: [String], to path: String) {
    guard let file = fopen(path, "w") else { return }
    fputs(lines.joined(separator: "\n"), file)
    fclose(file)
  }
}
