import HTTPCaching
import HTTPTransfer
import TestSupport
import Testing
import Vocabulary

@Suite struct `The fields of requests that go out one after the other` {
  struct Row: CustomTestStringConvertible {
    var testDescription: String
    var first: [String]
    var second: [String]
    /// What the second says, without what libcurl adds.
    var expected: [String]
  }

  static let rows = [
    Row(
      testDescription: "are equal", first: ["A: 1", "B: 2"], second: ["A: 1", "B: 2"],
      expected: ["Accept-Encoding: identity", "A: 1", "B: 2"]),
    Row(
      testDescription: "differ in the last", first: ["A: 1", "B: 2"], second: ["A: 1", "B: 3"],
      expected: ["Accept-Encoding: identity", "A: 1", "B: 3"]),
    Row(
      testDescription: "differ in the first", first: ["A: 1", "B: 2"], second: ["A: 2", "B: 2"],
      expected: ["Accept-Encoding: identity", "A: 2", "B: 2"]),
    Row(
      testDescription: "become fewer", first: ["A: 1", "B: 2", "C: 3"], second: ["A: 1"],
      expected: ["Accept-Encoding: identity", "A: 1"]),
    Row(
      testDescription: "become more", first: ["A: 1"], second: ["A: 1", "B: 2", "C: 3"],
      expected: ["Accept-Encoding: identity", "A: 1", "B: 2", "C: 3"]),
    Row(
      testDescription: "are none any more", first: ["A: 1"], second: [],
      expected: ["Accept-Encoding: identity"]),
    Row(
      testDescription: "get one without a value", first: [], second: ["A: "],
      expected: ["Accept-Encoding: identity", "A: "]),
    Row(
      testDescription: "name a coding", first: ["A: 1"], second: ["A: 1", "accept-encoding: br"],
      expected: ["A: 1", "accept-encoding: br"]),
    Row(
      testDescription: "name none any more", first: ["Accept-Encoding: br", "A: 1"],
      second: ["A: 1"], expected: ["Accept-Encoding: identity", "A: 1"]),
    Row(
      testDescription: "name another coding", first: ["Accept-Encoding: br", "A: 1"],
      second: ["Accept-Encoding: gzip", "A: 1"], expected: ["Accept-Encoding: gzip", "A: 1"]),
  ]

  @Test(arguments: rows)
  func `leave nothing of those before`(_ row: Row) async throws {
    let origin = try OriginServer.start { _ in .status(304) }
    defer { origin.stop() }
    // One place: the second request goes out by what the first went out by.
    let engine = TransferEngine(connections: 1)
    defer { engine.stop() }
    for fields in [row.first, row.second] {
      let report = await engine.perform(
        ExchangeRequest(
          url: try ItemURL(origin.url("/")), fields: lines(fields),
          guarding: AddressGuard(allow: [AddressRange("127.0.0.0/8")!]),
          makeSink: { _ in MemorySink() }))
      #expect(report.status == 304)
    }
    let sent = try #require(origin.requests.last).fields.filter {
      $0.name != "Host" && $0.name != "Accept"  // libcurl's own
    }
    #expect(sent.map { "\($0.name): \($0.value)" } == row.expected)
  }

  private func lines(_ texts: [String]) -> [HTTPFields.Line] {
    texts.map { text in
      let colon = text.firstIndex(of: ":")!
      return .init(name: String(text[..<colon]), value: String(text[colon...].dropFirst(2)))
    }
  }
}
