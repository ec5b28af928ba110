import Glibc
import LedgerCore
import Synchronization
import TestSupport
import Testing
import Vocabulary

@testable import Pipeline

@Suite struct `Manifests on the queue` {
  private final class Told: Sendable {
    private let told = Mutex<[FailureRecord]>([])

    func add(_ failure: FailureRecord) { told.withLock { $0.append(failure) } }

    /// Codes since the last time.
    func codes() -> [String] {
      told.withLock { told in
        defer { told = [] }
        return told.map(\.code)
      }
    }
  }

  /// A list at a URL; nil: its server fails.
  private final class Feed: Sendable {
    let list = Mutex<String?>("http://a.example/1\n")

    func says(_ text: String?) { list.withLock { $0 = text } }

    func answer(_ request: OriginServer.Request) -> OriginResponse {
      guard let text = list.withLock({ $0 }) else { return .status(503) }
      let tag = "\"\(text.utf8.reduce(0) { $0 &* 31 &+ Int($1) })\""
      if request["If-None-Match"] == tag { return .status(304, [], [("ETag", tag)]) }
      return .ok(text, [("ETag", tag)])
    }
  }

  private let shop: Workshop
  private let files = SourceFiles()
  private let told: Told
  private let watch: ManifestWatch

  init() async throws {
    let (shop, told) = (try await Workshop(), Told())
    self.shop = shop
    self.told = told
    watch = ManifestWatch(
      worker: shop.worker, environment: [:], tell: { _, failure in told.add(failure) },
      isStopped: { false })
  }

  private var identity: ManifestIdentity? {
    get async throws { try await shop.worker.ledger.job(named: "job")?.identity }
  }

  /// Sets when a file was written, by the test's clock.
  private func age(_ name: String, by seconds: Int) {
    let then = timeval(
      tv_sec: Int(shop.clock.now.milliseconds / 1000) - seconds, tv_usec: 0)
    utimes(files.path(name), [then, then])
  }

  private func putOnQueue(_ members: String) async throws {
    #expect(try await shop.enqueue(files.manifest(members)) == [])
    await watch.look()
  }

  @Test func `are followed where they change, and where a file does that they name`() async throws {
    files.write("http://a.example/1\n", to: "list.txt")
    try await putOnQueue(#""sources": ["list.txt"]"#)
    #expect(try await shop.items() == ["http://a.example/1"])
    files.write("http://a.example/1\nhttp://a.example/2\n", to: "list.txt")
    await watch.look()
    #expect(try await shop.items() == ["http://a.example/1", "http://a.example/2"])
    _ = files.manifest(#""items": [{"id": "a", "url": "http://a.example/3"}]"#)
    await watch.look()
    #expect(try await shop.items() == ["http://a.example/3"])
    #expect(told.codes() == [])
  }

  @Test func `are not read where only their time has changed`() async throws {
    try await putOnQueue(#""items": [{"id": "a", "url": "http://a.example/1"}]"#)
    let generation = try await generation()
    let before = try #require(try await identity)
    age("job.json", by: 60)
    await watch.look()
    let after = try #require(try await identity)
    #expect(after.digest == before.digest)
    #expect(after.modifiedNanoseconds != before.modifiedNanoseconds)
    #expect(try await self.generation() == generation + 1)
  }

  /// The number of a reading that begins, and is given up.
  private func generation() async throws -> Int64 {
    let record = try #require(try await shop.worker.ledger.job(named: "job"))
    let identity = try #require(record.identity)
    let ticket = try await shop.worker.ledger.beginIngest(
      name: "job", settings: record.settings, settingsDigest: record.settingsDigest,
      at: shop.clock.now)
    try await shop.worker.ledger.keep(identity, of: record.number)
    return ticket.generation
  }

  @Test func `are left alone until they rest`() async throws {
    try await putOnQueue(#""items": [{"id": "a", "url": "http://a.example/1"}]"#)
    _ = files.manifest(#""items": [{"id": "a", "url": "http://a.example/2"}]"#)
    age("job.json", by: 4)
    await watch.look()
    #expect(try await shop.items() == ["http://a.example/1"])
    shop.clock.advance(by: .seconds(1))
    await watch.look()
    #expect(try await shop.items() == ["http://a.example/2"])
  }

  @Test func `have their sources at URLs asked once an hour`() async throws {
    let feed = Feed()
    let origin = try OriginServer.start { feed.answer($0) }
    defer { origin.stop() }
    try await putOnQueue("\"sources\": [\"\(origin.url("/feed"))\"]")
    #expect(origin.requests.count == 1)
    shop.clock.advance(by: .hours(1) - .milliseconds(1))
    await watch.look()
    #expect(origin.requests.count == 1)
    shop.clock.advance(by: .milliseconds(1))
    for _ in 1...2 { await watch.look() }
    #expect(origin.requests.count == 2 && origin.requests[1]["If-None-Match"] != nil)
    feed.says("http://a.example/2\n")
    await watch.look()
    #expect(try await shop.items() == ["http://a.example/1"])
    shop.clock.advance(by: .hours(1))
    await watch.look()
    #expect(try await shop.items() == ["http://a.example/2"] && told.codes() == [])
  }

  @Test func `keep what they have while a source fails, which is said once`() async throws {
    let feed = Feed()
    let origin = try OriginServer.start { feed.answer($0) }
    defer { origin.stop() }
    try await putOnQueue("\"sources\": [\"\(origin.url("/feed"))\"]")
    feed.says(nil)
    for codes in [["source"], []] {
      shop.clock.advance(by: .hours(1))
      for _ in 1...2 { await watch.look() }
      #expect(told.codes() == codes)
    }
    #expect(origin.requests.count == 3)
    feed.says("http://a.example/2\n")
    shop.clock.advance(by: .hours(1))
    await watch.look()
    #expect(try await shop.items() == ["http://a.example/2"])
  }

  @Test func `are tried again where a new source of theirs could not be had`() async throws {
    let feed = Feed()
    let origin = try OriginServer.start { feed.answer($0) }
    defer { origin.stop() }
    try await putOnQueue(#""items": [{"id": "a", "url": "http://b.example/1"}]"#)
    feed.says(nil)
    _ = files.manifest("\"sources\": [\"\(origin.url("/feed"))\"]")
    for _ in 1...2 { await watch.look() }
    #expect(told.codes() == ["source"] && origin.requests.count == 1)
    #expect(try await identity == nil)
    #expect(try await shop.items() == ["http://b.example/1"])
    feed.says("http://a.example/1\n")
    shop.clock.advance(by: .hours(1))
    await watch.look()
    #expect(try await shop.items() == ["http://a.example/1"])
    #expect(try await identity?.sources.count == 1)
  }

  struct Fault: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var codes: [String]
    fileprivate var make: @Sendable (SourceFiles) -> Void
  }

  static let faults = [
    Fault(testDescription: "has a mistake", codes: ["manifest"]) {
      $0.write("{\"version\": 1", to: "job.json")
    },
    Fault(testDescription: "is another job's", codes: ["manifest"]) {
      $0.write(#"{"version": 1, "name": "other", "items": []}"#, to: "job.json")
    },
    Fault(testDescription: "has lost a source", codes: ["manifest"]) {
      unlink($0.path("list.txt"))
    },
    Fault(testDescription: "is gone", codes: []) { unlink($0.path("job.json")) },
  ]

  @Test(arguments: faults)
  func `leave their job as it is where one`(_ fault: Fault) async throws {
    let members = #""sources": ["list.txt"]"#
    files.write("http://a.example/1\n", to: "list.txt")
    try await putOnQueue(members)
    let before = try await identity
    fault.make(files)
    for _ in 1...3 { await watch.look() }
    #expect(told.codes() == fault.codes)
    #expect(try await shop.items() == ["http://a.example/1"] && before != nil)
    #expect(try await identity == before)
    #expect(try await shop.worker.ledger.job(named: "other") == nil)

    files.write("http://a.example/2\n", to: "list.txt")
    _ = files.manifest(members)
    await watch.look()
    #expect(try await shop.items() == ["http://a.example/2"] && told.codes() == [])
  }

  @Test func `of paused jobs are not looked at`() async throws {
    try await putOnQueue(#""items": [{"id": "a", "url": "http://a.example/1"}]"#)
    let ledger = shop.worker.ledger as! any LedgerHousekeeping
    _ = try await ledger.setPaused(true, job: "job")
    _ = files.manifest(#""items": [{"id": "a", "url": "http://a.example/2"}]"#)
    await watch.look()
    #expect(try await shop.items() == ["http://a.example/1"])
    _ = try await ledger.setPaused(false, job: "job")
    await watch.look()
    #expect(try await shop.items() == ["http://a.example/2"])
  }
}
