import Testing
import Vocabulary

@Suite struct `An item's URL` {
  @Test(arguments: [
    ("http://a.example", "http://a.example/"),
    ("HTTP://A.Example:80/x", "http://a.example/x"),
    ("https://a.example:443/x?y#z", "https://a.example/x?y"),
    ("https://a.example:8443/x", "https://a.example:8443/x"),
    ("http://a.example?q", "http://a.example/?q"),
    ("  http://a.example/x\n", "http://a.example/x"),
    ("http://a.example/a b/ü?c d", "http://a.example/a%20b/%C3%BC?c%20d"),
    ("http://a.example/a%20b%2F+c", "http://a.example/a%20b%2F+c"),
    ("http://a.example/a/../b/./c", "http://a.example/a/../b/./c"),
    ("http://a.example/x?", "http://a.example/x?"),
    ("http://[::1]:8080/x", "http://[::1]:8080/x"),
    ("http://a.example/\"<>\\^`{|}", "http://a.example/%22%3C%3E%5C%5E%60%7B%7C%7D"),
  ])
  func `goes out as written, illegal bytes encoded once`(text: String, sent: String) throws {
    #expect(try ItemURL(text).unredactedText == sent)
  }

  @Test(arguments: [
    ("ftp://a.example/x", BadURL.unsupportedScheme("ftp")),
    ("file:///etc/passwd", .unsupportedScheme("file")),
    ("data:image/png;base64,AAAA", .unsupportedScheme("data")),
    ("s3://bucket/x", .unsupportedScheme("s3")),
    ("a.jpg", .notAbsolute), ("/a.jpg", .notAbsolute), ("", .notAbsolute), ("http:", .noHost),
    ("http:///x", .noHost), ("http://:80/x", .noHost), ("http://u:p@a.example/x", .userInfo),
    ("http://example.com@evil.example/", .userInfo), ("http://a.example:0/", .badPort("0")),
    ("http://a.example:99999/", .badPort("99999")), ("http://a b/", .badHost("a b")),
    ("http://[::1/", .badHost("[::1")),
  ])
  func `is refused where it cannot be fetched`(text: String, reason: BadURL) {
    #expect(throws: reason) { try ItemURL(text) }
  }

  @Test(arguments: [
    ("b.jpg", "http://a.example/x/b.jpg"), ("/b.jpg", "http://a.example/b.jpg"),
    ("//b.example/c", "http://b.example/c"), ("https://b.example/c", "https://b.example/c"),
    ("../b", "http://a.example/b"), ("?p", "http://a.example/x/y?p"),
    ("#f", "http://a.example/x/y?q"),
    ("./b?c#d", "http://a.example/x/b?c"), ("../../../b", "http://a.example/b"),
    ("http://b.example", "http://b.example/"), ("b:c", nil),
    ("/a/b/../c:d", "http://a.example/a/c:d"),
  ])
  func `resolves a redirect's target`(reference: String, target: String?) throws {
    let base = try ItemURL("http://a.example/x/y?q")
    #expect((try? base.resolving(reference))?.unredactedText == target)
  }

  @Test(arguments: [
    ("/a\u{e9}?\u{e9}#\u{e9}", "http://a.example/a%E9?%E9"),
    ("b\u{c3}\u{a9}", "http://a.example/x/b%C3%A9"), ("\u{e9}:c", "http://a.example/x/%E9:c"),
    ("/a/\u{cc}\u{81}/../b", "http://a.example/a/b"),
    ("//b\u{c3}\u{bc}.example/\u{fc}", "http://b\u{fc}.example/%FC"),
    ("https://b\u{c3}\u{bc}.example", "https://b\u{fc}.example/"),
    ("http://b.example?\u{ff}", "http://b.example/?%FF"),
  ])
  func `resolves a redirect's target byte for byte`(reference: String, target: String) throws {
    let base = try ItemURL("http://a.example/x/y?q")
    let bytes = reference.unicodeScalars.map { UInt8($0.value) }
    #expect(try base.resolving(bytes: bytes).unredactedText == target)
  }

  @Test func `hides the values of signature-like parameters when it is shown`() throws {
    let url = try ItemURL("https://b.example/x?w=1&X-Amz-Signature=abc&token=t&Expires=5")
    #expect("\(url)" == "https://b.example/x?w=1&X-Amz-Signature=REDACTED&token=REDACTED&Expires=5")
  }

  @Test func `knows its target and origin`() throws {
    let url = try ItemURL("https://b.example:444/x/y?z")
    #expect(url.target == "/x/y?z")
    #expect(url.origin == (try ItemURL("https://B.example:444/").origin))
    #expect(url.origin != (try ItemURL("https://b.example/").origin))
  }
}

@Suite struct `A URL that goes out as it is written` {
  /// What is told at one look and what is taken apart must agree: the second of each pair differs by
  /// something that only the long way knows.
  @Test(arguments: [
    ("https://img.a-b_c.example/x/y.jpg?z=%20", "HTTPS://img.a-b_c.example/x/y.jpg?z=%20"),
    ("http://10.0.0.1/", "http://10.0.0.1:80/"),
    ("https://a.example/x?y", "https://a.example/x?y#z"), ("http://a.b/~(1)", " http://a.b/~(1)"),
    ("http://a.example./", "http://A.example./"),
    ("http://127.0.0.1:8080/x?y", "HTTP://127.0.0.1:8080/x?y"),
    ("https://a.example:80/", "https://a.example:080/"),
    ("http://a.example:65535/x", "http://a.example:0065535/x"),
    ("http://a.example:443/", "http://a.example:443#x"),
    ("http://a.example/", "http://a.example:/"),
  ])
  func `is the same as one that is taken apart`(plain: String, other: String) throws {
    let (a, b) = (try ItemURL(plain), try ItemURL(other))
    #expect(a == b)
    #expect(a.unredactedText == plain)
    #expect(a.origin == b.origin)
    #expect(a.target == b.target)
  }

  @Test func `is held to the same limits`() {
    let long = "http://a.example/" + String(repeating: "x", count: 8192)
    #expect(throws: BadURL.tooLong(bytes: 8209)) { try ItemURL(long) }
    let host = String(repeating: "a", count: 254)
    #expect(throws: BadURL.badHost(host)) { try ItemURL("http://\(host)/") }
    for port in ["0", "65536", "99999", "100000", "8o", "-1", "1 "] {
      #expect(throws: BadURL.badPort(port)) { try ItemURL("http://a.example:\(port)/") }
    }
  }

  @Test func `holds what a URL may hold and nothing else`() throws {
    for byte in UInt8(0x21)...0x7E where byte != UInt8(ascii: "#") {
      let text = "http://a.example/x" + String(decoding: [byte], as: UTF8.self)
      let isIllegal = "\"<>\\^`{|}".utf8.contains(byte)
      #expect((try ItemURL(text).unredactedText == text) == !isIllegal)
    }
  }
}
