import Foundation
import Hashing
import LedgerCore
import Pipeline
import TestSupport
import Testing
import Vocabulary

/// `MANIFEST_ITEMS=200000` reads so many in each form; without it, what a debug build does in two seconds.
private let count =
  ProcessInfo.processInfo.environment["MANIFEST_ITEMS"].flatMap { Int($0) } ?? 2_000

/// A list of URLs, every thousandth of no use, in every form that a manifest's items may have.
private enum Form: String, CaseIterable {
  case items, ndjson, csv, text, sitemap, gzip, zstd

  private static let urls: [String] = (0..<count).map { i in
    "\(i % 1000 == 500 ? "ftp" : "http")://h\(i % 7).example/\(i * 7919 % 999_983)/\(i).jpg"
  }

  private static func lines(_ start: String = "", _ end: String = "\n") -> String {
    urls.map { start + $0 + end }.joined()
  }

  var file: String {
    switch self {
    case .items: "none"
    case .ndjson: "list.ndjson"
    case .csv: "list.csv"
    case .text: "list.txt"
    case .sitemap: "list.xml"
    case .gzip: "list.txt.gz"
    case .zstd: "list.ndjson.zst"
    }
  }

  var bytes: [UInt8] {
    switch self {
    case .items: []
    case .ndjson: Array(Self.lines(#"{"url": ""#, "\"}\n").utf8)
    case .csv: Array(("url\r\n" + Self.lines("\"", "\"\r\n")).utf8)
    case .text: Array(Self.lines().utf8)
    case .sitemap:
      Array(
        ("<urlset><url>" + Self.lines("<image><loc>", "</loc></image>\n") + "</url></urlset>").utf8)
    case .gzip: OriginGzip.stored(Form.text.bytes)
    case .zstd: OriginZstd.stored(Form.ndjson.bytes)
    }
  }

  var members: String {
    self == .items
      ? "\"items\": [\(Self.urls.map { "\"\($0)\"" }.joined(separator: ","))]"
      : "\"sources\": [\"\(file)\"]"
  }
}

@Suite struct `Items in every form` {
  /// What the ledger has of a job.
  private struct Taken: Equatable {
    var rows = 0
    var digest: Digest
    var states: [ItemState: Int]
  }

  private func taken(_ job: String, in shop: Workshop) async throws -> Taken {
    let ledger = shop.worker.ledger
    let record = try #require(try await ledger.job(named: job))
    let hash = SHA256()
    var (rows, last) = (0, "")
    while case let page = try await ledger.knownItems(of: record.number, after: last, limit: 5_000),
      let end = page.last
    {
      last = end.view.id.text
      rows += page.count
      let text = page.map { "\($0.view.id) \($0.view.shownURL) \($0.variants ?? [])\n" }.joined()
      Array(text.utf8).withUnsafeBytes { hash.update($0) }
    }
    return Taken(
      rows: rows, digest: hash.finish(),
      states: try await ledger.unsettled(job: record.number, run: RunNumber(0)))
  }

  @Test func `come to the same, and stay the same when they are read again`() async throws {
    let shop = try await Workshop()
    let files = SourceFiles()
    var all: [Taken] = []
    for form in Form.allCases {
      files.write(form.bytes, to: form.file)
      let manifest = files.manifest(form.members, job: form.rawValue)
      for reread in [false, true] {
        #expect(try await shop.enqueue(manifest, reread: reread) == [])
        all.append(try await taken(form.rawValue, in: shop))
      }
    }
    let bad = count / 1000
    #expect(all[0].rows == count)
    #expect(all[0].states.filter { $0.value > 0 } == [.pending: count - bad, .unusable: bad])
    for (i, one) in all.enumerated() {
      #expect(one == all[0], "\(Form.allCases[i / 2]), reading \(i % 2 + 1)")
    }
  }

  @Test func `are one where they stand twice, and the second is told`() async throws {
    let shop = try await Workshop()
    let files = SourceFiles()
    let urls = (0..<100).map { "http://a.example/\($0)" }
    files.write((urls + urls.prefix(30)).joined(separator: "\n"), to: "list.txt")
    let manifest = files.manifest(#""sources": ["list.txt"]"#, job: "twice")
    for _ in 0..<2 {
      #expect(try await shop.enqueue(manifest, reread: true) == [])
      let states = try await taken("twice", in: shop).states.filter { $0.value > 0 }
      #expect(states == [.pending: 100, .unusable: 30])
    }
    let job = try #require(try await shop.worker.ledger.job(named: "twice"))
    let told = try await shop.worker.ledger.unusableItems(of: job.number, limit: 100)
    #expect(told.map(\.id.text) == (101...130).map { "sources[0]:\($0)" })
    let first = EntryKey(try ItemURL(urls[0]))
    #expect(
      told[0].failure?.message
        == "list.txt, line 101: the id \"\(ItemID(bareURLKey: first))\" has been given before")
  }

  @Test func `may be in several sources, and in the manifest besides`() async throws {
    let shop = try await Workshop()
    let files = SourceFiles()
    files.write("id,url\na,http://a.example/1\nb,http://a.example/2\n", to: "one.csv")
    files.write(#"{"id": "b", "url": "http://a.example/3"}"#, to: "two.ndjson")
    let manifest = files.manifest(
      #""items": [{"id": "a", "url": "http://a.example/0"}], "sources": ["one.csv", "two.ndjson"]"#,
      job: "several")
    #expect(try await shop.enqueue(manifest) == [])
    let job = try #require(try await shop.worker.ledger.job(named: "several"))
    let known = try await shop.worker.ledger.knownItems(of: job.number, after: "", limit: 10)
    #expect(
      known.map { "\($0.view.id) \($0.view.shownURL)" } == [
        "a http://a.example/0", "b http://a.example/2", "sources[0]:2 one.csv, line 2",
        "sources[1]:1 two.ndjson, line 1",
      ])
  }

  /// What a source had before it broke off is taken; nothing is taken to have left.
  @Test(arguments: ["list.csv", "list.txt.gz", "list.xml"])
  func `stay where a source is cut short`(file: String) async throws {
    let whole: [String: [UInt8]] = [
      "list.csv": Array("url\nhttp://a.example/1\nhttp://a.example/2\n".utf8),
      "list.txt.gz": OriginGzip.stored(Array("http://a.example/1\nhttp://a.example/2\n".utf8)),
      "list.xml": Array(
        "<urlset><image><loc>http://a.example/1</loc></image><image><loc>http://a.example/2</loc></image></urlset>"
          .utf8),
    ]
    let cut: [String: [UInt8]] = [
      "list.csv": Array("url\nhttp://a.example/3\n\"http://a.example/1".utf8),
      "list.txt.gz": OriginGzip.stored(Array("http://a.example/3\nhttp://a.ex".utf8)).dropLast(),
      "list.xml": Array("<urlset><image><loc>http://a.example/3</loc></image><image><loc>".utf8),
    ]
    let shop = try await Workshop()
    let files = SourceFiles()
    let manifest = files.manifest("\"sources\": [\"\(file)\"]", job: "cut")
    files.write(whole[file]!, to: file)
    #expect(try await shop.enqueue(manifest) == [])
    files.write(cut[file]!, to: file)
    #expect(try await shop.enqueue(manifest).map(\.code) == ["source"])
    let job = try #require(try await shop.worker.ledger.job(named: "cut"))
    #expect(job.identity == nil)
    #expect(job.items == 3)
    files.write(whole[file]!, to: file)
    #expect(try await shop.enqueue(manifest) == [])
    #expect(try await shop.worker.ledger.job(named: "cut")?.items == 2)
  }
}
