import Fetching
import HTTPCaching
import HTTPTransfer
import Hashing
import TestSupport
import Testing
import Threading
import Vocabulary

@Suite struct `A body that breaks off` {
  private static let whole = sampleBytes(600_000)
  private static let other = Array(sampleBytes(700_001).reversed())
  private static let tag = ("ETag", "\"v1\"")

  private typealias Fields = [(String, String)]

  /// A 200 that ends after so many of its bytes.
  private static func cut(
    at count: Int, _ fields: [(String, String)] = [tag], of body: [UInt8] = whole
  ) -> OriginResponse {
    let length = ("Content-Length", String(body.count))
    return .steps([
      .sendBytes(OriginResponse.head(200, fields + [length]) + body[..<count]), .close,
    ])
  }

  /// A 206 with these bytes of the whole, which says of itself what it likes.
  private static func rest(
    _ bytes: Range<Int>, says range: String? = nil, _ fields: [(String, String)] = [tag],
    sends sent: [UInt8]? = nil, endsAfterwards: Bool = false
  ) -> OriginResponse {
    let range = range ?? "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(whole.count)"
    var all = fields + [("Content-Range", range)]
    if !fields.contains(where: { $0.0 == "Transfer-Encoding" || $0.0 == "Content-Length" }) {
      all.append(("Content-Length", String(bytes.count)))
    }
    let body = sent ?? Array(whole[bytes])
    return .steps(
      [.sendBytes(OriginResponse.head(206, all) + body)] + (endsAfterwards ? [.close] : []))
  }

  private static func chunked(_ bytes: some Collection<UInt8>, isEnded: Bool = true) -> [UInt8] {
    Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes
      + Array((isEnded ? "\r\n0\r\n\r\n" : "\r\n").utf8)
  }

  struct Row: CustomTestStringConvertible {
    let testDescription: String
    /// One for each request; the last one for all that follow.
    let responses: [OriginResponse]
    /// What each request asked for, nil being the whole.
    let ranges: [String?]
    let expected: [UInt8]

    fileprivate init(
      _ name: String, _ responses: [OriginResponse], asks ranges: [String?],
      _ expected: [UInt8] = whole
    ) {
      testDescription = name
      self.responses = responses
      self.ranges = ranges
      self.expected = expected
    }

    /// Half of it, something that does not fit, and then what is whole.
    fileprivate init(_ name: String, startsOverAfter second: OriginResponse) {
      self.init(
        name, [cut(at: 300_000), second, .ok(whole, [tag])], asks: [nil, "bytes=300000-", nil])
    }
  }

  static let rows: [Row] = [
    Row(
      "goes on where it stopped", [cut(at: 300_000), rest(300_000..<600_000)],
      asks: [nil, "bytes=300000-"]),
    Row(
      "goes on twice",
      [
        cut(at: 300_000),
        rest(
          300_000..<600_000, sends: Array(whole[300_000..<450_000]), endsAfterwards: true),
        rest(450_000..<600_000),
      ], asks: [nil, "bytes=300000-", "bytes=450000-"]),
    Row(
      "goes on after a connection that came to nothing",
      [cut(at: 300_000), .steps([.reset]), rest(300_000..<600_000)],
      asks: [nil, "bytes=300000-", "bytes=300000-"]),
    Row(
      "goes on in chunks",
      [
        cut(at: 300_000),
        rest(
          300_000..<600_000, [tag, ("Transfer-Encoding", "chunked")],
          sends: chunked(whole[300_000...])),
      ], asks: [nil, "bytes=300000-"]),
    Row(
      "goes on after chunks, whose number was not known",
      [
        .steps([
          .sendBytes(
            OriginResponse.head(200, [tag, ("Transfer-Encoding", "chunked")])
              + chunked(whole[..<300_000], isEnded: false)), .close,
        ]),
        rest(300_000..<600_000),
      ], asks: [nil, "bytes=300000-"]),
    Row(
      "goes on by a strong date",
      [
        cut(
          at: 300_000,
          [
            ("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT"),
            ("Date", "Thu, 01 Jan 2026 00:00:01 GMT"),
          ]),
        rest(300_000..<600_000, [("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")]),
      ], asks: [nil, "bytes=300000-"]),

    Row(
      "has changed meanwhile",
      [cut(at: 300_000), .ok(other, [("ETag", "\"v2\"")])], asks: [nil, "bytes=300000-"], other),
    Row(
      "has changed meanwhile, and breaks off again early",
      [
        cut(at: 300_000), cut(at: 1000, [("ETag", "\"v2\"")], of: other),
        .ok(other, [("ETag", "\"v2\"")]),
      ], asks: [nil, "bytes=300000-", nil], other),
    Row("is answered with an error page", startsOverAfter: .status(403, Array("<html>no".utf8))),
    Row("is answered with 416", startsOverAfter: .status(416)),
    Row("is answered with 503", startsOverAfter: .status(503)),
    Row("is answered with a redirect", startsOverAfter: .redirect(to: "/elsewhere")),
    Row("is answered from another start", startsOverAfter: rest(0..<600_000)),
    Row(
      "is answered from one byte later", startsOverAfter: rest(300_001..<600_000)),
    Row("is answered up to another end", startsOverAfter: rest(300_000..<500_000)),
    Row(
      "is answered with another total",
      startsOverAfter: rest(300_000..<600_000, says: "bytes 300000-599999/700000")),
    Row(
      "is answered with a longer whole",
      startsOverAfter: rest(300_000..<600_000, says: "bytes 300000-699999/700000")),
    Row(
      "is answered without the total",
      startsOverAfter: rest(300_000..<600_000, says: "bytes 300000-599999/*")),
    Row(
      "is answered in another unit",
      startsOverAfter: rest(300_000..<600_000, says: "pages 300000-599999/600000")),
    Row(
      "is answered by another tag",
      startsOverAfter: rest(300_000..<600_000, [("ETag", "\"v2\"")])),
    Row(
      "is answered by a weak tag", startsOverAfter: rest(300_000..<600_000, [("ETag", "W/\"v1\"")])),
    Row("is answered without a tag", startsOverAfter: rest(300_000..<600_000, [])),
    Row(
      "is answered with an encoded part",
      startsOverAfter: rest(300_000..<600_000, [tag, ("Content-Encoding", "gzip")])),
    Row(
      "is answered with a length of its own",
      startsOverAfter: rest(
        300_000..<600_000, [tag, ("Content-Length", "5")], sends: Array("hello".utf8))),
    Row(
      "is answered with more than its range",
      startsOverAfter: rest(
        300_000..<600_000, [tag, ("Transfer-Encoding", "chunked")],
        sends: chunked(whole[299_000...]), endsAfterwards: true)),

    Row("is too short", [cut(at: 262_143), .ok(whole, [tag])], asks: [nil, nil]),
    Row(
      "has a weak tag", [cut(at: 300_000, [("ETag", "W/\"v1\"")]), .ok(whole)], asks: [nil, nil]),
    Row("has no validator", [cut(at: 300_000, []), .ok(whole)], asks: [nil, nil]),
    Row(
      "has a date that may be too young",
      [
        cut(
          at: 300_000,
          [
            ("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT"),
            ("Date", "Thu, 01 Jan 2026 00:00:00 GMT"),
          ]), .ok(whole),
      ], asks: [nil, nil]),
    Row(
      "is encoded",
      [
        cut(at: 300_000, [tag, ("Content-Encoding", "gzip")], of: OriginGzip.stored(whole)),
        .ok(whole),
      ], asks: [nil, nil]),
  ]

  @Test(arguments: rows)
  func `is never a mix`(_ row: Row) async throws {
    let origin = try OriginServer.start { request in
      row.responses[min(request.number, row.responses.count) - 1]
    }
    defer { origin.stop() }
    let lab = Lab { $0.attempts = 4 }
    let sink = MemorySink()
    let response = try await lab.fetch(origin.url("/a.jpg"), to: sink)
    #expect(response.status == 200)
    #expect(sink.bytes == row.expected)
    #expect(response.body?.bytes == row.expected.count)
    #expect(response.body?.digest == digest(of: row.expected))
    #expect(origin.requests.map { $0["range"] } == row.ranges)
    #expect(origin.requests.allSatisfy { ($0["if-range"] != nil) == ($0["range"] != nil) })
    #expect(response.requestFields["range"] == [])
    #expect(response.requests == row.ranges.count)
  }

  @Test func `has the fields of the whole, renewed by those of its rest`() async throws {
    let origin = try OriginServer.start { request in
      request.number == 1
        ? Self.cut(
          at: 300_000,
          [
            Self.tag, ("Age", "500"), ("Date", "Thu, 01 Jan 2026 00:00:00 GMT"),
            ("Content-Type", "image/png"), ("Cache-Control", "max-age=1"),
          ])
        : Self.rest(300_000..<600_000, [Self.tag, ("Cache-Control", "max-age=2")])
    }
    defer { origin.stop() }
    let response = try await Lab { $0.attempts = 2 }.fetch(origin.url("/"))
    #expect(origin.requests.last?["if-range"] == "\"v1\"")
    #expect(
      response.fields.lines.map { "\($0.name): \($0.value)" }.sorted() == [
        "Cache-Control: max-age=2", "Content-Length: 600000", "Content-Type: image/png",
        "ETag: \"v1\"",
      ])
  }

  @Test func `goes on after a silence`() async throws {
    let origin = try OriginServer.start { request in
      request.number == 1
        ? .steps([
          .sendBytes(
            OriginResponse.head(200, [Self.tag, ("Content-Length", "600000")])
              + Self.whole[..<300_000]), .hang,
        ]) : Self.rest(300_000..<600_000)
    }
    defer { origin.stop() }
    let lab = Lab {
      $0.attempts = 2
      $0.idleTimeout = .seconds(15)
    }
    let sink = MemorySink()
    async let response = lab.fetch(origin.url("/"), to: sink)
    await sink.bytes(reach: 300_000)
    await lab.advance(by: .seconds(15))
    await lab.advance(by: .seconds(15))
    #expect(try await response.status == 200)
    #expect(sink.bytes == Self.whole)
    #expect(sink.openings == 1)
  }

  @Test func `is refused when its whole turns out too large`() async throws {
    let origin = try OriginServer.start { request in
      request.number == 1
        ? .steps([
          .sendBytes(
            OriginResponse.head(200, [Self.tag, ("Transfer-Encoding", "chunked")])
              + Self.chunked(Self.whole[..<300_000], isEnded: false)), .close,
        ]) : Self.rest(300_000..<600_000)
    }
    defer { origin.stop() }
    let lab = Lab {
      $0.attempts = 2
      $0.maxBytes = 500_000
    }
    let failure = try await lab.failure(of: origin.url("/"))
    #expect(failure?.code == "too-large")
    #expect(failure?.disposition == .giveUp)
  }

  @Test func `fails as truncated when nothing of use follows`() async throws {
    let origin = try OriginServer.start { request in
      request.number == 1 ? Self.cut(at: 300_000) : Self.rest(0..<600_000)
    }
    defer { origin.stop() }
    let failure = try await Lab { $0.attempts = 2 }.failure(of: origin.url("/"))
    #expect(failure?.code == "truncated")
    #expect(
      failure?.message.hasPrefix(
        "\(origin.url("/")) broke off, and its rest was not to be had: bytes 0 to 599999 of 600000 "
          + "came instead of those from 300000 (status 206 from 127.0.0.1") == true)
    #expect(failure?.disposition == .retry(notBefore: nil))
  }

  private func digest(of bytes: [UInt8]) -> Digest {
    bytes.withUnsafeBytes { bytes in
      let hash = SHA256()
      hash.update(bytes)
      return hash.finish()
    }
  }
}
