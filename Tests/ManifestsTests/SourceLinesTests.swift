import TestSupport
import Testing

@testable import Manifests

@Suite struct `A source of lines` {
  private static let text = [
    SourceRow("plain", "a.txt", "http://a/1\nhttp://a/2\n", "1 - http://a/1", "2 - http://a/2"),
    SourceRow(
      "no end of the last line", "a.txt", "http://a/1\nhttp://a/2", "1 - http://a/1",
      "2 - http://a/2"),
    SourceRow(
      "mark, CRLF, blank lines, blanks and comments", "a.txt",
      "\u{FEFF}# list\r\n\r\n \thttp://a/1#x \r\n  # no\r\nhttp://a/2\r\n", "3 - http://a/1",
      "5 - http://a/2"),
    SourceRow(
      "what is no URL is an item that has failed", "a.txt",
      "s3://b/k\nftp://a/\ndata:,x\nfile:///x\nx\n",
      "1 bad-url", "2 bad-url", "3 bad-url", "4 bad-url", "5 bad-url"),
    SourceRow(
      "what is no UTF-8", "a.txt",
      Array("http://a/".utf8) + [0xFF, 0x0A] + Array("http://a/2".utf8),
      "1! url: is not UTF-8", "2 - http://a/2"),
    SourceRow(
      "a line of over 1 MiB", "a.txt",
      "http://a/1\n" + String(repeating: "x", count: (1 << 20) + 1) + "\nhttp://a/3\n",
      "1 - http://a/1",
      "2! has over 1 MiB", "3 - http://a/3"),
    SourceRow("only comments", "a.txt", "# nothing today\n"),
    SourceRow(
      "a page in its place", "a.txt", "\n<!DOCTYPE html>\n<p>closed",
      "! s: is a web page or XML, and no list of URLs"),
    SourceRow(
      "JSON behind comments, without a name that says so", "list",
      "# made\n\n # today\n{\"url\": \"http://a/1\"}\n", "4 - http://a/1"),
    SourceRow("URLs behind comments", "list", "# made\nhttp://a/1\n", "2 - http://a/1"),
    SourceRow("nothing at all", "a.txt", "", "! s: is empty"),
    SourceRow("UTF-16", "a.txt", [0xFF, 0xFE, 0x68, 0], "! s: is UTF-16: save it as UTF-8"),
    SourceRow("no text", "a.txt", [0x68, 0, 1, 2], "! s: is no text"),
  ]

  private static let json = [
    SourceRow(
      "cut off within a line", "a.ndjson", "\"http://a/1\"\n{\"url\": \"http://a/2",
      "1 - http://a/1",
      "! s, line 2: the text ends within this line: not JSON: lexical error: invalid character inside string."
    ),
    SourceRow(
      "cut off within a URL", "a.ndjson", "\"http://a/1\"\n\"http://a", "1 - http://a/1",
      "! s, line 2: the text ends within this line: not JSON: lexical error: invalid character inside string."
    ),
    SourceRow(
      "a last line without an end that says something wrong", "a.ndjson",
      "\"http://a/1\"\n{\"ulr\": 1}", "1 - http://a/1",
      #"2! ulr: unknown key, did you mean "url"?; url: is missing"#),
    SourceRow(
      "a page in its place", "a.ndjson", "<html>", "! s: is a web page or XML, and no list of URLs"),
    SourceRow(
      "objects, URLs, comments and blank lines", "a.ndjson",
      """
      {"id": "x", "url": "http://a/1", "variants": ["thumb"], "meta": {"k": [1, "\\u00fc"]}}

      # no
      "http://a/2"
       {"url":"http://a/3"} \r

      """, #"1 x http://a/1 thumb {"k":[1,"ü"]}"#, "4 - http://a/2", "5 - http://a/3"),
    SourceRow(
      "lines that are none", "a.jsonl",
      """
      {"url": "http://a/1"
      "id": "x"}
      {"url": "http://a/3", "ulr": 1, "id": 2}
      {"url": "http://a/4", "variants": ["thumbs"]}
      {"url": "http://a/5", "variants": ["big", "big"]}
       [{"url": "http://a/6"}]
      17
      {"url": "http://a/8", "id": "../x"}
      {"url": "http://a/9\\ud83d"}
      {}
      {"url": "http://a/11"}
      {"url": "http://a/12"} {"url": "http://a/12b"} "http://a/12c"
      """, "1! the object has no end",
      "2! not JSON: parse error: unallowed token at this point in JSON text",
      #"3! ulr: unknown key, did you mean "url"?; id: must be a string, not a number"#,
      #"4! variants: unknown variant "thumbs""#, #"5! variants: "big" is given twice"#,
      "6! must be an object or a URL, not an array", "7! must be an object or a URL, not a number",
      #"8! id: "../x": an id must not hold the segment "..""#,
      "9! not JSON: a \\u escape that is half of a surrogate pair", "10! url: is missing",
      "11 - http://a/11", "12! holds more than one item"),
    SourceRow(
      "a line of over 1 MiB", "a.ndjson",
      #"{"url":"http://a/1","meta":""# + String(repeating: "x", count: 1 << 20)
        + "\"}\n\"http://a/2\"",
      "1! has over 1 MiB", "2 - http://a/2"),
    SourceRow(
      "what is no UTF-8", "a.ndjson",
      Array(#"{"url":"http://a/"#.utf8) + [0xC0] + Array("\"}\n\"http://a/2\"".utf8),
      "1! not JSON: lexical error: invalid bytes in UTF8 string.", "2 - http://a/2"),
  ]

  @Test(arguments: ["a.json", "a.jsonl", "feed.gz"])
  func `is no JSON array, and says how to make lines of one`(name: String) {
    let read = readSource(" [\n{\"url\": \"http://a/1\"}\n]\n", named: name)
    #expect(read == ["! s: is a JSON array: write an item on each line, as jq -c '.[]' does"])
  }

  @Test(arguments: text + json) func `gives each line's item or failure`(_ row: SourceRow) {
    #expect(readSource(row.bytes, named: row.name) == row.expected)
    #expect(readSource(row.bytes, named: row.name, most: 1) == row.expected)
  }

  private static let guesses = [
    SourceRow("an object", "feed", "\n {\"url\": \"http://a/1\"}\n", "2 - http://a/1"),
    SourceRow("a string", "feed", "\"http://a/1\"\n", "1 - http://a/1"),
    SourceRow("a header row", "feed", "ID, Url\nx,http://a/1\n", "2 x http://a/1"),
    SourceRow("a quoted header row", "feed", "\"url\",\"id\"\nhttp://a/1,x\n", "2 x http://a/1"),
    SourceRow("a URL", "feed", "http://a/1\n", "1 - http://a/1"),
    SourceRow(
      "a tag", "feed", "<sitemapindex><sitemap><loc>http://a/1</loc></sitemap></sitemapindex>",
      "1> http://a/1"),
    SourceRow("its name first", "a.txt", "{\"url\": \"http://a/1\"}\n", "1 bad-url"),
  ]

  @Test(arguments: guesses) func `is told by its name, or by what it begins with`(_ row: SourceRow)
  {
    #expect(readSource(row.bytes, named: row.name) == row.expected)
  }
}

@Suite struct `A compressed source` {
  private static let list = Array("http://a/1\nhttp://a/2\n".utf8)
  private static let items = ["1 - http://a/1", "2 - http://a/2"]
  private static let packed = [OriginGzip.stored(list), OriginZstd.stored(list)]

  @Test(
    arguments: packed + [
      OriginGzip.stored(Array(list[..<5])) + OriginGzip.stored(Array(list[5...]))
    ])
  func `is told by its bytes, whatever its name`(_ bytes: [UInt8]) {
    for name in ["a.txt.gz", "a.txt.zst", "a.txt", "feed"] {
      #expect(readSource(bytes, named: name) == Self.items)
    }
  }

  @Test(arguments: packed) func `is cut short where its data is`(_ bytes: [UInt8]) {
    for count in [6, bytes.count / 2, bytes.count - 1] {
      let read = readSource(Array(bytes[..<count]), named: "a.txt.gz")
      #expect(read.last == "! s: its compressed data ends too early", "\(count) bytes: \(read)")
    }
  }

  /// A checksum that is another, a block of a kind that there is not, something behind the end.
  private static let damaged: [(bytes: [UInt8], place: Int)] = [
    (packed[0], packed[0].count - 8), (packed[1], 6),
    (packed[0] + [0, 0], packed[0].count), (packed[1] + [0], packed[1].count),
  ]

  @Test(arguments: damaged) func `is damaged where its data is`(_ bytes: [UInt8], at place: Int) {
    var bytes = bytes
    bytes[place] ^= 0x06
    #expect(readSource(bytes, named: "a.txt.gz").last == "! s: its compressed data is damaged")
  }

  @Test func `that grows beyond all measure is given up`() {
    let bomb = OriginZstd.repeated(UInt8(ascii: "x"), blocks: 520)
    let read = readSource(bomb, named: "a.txt.zst")
    #expect(read == ["! s: it decompresses to over 250 times its size"])
  }

  @Test func `is not held where it is one line`() {
    let read = readSource(
      OriginGzip.stored(Array("http://a/1\n".utf8)) + OriginGzip.zeros(8 << 20), named: "a.txt")
    #expect(read == ["1 - http://a/1", "2! has over 1 MiB"])
  }
}
