import LedgerCore
import Manifests
import Pipeline
import Storage
import Synchronization
import TestSupport
import Testing
import Vocabulary

/// A site whose lists are what a test says, with an entity tag each, and 304 to whoever has it.
private final class ListSite: Sendable {
  private struct Page {
    var body: [UInt8]
    var fields: [(String, String)] = []
    var status = 200
  }

  private final class Pages: Sendable {
    private let pages = Mutex<[String: Page]>([:])

    func set(_ path: String, _ page: Page) { pages.withLock { $0[path] = page } }

    func answer(_ request: OriginServer.Request) -> OriginResponse {
      guard let page = pages.withLock({ $0[request.path] }) else { return .status(404) }
      guard page.status == 200 else { return .status(page.status, [], page.fields) }
      let tag = "\"\(page.body.reduce(page.body.count) { $0 &* 31 &+ Int($1) })\""
      if request["If-None-Match"] == tag { return .status(304, [], [("ETag", tag)]) }
      return .ok(page.body, page.fields + [("ETag", tag)])
    }
  }

  private let pages: Pages
  let server: OriginServer

  init() throws {
    let pages = Pages()
    self.pages = pages
    server = try OriginServer.start { pages.answer($0) }
  }

  deinit { server.stop() }

  func url(_ path: String) -> String { server.url(path) }

  func says(_ path: String, _ body: [UInt8], _ fields: [(String, String)] = []) {
    pages.set(path, Page(body: body, fields: fields))
  }

  func says(_ path: String, _ body: String, _ fields: [(String, String)] = []) {
    says(path, Array(body.utf8), fields)
  }

  func fails(_ path: String, _ status: Int, _ fields: [(String, String)] = []) {
    pages.set(path, Page(body: [], fields: fields, status: status))
  }

  /// An index of sitemaps of one image each.
  func saysIndex(_ path: String, of children: [String]) {
    let list = children.map { "<sitemap><loc>\(url($0))</loc></sitemap>" }.joined()
    says(path, "<sitemapindex>\(list)</sitemapindex>")
  }

  func saysSitemap(_ path: String, _ image: String) {
    says(path, "<urlset><url><image><loc>\(image)</loc></image></url></urlset>")
  }

  /// What was asked since the last time, in the order of paths: `200 /feed` where it came without
  /// validators, else `304? /feed`.
  func asked() -> [String] {
    let all = server.requests
    defer { seen.withLock { $0 = all.count } }
    return all.dropFirst(seen.withLock { $0 })
      .map { ($0["If-None-Match"] == nil ? "whole " : "changed? ") + $0.path }.sorted()
  }

  private let seen = Mutex(0)
}

@Suite struct `A source at a URL` {
  private let site: ListSite
  private let shop: Workshop
  private let files = SourceFiles()

  init() async throws {
    site = try ListSite()
    shop = try await Workshop()
  }

  private func manifest(_ paths: String..., and file: String? = nil) -> String {
    let all = paths.map { "\"\(site.url($0))\"" } + (file.map { ["\"\($0)\""] } ?? [])
    return files.manifest("\"sources\": [\(all.joined(separator: ", "))]")
  }

  @Test func `costs one 304 while it is unchanged`() async throws {
    site.says("/feed.csv", "id,url\na,http://a.example/1\n")
    let manifest = manifest("/feed.csv")
    #expect(try await shop.enqueue(manifest) == [])
    #expect(site.asked() == ["whole /feed.csv"])
    let read = try #require(try await shop.worker.ledger.job(named: "job")?.identity)
    #expect(try await shop.enqueue(manifest) == [])
    #expect(site.asked() == ["changed? /feed.csv"])
    #expect(try await shop.worker.ledger.job(named: "job")?.identity == read)
    site.says("/feed.csv", "id,url\nb,http://a.example/2\n")
    #expect(try await shop.enqueue(manifest) == [])
    #expect(site.asked() == ["changed? /feed.csv"])
    #expect(try await shop.items() == ["http://a.example/2"])
  }

  @Test func `keeps its items while its server fails`() async throws {
    site.says("/feed", "http://a.example/1\nhttp://a.example/2\n")
    files.write("http://b.example/1\nhttp://b.example/2\n", to: "list.txt")
    let manifest = manifest("/feed", and: "list.txt")
    #expect(try await shop.enqueue(manifest) == [])
    site.fails("/feed", 503)
    let failures = try await shop.enqueue(manifest)
    #expect(failures.map(\.code) == ["source"])
    #expect(failures.first?.message.contains("/feed (127.0.0.1) answered 503") == true)
    // What has changed beside it is taken over all the same.
    files.write("http://b.example/2\n", to: "list.txt")
    #expect(try await shop.enqueue(manifest).count == 1)
    #expect(
      try await shop.items() == [
        "http://a.example/1", "http://a.example/2", "http://b.example/2",
      ])
  }

  @Test func `leaves everything as it is where nothing of it was ever read`() async throws {
    files.write("http://b.example/1\nhttp://b.example/2\n", to: "list.txt")
    #expect(try await shop.enqueue(files.manifest(#""sources": ["list.txt"]"#)) == [])
    files.write("http://b.example/2\n", to: "list.txt")
    site.fails("/feed", 500)
    #expect(try await shop.enqueue(manifest("/feed", and: "list.txt")).count == 1)
    #expect(try await shop.items() == ["http://b.example/1", "http://b.example/2"])
    #expect(try await shop.worker.ledger.job(named: "job")?.identity == nil)
  }

  @Test func `is told where it is no list`() async throws {
    site.says("/empty", "")
    site.says("/html", "<html>Sorry</html>")
    site.fails("/loop", 302, [("Location", "/loop")])
    site.fails("/away", 302, [("Location", "http://169.254.1.1/latest")])
    for (path, words) in [
      ("/empty", "sent an empty body"), ("/html", "this is no sitemap"), ("/loop", "redirects"),
      ("/away", "169.254.1.1, a link-local address"),
    ] {
      let failures = try await shop.enqueue(manifest(path))
      #expect(failures.first?.message.contains(words) == true, "\(failures)")
    }
    #expect(try await shop.items() == [])
  }

  @Test func `is read where its redirect leads, and known by what that says`() async throws {
    site.fails("/feed", 302, [("Location", "/today")])
    site.says("/today", OriginGzip.stored(Array("http://a.example/1\n".utf8)))
    for words in ["whole", "changed?"] {
      #expect(try await shop.enqueue(manifest("/feed")) == [])
      #expect(site.asked() == ["\(words) /feed", "\(words) /today"])
    }
    #expect(try await shop.items() == ["http://a.example/1"])
  }

  @Test func `is not kept where its server forbids it`() async throws {
    site.says("/feed", "http://a.example/1\n", [("Cache-Control", "private, No-Store")])
    for _ in 0..<2 {
      #expect(try await shop.enqueue(manifest("/feed")) == [])
      #expect(site.asked() == ["whole /feed"])
      #expect(StorageTemporaryFolder.names(in: shop.root.sources) == [])
    }
    #expect(try await shop.items() == ["http://a.example/1"])
  }

  @Test func `is forgotten when no job has had it for long`() async throws {
    for path in ["/one", "/two"] { site.says(path, "http://a.example\(path)\n") }
    let ledger = shop.worker.ledger as! any Ledger & LedgerHousekeeping
    let keeper = Housekeeper(ledger: ledger, store: shop.worker.store, clock: shop.clock.wall)
    #expect(try await shop.enqueue(manifest("/one", "/two")) == [])
    func kept() -> Int { StorageTemporaryFolder.names(in: shop.root.sources).count }
    #expect(kept() == 4)
    #expect(try await shop.enqueue(manifest("/two")) == [])
    // The test's clock is ahead of the disk's: all was written long ago.
    var rule = CollectionRule()
    rule.retain = .zero
    _ = try await GarbageCollection(keeper: keeper, rule: rule, wanted: nil).run()
    #expect(kept() == 2)
    _ = site.asked()
    #expect(try await shop.enqueue(manifest("/two")) == [])
    #expect(site.asked() == ["changed? /two"])
  }

  @Test func `may be an index: each of its sitemaps costs a 304 as well`() async throws {
    site.saysIndex("/index.xml", of: ["/1.xml", "/2.xml", "/1.xml", "/more.xml"])
    site.saysIndex("/more.xml", of: ["/3.xml"])
    for i in 1...3 { site.saysSitemap("/\(i).xml", "http://a.example/\(i)") }
    let manifest = manifest("/index.xml")
    let paths = ["/1.xml", "/2.xml", "/3.xml", "/index.xml", "/more.xml"]
    #expect(try await shop.enqueue(manifest) == [])
    #expect(site.asked() == paths.map { "whole \($0)" })
    #expect(try await shop.enqueue(manifest) == [])
    #expect(site.asked() == paths.map { "changed? \($0)" })
    #expect(try await shop.items() == (1...3).map { "http://a.example/\($0)" })

    site.saysSitemap("/2.xml", "http://a.example/4")
    #expect(try await shop.enqueue(manifest) == [])
    #expect(site.asked() == paths.map { "changed? \($0)" })
    #expect(try await shop.items() == [1, 3, 4].map { "http://a.example/\($0)" })

    site.fails("/3.xml", 404)
    site.saysIndex("/index.xml", of: ["/2.xml", "/more.xml"])
    #expect(try await shop.enqueue(manifest).count == 1)
    #expect(try await shop.items() == [3, 4].map { "http://a.example/\($0)" })
  }

  @Test func `goes no deeper than three indexes`() async throws {
    for i in 1...4 { site.saysIndex("/\(i).xml", of: ["/\(i + 1).xml"]) }
    let failures = try await shop.enqueue(manifest("/1.xml"))
    #expect(site.asked() == (1...3).map { "whole /\($0).xml" })
    #expect(failures.first?.message.contains("3 deep") == true, "\(failures)")
  }
}
