import Fetching
import HTTPCaching
import HTTPTransfer
import Hashing
import TestSupport
import Testing
import Threading
import Vocabulary

@Suite struct `A response` {
  @Test(arguments: [0, 1, 1000, 300_000, 1_000_000])
  func `brings its body byte for byte, with its digest`(_ count: Int) async throws {
    let bytes = sampleBytes(count)
    let origin = try OriginServer.start { _ in .ok(bytes, [("ETag", "\"1\"")]) }
    defer { origin.stop() }
    let sink = MemorySink()
    let response = try await Lab().fetch(origin.url("/"), to: sink)
    let body = try #require(response.body)
    #expect(response.status == 200)
    #expect(response.fields["etag"] == ["\"1\""])
    #expect(sink.bytes == bytes)
    #expect(body.bytes == count)
    #expect(
      body.digest
        == bytes.withUnsafeBytes { bytes in
          let hash = SHA256()
          hash.update(bytes)
          return hash.finish()
        })
    #expect(body.sink === sink)
    #expect(response.bytesIn > count)
    #expect(response.requests == 1)
    #expect(sink.openings == 1)
  }

  @Test func `tells when the request left and when its head came`() async throws {
    let origin = try OriginServer.start { _ in .ok("x") }
    defer { origin.stop() }
    let before = Timestamp(milliseconds: WallClock.system.milliseconds())
    let response = try await Lab().fetch(origin.url("/"))
    let after = Timestamp(milliseconds: WallClock.system.milliseconds())
    #expect(before <= response.requestTime)
    #expect(response.requestTime <= response.responseTime)
    #expect(response.responseTime <= after)
  }

  struct Frame: CustomTestStringConvertible {
    let testDescription: String
    let response: OriginResponse
    /// The body, or the code of the failure.
    let expected: Result<String, Code>

    struct Code: Error, Equatable {
      let code: String
      init(_ code: String) { self.code = code }
    }

    init(_ name: String, _ response: OriginResponse, _ expected: Result<String, Code>) {
      testDescription = name
      self.response = response
      self.expected = expected
    }
  }

  static let frames: [Frame] = [
    Frame(
      "HTTP/1.0 to the connection's end", .raw("HTTP/1.0 200 OK\r\n\r\nhello"), .success("hello")),
    Frame("chunked", .raw(chunked("5\r\nhello\r\n0\r\n\r\n")), .success("hello")),
    Frame(
      "chunked with a trailer", .raw(chunked("5\r\nhello\r\n0\r\nX-A: b\r\n\r\n")),
      .success("hello")),
    Frame(
      "chunked with a contradicting length: the chunks count",
      .raw(chunked("5\r\nhello\r\n0\r\n\r\n", "Content-Length: 3\r\n")), .success("hello")),
    Frame("chunked, cut within a chunk", .raw(chunked("9\r\nhel")), .failure(.init("truncated"))),
    Frame(
      "chunked, without its last chunk", .raw(chunked("5\r\nhello\r\n")),
      .failure(.init("truncated"))),
    Frame(
      "chunked, with no number", .raw(chunked("zz\r\nhello\r\n")), .failure(.init("truncated"))),
    Frame(
      "an interim response first",
      .raw(
        "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"),
      .success("hi")),
    Frame(
      "a folded header line",
      .raw("HTTP/1.1 200 OK\r\nX-A: b\r\n c\r\nContent-Length: 2\r\n\r\nhi"), .success("hi")),
    Frame(
      "a body shorter than its length", .raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"),
      .failure(.init("truncated"))),
    Frame("a reset before the head", .steps([.reset]), .failure(.init("connect"))),
    Frame("nothing at all", .steps([.close]), .failure(.init("connect"))),
    Frame(
      "half a head", .raw("HTTP/1.1 200 OK\r\nContent-Le"), .failure(.init("connect"))),
    Frame(
      "two lengths",
      .raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 5\r\n\r\nhello"),
      .failure(.init("protocol"))),
    Frame(
      "a negative length", .raw("HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nhello"),
      .failure(.init("protocol"))),
    Frame("no HTTP", .raw("SSH-2.0-OpenSSH_9.2\r\n"), .failure(.init("protocol"))),
    Frame(
      "a header line without a name", .raw("HTTP/1.1 200 OK\r\n: x\r\n\r\n"),
      .failure(.init("protocol"))),
    Frame(
      "an unknown encoding",
      .raw("HTTP/1.1 200 OK\r\nContent-Encoding: rot13\r\nContent-Length: 2\r\n\r\nhi"),
      .failure(.init("unsupported-encoding"))),
    Frame(
      "two encodings",
      .raw("HTTP/1.1 200 OK\r\nContent-Encoding: gzip, gzip\r\nContent-Length: 2\r\n\r\nhi"),
      .failure(.init("unsupported-encoding"))),
    Frame(
      "two encodings on two lines",
      .raw(
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Encoding: br\r\nContent-Length: 2\r\n\r\nhi"
      ),
      .failure(.init("unsupported-encoding"))),
    Frame(
      "an encoded body that is not",
      .raw("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello"),
      .failure(.init("protocol"))),
    Frame(
      "a transfer encoding other than chunked",
      .raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
      .failure(.init("protocol"))),
  ]

  private static func chunked(_ chunks: String, _ fields: String = "") -> String {
    "HTTP/1.1 200 OK\r\n\(fields)Transfer-Encoding: chunked\r\n\r\n\(chunks)"
  }

  @Test(arguments: frames)
  func `is whole or refused`(_ row: Frame) async throws {
    let origin = try OriginServer.start { _ in row.response }
    defer { origin.stop() }
    let sink = MemorySink()
    do throws(FetchFailure) {
      let response = try await Lab().fetcher.fetch(try! Lab().request(origin.url("/"), to: sink))
      #expect(response.body?.bytes == sink.bytes.count)
      #expect(row.expected == .success(String(decoding: sink.bytes, as: UTF8.self)))
    } catch {
      #expect(row.expected == .failure(.init(error.code)), "\(error.message)")
    }
  }

  @Test func `that is reset within its body is refused`() async throws {
    // The client's system throws away what it has not read when the reset comes.
    let gate = OriginGate()
    let origin = try OriginServer.start { _ in
      .steps([
        .send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"), .wait(gate), .reset,
      ])
    }
    defer { origin.stop() }
    let sink = MemorySink()
    async let failure = Lab().failure(of: origin.url("/"), to: sink)
    await sink.bytes(reach: 5)
    gate.open()
    #expect(try await failure?.code == "truncated")
  }

  @Test func `that is encoded all the same is decoded, its length compared on the wire`()
    async throws
  {
    let bytes = sampleBytes(200_000)
    let packed = OriginGzip.stored(bytes)
    let origin = try OriginServer.start { _ in .ok(packed, [("Content-Encoding", "gzip")]) }
    defer { origin.stop() }
    let sink = MemorySink()
    let response = try await Lab().fetch(origin.url("/"), to: sink)
    #expect(sink.bytes == bytes)
    #expect(response.body?.bytes == bytes.count)
  }

  @Test func `that packs very well is none the worse for it`() async throws {
    let flat = OriginGzip.zeros(2_000_000)
    let origin = try OriginServer.start { _ in .ok(flat, [("Content-Encoding", "gzip")]) }
    defer { origin.stop() }
    let response = try await Lab().fetch(origin.url("/"))
    #expect(response.body?.bytes == 2_000_000)
    #expect(response.bytesIn < 20_000)
  }

  @Test func `that unpacks beyond the limit is stopped there`() async throws {
    let bomb = OriginGzip.zeros(4_000_000)
    let origin = try OriginServer.start { _ in .ok(bomb, [("Content-Encoding", "gzip")]) }
    defer { origin.stop() }
    var lab = Lab()
    lab.settings.maxBytes = 1 << 20
    let sink = MemorySink()
    let failure = try await lab.failure(of: origin.url("/a.jpg"), to: sink)
    #expect(failure?.code == "too-large")
    #expect(
      failure?.message.hasPrefix(origin.url("/a.jpg") + " sent more than 1 MiB") == true)
    #expect(failure?.hint == "raise network.maxBytes for this job, or drop the item")
    #expect(sink.bytes.count <= 1 << 20)
  }

  @Test func `whose length is over the limit is refused before its body`() async throws {
    let origin = try OriginServer.start { _ in
      .steps([.send("HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n"), .hang])
    }
    defer { origin.stop() }
    var lab = Lab()
    lab.settings.maxBytes = 1000
    let sink = MemorySink()
    let failure = try await lab.failure(of: origin.url("/"), to: sink)
    #expect(failure?.code == "too-large")
    #expect(failure?.disposition == .giveUp)
    #expect(sink.openings == 0)
  }

  @Test func `without end stops at the limit`() async throws {
    let origin = try OriginServer.start { _ in
      .steps([
        .send("HTTP/1.1 200 OK\r\n\r\n"),
        .trickle(String(repeating: "x", count: 10_000), every: .zero),
      ])
    }
    defer { origin.stop() }
    var lab = Lab()
    lab.settings.maxBytes = 500_000
    let sink = MemorySink()
    #expect(try await lab.failure(of: origin.url("/"), to: sink)?.code == "too-large")
    #expect(sink.bytes.count <= 500_000)
  }

  @Test func `that the sink refuses ends with the sink's own failure`() async throws {
    let full = FailureRecord(
      code: "disk-full", message: "no space left", hint: "free some", disposition: .stopRun)
    let bytes = sampleBytes(100_000)
    let origin = try OriginServer.start { _ in .ok(bytes) }
    defer { origin.stop() }
    let failure = try await Lab().failure(of: origin.url("/"), to: MemorySink(refusing: full))
    #expect(failure.map { FailureRecord($0) } == full)
  }

  struct Refused: CustomTestStringConvertible {
    let status: Int
    let body: String
    var testDescription: String { "\(status) with \(body.prefix(12))" }
  }

  @Test(arguments: [
    Refused(status: 404, body: "<!DOCTYPE html><p>no"), Refused(status: 403, body: "{\"e\":1}"),
    Refused(status: 301, body: "moved"), Refused(status: 206, body: "part"),
    Refused(status: 410, body: ""),
    Refused(status: 418, body: String(repeating: "t", count: 5_000_000)),
  ])
  func `of any other status is returned without its body`(_ row: Refused) async throws {
    let origin = try OriginServer.start { _ in .status(row.status, Array(row.body.utf8)) }
    defer { origin.stop() }
    let sink = MemorySink()
    let response = try await Lab().fetch(origin.url("/"), to: sink)
    #expect(response.status == row.status)
    #expect(response.body == nil)
    #expect(response.firstBytes == Array(row.body.utf8.prefix(64)))
    #expect(sink.openings == 0)
    #expect(response.bytesIn < 1_000_000)
  }

  @Test func `that refuses says what it was in its failure`() async throws {
    let origin = try OriginServer.start { _ in .status(404, Array("<!DOCTYPE html>".utf8)) }
    defer { origin.stop() }
    let url = try ItemURL(origin.url("/a.jpg?sig=geheim"))
    let failure = try await Lab().fetch(url.unredactedText).statusFailure(of: url)
    #expect(failure.code == "http-404")
    #expect(
      failure.message
        == "\(origin.url("/a.jpg"))?sig=REDACTED (127.0.0.1) answered 404, with HTML")
    #expect(failure.disposition == .retry(notBefore: nil))
  }
}
