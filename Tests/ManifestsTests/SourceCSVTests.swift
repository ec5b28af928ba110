import TestSupport
import Testing

@testable import Manifests

private func csv(_ note: String, _ text: String, _ expected: String...) -> SourceRow {
  SourceRow(note, "a.csv", Array(text.utf8), expected)
}

@Suite struct `A source in CSV` {
  private static let rows = [
    csv(
      "columns in any order, others into meta",
      "title,URL,Id,variants\nA,http://a/1,x,thumb\n,http://a/2,,\"thumb,big\"\nB \"\"\n",
      #"2 x http://a/1 thumb {"title":"A"}"#, "3 - http://a/2 thumb+big",
      "4! a quote in a field that does not begin with one"),
    csv(
      "names of variants with any separator",
      "url,variants\nhttp://a/1,thumb big\nhttp://a/2,thumb;big\nhttp://a/3,big|thumb\nhttp://a/4,small\n",
      "2 - http://a/1 thumb+big", "3 - http://a/2 thumb+big", "4 - http://a/3 big+thumb",
      #"5! variants: unknown variant "small""#),
    csv(
      "mark, CRLF, blank lines, no end of the last line",
      "\u{FEFF}url\r\n\r\nhttp://a/1\r\n\r\nhttp://a/2", "3 - http://a/1", "5 - http://a/2"),
    csv(
      "quotes: commas, quotes, ends of lines, nothing",
      "id,url,t\n\"x\",\"http://a/1?a,b\",\"say \"\"hi\"\"\r\nand go\"\ny,http://a/2,\"\"\n",
      #"2 x http://a/1?a,b {"t":"say \"hi\"\r\nand go"}"#, "4 y http://a/2"),
    csv(
      "records that are none",
      "id,url\na\nb,http://a/2,c\n\"d\"x,http://a/3\ne,\nf,http://a/5\n\"../g\",http://a/6\n",
      "2! has 1 fields, the header row 2", "3! has 3 fields, the header row 2",
      "4! something follows a field's closing quote", "5! url: is missing", "6 f http://a/5",
      #"7! id: "../g": an id must not hold the segment "..""#),
    csv("a header row alone", "id,url\n"),
    csv("no header row", "", "! s: is empty"),
    csv("no header row but blank lines", "\n\n", "! s: has no header row"),
    csv("no column url", "id,link\n", #"! s, line 1: the header row names no column "url""#),
    csv(
      "a column with a slip", "id,ulr\n", #"! s, line 1: unknown column "ulr", did you mean "url"?"#
    ),
    csv("a column twice", "url,id,URL\n", #"! s, line 1: the column "url" is given twice"#),
    csv(
      "a record cut off at the end", "url,id,t\nhttp://a/1,x,\nhttp://a/2,y", "2 x http://a/1",
      "! s, line 3: the text ends within this line: has 2 fields, the header row 3"),
    csv(
      "too many fields at the end", "url\nhttp://a/1,x", "2! has 2 fields, the header row 1"),
    csv(
      "an open quote at the end", "url\nhttp://a/1\n\"http://a/2\n", "2 - http://a/1",
      "! s, line 3: a quoted field has no end"),
    csv(
      "a record of over 1 MiB in quotes",
      "url,t\nhttp://a/1,\"\(String(repeating: "\"\"a\"\"\n", count: 300_000))\",\"x\ny\"\nhttp://a/2,\n",
      "2! has over 1 MiB", "300004 - http://a/2"),
    csv(
      "a record of over 1 MiB of commas",
      "url,t\n\(String(repeating: "\"\",", count: (1 << 20) + 1))\nhttp://a/2,\n",
      "2! has over 1 MiB", "3 - http://a/2"),
    csv(
      "a record of over 1 MiB without any",
      "url,t\nhttp://a/1,\(String(repeating: "x", count: 1 << 20))\nhttp://a/2,\n",
      "2! has over 1 MiB", "3 - http://a/2"),
  ]

  @Test(arguments: rows) func `gives each record's item or failure`(_ row: SourceRow) {
    #expect(readSource(row.bytes, named: row.name) == row.expected)
    #expect(readSource(OriginGzip.stored(row.bytes), named: "a.csv.gz", most: 1) == row.expected)
  }

  /// However the text is cut into pieces, its records are the same.
  @Test(arguments: [1, 2, 3, 7]) func `does not depend on where pieces end`(size: Int) {
    let text = Array("a,\"b \"\"c\"\",\r\nd\"\r\n\r\n\"\",x\ny\"z,1\ne,f".utf8)
    let records = CSVRecords()
    var out: [String] = []
    func take(_ result: Result<CSVRecords.Record, CSVRecords.Refusal>) {
      switch result {
      case .success(let record):
        out.append(
          "\(records.line): "
            + (0..<record.count).map { String(decoding: record[$0], as: UTF8.self) }
            .joined(separator: "|"))
      case .failure: out.append("\(records.line)!")
      }
    }
    for start in stride(from: 0, to: text.count, by: size) {
      text[start..<min(start + size, text.count)].withUnsafeBytes { records.feed($0, take) }
    }
    records.finish(take)
    #expect(out == ["1: a|b \"c\",\r\nd", "4: |x", "5!", "6: e|f"])
  }
}
