import TestSupport
import Testing

@testable import Manifests

@Suite struct `A manifest's syntax` {
  @Test(arguments: [
    Row("", "the file is empty"),
    Row("{", "line 1, column 1: not JSON: the text ends too early"),
    Row("{\"version\": 1", "line 1, column 13: not JSON: the text ends too early"),
    Row(
      "{\"version\": 1}\n\n x", "line 3, column 2: not JSON: parse error: trailing garbage"),
    Row("{\"version\": 1} {}", "line 1, column 16: not JSON: parse error: trailing garbage"),
    Row(
      "{\n  \"version\": 1,\n  \"items\": [\"a\",\n    ]\n}",
      "line 4, column 5: not JSON: parse error: unallowed token at this point in JSON text"),
    Row(
      "{\n  \"version\": 1,\n}",
      "line 3, column 1: not JSON: parse error: invalid object key (must be a string)"),
    Row(
      "{\n  \"version\": 1 // one\n}",
      "line 2, column 15: not JSON: lexical error: probable comment found in input text, comments "
        + "are not enabled."),
    Row(
      "{\n  \"versiün\" 1\n}",
      "line 2, column 13: not JSON: parse error: object key and value must be separated by a colon "
        + "(':')"),
    Row(
      "{\n  \"ü\": abc\n}", "line 2, column 8: not JSON: lexical error: invalid char in json text."),
    Row(
      "{\n  \"version\": \"a\nb\"\n}",
      "line 2, column 15: not JSON: lexical error: invalid character inside string."),
    Row("[1]", "line 1, column 1: a manifest must be an object, not an array"),
    Row("\"a\"", "line 1, column 3: a manifest must be an object, not a string"),
    Row("17", "line 1, column 2: a manifest must be an object, not a number"),
    Row(
      "{\"version\": 1, \"items\": [], \"items\": []}",
      "line 1, column 38: \"items\" is given twice"),
  ])
  func `is reported with line and column`(row: Row) {
    #expect(problems(row.text) == row.lines)
  }

  @Test(arguments: [
    ("\\ud800", 28), ("\\ud83dx", 28), ("\\ud83d\\u0041", 33), ("\\ude00", 27), ("\\uD83D\\n", 29),
    ("\\ud83d\\ud83d", 33),
  ])
  func `is at fault where an escape is half of a character`(text: String, column: Int) {
    #expect(
      problems("{\"version\": 1, \"x\": \"\(text)\"}").map { $0.prefix { $0 != ":" } } == [
        "line 1, column \(column)"
      ])
    #expect(
      problems("{\"version\": 1, \"items\": [\"http://a.example/\(text)\"]}").first?
        .hasSuffix("not JSON: a \\u escape that is half of a surrogate pair") == true)
  }

  @Test func `may hold whole characters as escapes, and escaped backslashes`() {
    let good = "\\ud83d\\ude00\\\\ud800\\\"\\u00e9\\\\\\uD83D\\uDE00"
    #expect(
      problems("{\"version\": 1, \"name\": \"a\", \"$schema\": \"\(good)\"}") == [])
  }

  @Test func `is at fault where a string is no UTF-8`() {
    let text = Array("{\"version\": 1, \"items\": [\"http://a.example/".utf8)
    for bad in [[0xFF], [0xC3, 0x28], [0xED, 0xA0, 0x80], [0xC0, 0xAF]] as [[UInt8]] {
      let said = problems(ManifestTestFile(text + bad + Array("\"]}".utf8)))
      let isPlaced =
        said.first?.hasPrefix("line 1, column ") == true || said == ["items[0].url: is not UTF-8"]
      #expect(said.count == 1 && isPlaced, "\(bad): \(said)")
    }
  }

  @Test func `comes with the faults that were found in the items before`() {
    #expect(
      problems("{\"items\": [17, {\"ulr\": \"x\"},") == [
        "line 1, column 28: not JSON: the text ends too early",
        "items[0]: must be an object or a URL, not a number",
        "items[1].ulr: unknown key, did you mean \"url\"?",
        "items[1].url: is missing",
      ])
  }

  @Test func `may start with a byte order mark, which counts for no column`() {
    #expect(problems("\u{FEFF}{\"version\": 1, \"name\": \"a\"}") == [])
    #expect(
      problems("\u{FEFF}{\"version\": 1, \"name\": }").first?.hasPrefix("line 1, column 24: ")
        == true)
  }

  @Test func `is UTF-8 and nothing else`() {
    let utf16 = ManifestTestFile([0xFF, 0xFE, 0x7B, 0, 0x7D, 0])
    #expect(problems(utf16) == ["the file is UTF-16: save it as UTF-8"])
    let latin1 = ManifestTestFile(Array("{\"version\": 1, \"name\": \"".utf8) + [0xFC, 0x22, 0x7D])
    #expect(
      problems(latin1) == [
        "line 1, column 25: not JSON: lexical error: invalid bytes in UTF8 string."
      ])
  }

  /// yajl lets these pass.
  @Test(arguments: [[0xC0, 0xAF], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80]] as [[UInt8]])
  func `is UTF-8 in the strict sense`(bytes: [UInt8]) {
    func document(_ before: String, _ after: String) -> ManifestTestFile {
      ManifestTestFile(Array(before.utf8) + bytes + Array(after.utf8))
    }
    #expect(
      problems(document("{\"version\": 1, \"items\": [\"http://a/", "\"]}")) == [
        "items[0].url: is not UTF-8"
      ])
    #expect(
      problems(document("{\"version\": 1, \"items\": [{\"url\": \"\", \"id\": \"", "\"}]}")) == [
        "items[0].id: is not UTF-8"
      ])
    #expect(
      problems(
        document("{\"version\": 1, \"items\": [{\"url\": \"\", \"meta\": {\"a\": \"", "\"}}]}"))
        == [
          "items[0].meta: is not UTF-8"
        ])
    #expect(
      problems(document("{\"version\": 1, \"name\": \"", "\"}")).first?.hasSuffix(
        "a string that is not UTF-8") == true)
  }

  @Test func `is bounded in depth`() {
    func nested(_ depth: Int) -> String {
      "{\"version\": 1, \"items\": [{\"url\": \"http://a/\", \"meta\": "
        + String(repeating: "[", count: depth) + String(repeating: "]", count: depth) + "}]}"
    }
    #expect(problems(nested(61)) == [])
    #expect(
      problems(nested(62)) == [
        "line 1, column 116: arrays and objects within each other over 64 deep"
      ])
    #expect(problems(nested(100_000)).count == 1)
  }

  @Test func `holds no string over 1 MiB, and none is kept to find that out`() {
    let long = String(repeating: "x", count: (1 << 20) + 1)
    #expect(
      problems("{\"version\": 1, \"items\": [\"\(long)\"]}").first?.hasSuffix(
        "a string of over 1 MiB") == true)
    #expect(
      problems("{\"version\": 1, \"name\": \"\(long)\(long)").first?.hasSuffix(
        "a string or a gap of over 1 MiB") == true)
  }

  @Test func `is read alike wherever its pieces are cut`() throws {
    let item = "{\"id\":\"ä\\u00e4\\n-%\",\"url\":\"http://a.example/ü%\",\"meta\":[1.50,\"\\\"\"]}"
    let items = (0..<3000).map { i in
      item.split(separator: "%", omittingEmptySubsequences: false).joined(separator: "\(i)")
    }
    let file = ManifestTestFile(
      "{\"version\":1,\"name\":\"a\",\"items\":[\(items.joined(separator: ","))]}")
    // An id must not hold a line break: each item says so, with its number.
    let lines = problems(file)
    #expect(lines.count == 101)
    #expect(lines[99] == "items[99].id: \"ää\\u{a}-99\": an id must not hold control characters")
    #expect(lines.last == "and 2900 more problems")
  }
}
