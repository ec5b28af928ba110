import HTTPCaching
import Testing

@testable import HTTPTransfer

@Suite struct `Heads that come one after the other` {
  struct Row: CustomTestStringConvertible {
    var testDescription: String
    /// The lines behind the status line.
    var first: [String]
    var second: [String]
    /// Of the second, as `name=value`.
    var expected: [String]
  }

  static let rows = [
    Row(
      testDescription: "are equal", first: ["A: 1", "B: 2"], second: ["A: 1", "B: 2"],
      expected: ["A=1", "B=2"]),
    Row(
      testDescription: "differ in a value", first: ["A: 1", "B: 2"], second: ["A: 3", "B: 2"],
      expected: ["A=3", "B=2"]),
    Row(
      testDescription: "have other lines of equal length", first: ["A: 1", "B: 2"],
      second: ["B: 2", "A: 1"], expected: ["B=2", "A=1"]),
    Row(
      testDescription: "become shorter", first: ["A: 1", "B: 2", "C: 3"], second: ["A: 1"],
      expected: ["A=1"]),
    Row(
      testDescription: "become longer", first: ["A: 1"], second: ["A: 1", "B: 2"],
      expected: ["A=1", "B=2"]),
    Row(
      testDescription: "had a folded line", first: ["A: 1", " 2"], second: ["A: 1"],
      expected: ["A=1"]),
    Row(
      testDescription: "get a folded line", first: ["A: 1"], second: ["A: 1", " 2"],
      expected: ["A=1 2"]),
    Row(
      testDescription: "are folded alike", first: ["A: 1", " 2"], second: ["A: 1", " 2"],
      expected: ["A=1 2"]),
    Row(testDescription: "lose every line", first: ["A: 1"], second: [], expected: []),
  ]

  @Test(arguments: rows)
  func `leave nothing of the one before`(_ row: Row) {
    var head = HTTPTransfer.ResponseHead()
    #expect(head.feed(row.first) == .complete)
    head.reset()
    #expect(head.feed(row.second) == .complete)
    #expect(head.lines.map { "\($0.name)=\($0.value)" } == row.expected)
  }

  @Test func `leave nothing of one that broke off`() {
    var head = HTTPTransfer.ResponseHead()
    #expect(head.feed(["A: 1", "B: 2", "C: 3"]) == .complete)
    head.reset()
    #expect(head.take("HTTP/1.1 200 OK") == .more)
    #expect(head.take("X: 9") == .more)
    head.reset()
    #expect(head.feed(["A: 1", "B: 2"]) == .complete)
    #expect(head.lines.map { "\($0.name)=\($0.value)" } == ["A=1", "B=2"])
  }

  @Test func `leave nothing of an interim one`() {
    var head = HTTPTransfer.ResponseHead()
    #expect(head.take("HTTP/1.1 103 Early Hints") == .more)
    #expect(head.take("Link: x") == .more)
    #expect(head.take("Via: y") == .more)
    #expect(head.take("") == .more)
    #expect(head.feed(["A: 1"]) == .complete)
    #expect(head.lines.map { "\($0.name)=\($0.value)" } == ["A=1"])
  }
}

extension HTTPTransfer.ResponseHead {
  fileprivate mutating func take(_ line: String) -> Progress {
    Array("\(line)\r\n".utf8).withUnsafeBytes { take($0) }
  }

  /// A whole head with these lines.
  fileprivate mutating func feed(_ lines: [String]) -> Progress {
    _ = take("HTTP/1.1 200 OK")
    for line in lines { _ = take(line) }
    return take("")
  }
}
