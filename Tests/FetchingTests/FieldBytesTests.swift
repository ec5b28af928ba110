import Fetching
import HTTPCaching
import HTTPTransfer
import TestSupport
import Testing
import Vocabulary

@Suite struct `A field's bytes` {
  /// Every byte that a value may hold, but for blanks at its ends.
  static let all = Array("\"".utf8) + (0x21...0xFF).filter { $0 != 0x7F } + Array("\"".utf8)

  @Test func `come as scalars and go back as they came`() async throws {
    let origin = try OriginServer.start { request in
      guard request["if-none-match"] == nil else { return .status(304) }
      return .steps([
        .sendBytes(
          Array("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nETag: ".utf8) + Self.all
            + Array("\r\n\r\nx".utf8))
      ])
    }
    defer { origin.stop() }
    let lab = Lab()
    let response = try await lab.fetch(origin.url("/"))
    let tag = try #require(response.fields["ETag"].first)
    #expect(tag.unicodeScalars.map(\.value) == Self.all.map(UInt32.init))
    var request = try lab.request(origin.url("/"))
    request.conditions = HTTPFields(pairs: [("If-None-Match", tag)])
    #expect(try await lab.fetcher.fetch(request).status == 304)
    #expect(origin.requests.last?.bytes(of: "If-None-Match") == Self.all)
  }

  /// Of one length: a value is never taken for the one before it, whose text has these bytes as UTF-8.
  @Test func `are told from those of the response before`() async throws {
    let tags: [[UInt8]] = [
      Array("\"ab\u{e9}cdefghijklmnop\"".utf8),
      [UInt8]("\"ab".utf8) + [0xE9] + [UInt8]("cdefghijklmnop\"".utf8),
      Array("\"ab\u{e9}cdefghijklmnop\"".utf8),
    ]
    let origin = try OriginServer.start { request in
      .steps([
        .sendBytes(
          Array("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nETag: ".utf8) + tags[request.number - 1]
            + Array("\r\n\r\nx".utf8))
      ])
    }
    defer { origin.stop() }
    let lab = Lab(.init(connections: 1))
    for tag in tags {
      #expect(try await lab.fetch(origin.url("/")).fields["ETag"].first?.fieldBytes == tag)
    }
  }

  @Test func `of a job's own headers are its text in UTF-8`() async throws {
    let origin = try OriginServer.start { _ in .ok("x") }
    defer { origin.stop() }
    var lab = Lab()
    lab.settings.userAgent = "müller/1"
    lab.settings.headers = [.init(name: "X-Shop", value: "Müller 猫")]
    let response = try await lab.fetch(origin.url("/"))
    let seen = try #require(origin.requests.first)
    #expect(seen.bytes(of: "X-Shop") == Array("Müller 猫".utf8))
    #expect(seen.bytes(of: "User-Agent") == Array("müller/1".utf8))
    #expect(response.requestFields["X-Shop"].first?.fieldBytes == Array("Müller 猫".utf8))
  }

  @Test func `beyond a byte are no field's`() async throws {
    let lab = Lab()
    var request = try lab.request("http://127.0.0.1:1/")
    request.conditions = HTTPFields(pairs: [("If-None-Match", "\"猫\"")])
    await #expect(throws: FetchFailure.self) { try await lab.fetcher.fetch(request) }
  }
}
