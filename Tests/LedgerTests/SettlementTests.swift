import HTTPCaching
import Hashing
import LedgerCore
import Testing
import Vocabulary

@Suite struct `A settlement` {
  @Test(arguments: LedgerKind.all)
  func `is read back as it was written`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    try await scene.read(items(1))
    try await scene.beginRun()
    let claim = try await scene.claim().claims[0]
    var settlement = scene.fetched(claim)
    settlement.variants.append(
      VariantRecord(
        original: settlement.entry.original!.digest, recipe: RecipeKey(Digest(of: "other")),
        state: .failed(.sample)))
    let links = try #require(try await scene.settle(settlement))
    #expect(try await scene.ledger.entry(claim.lease.entry) == settlement.entry)
    let variants = try await scene.ledger.variants(of: settlement.entry.original!.digest)
    #expect(Set(variants) == Set(settlement.variants))
    let published = try #require(settlement.items[0].publications)
    #expect(
      links
        == published.map {
          LinkTask(job: scene.job, jobName: "catalog", path: $0.path, object: $0.object)
        })
    let view = try await scene.ledger.items(naming: claim.lease.entry)
    #expect(
      view == [
        ItemView(
          job: "catalog", id: claim.items[0].id, url: claim.entry.url,
          shownURL: "\(claim.entry.url)", key: claim.lease.entry, state: .well,
          dueAt: settlement.items[0].dueAt, failure: nil, published: published)
      ])
  }

  @Test(arguments: LedgerKind.all)
  func `that confirms a response moves its freshness and nothing else`(
    _ kind: LedgerKind
  ) async throws {
    var scene = try await Scene(kind)
    try await scene.read(items(1))
    try await scene.runOnce()
    scene.clock.advance(by: .days(2))
    try await scene.beginRun()
    let claim = try await scene.claim().claims[0]
    var confirmed = scene.fetched(claim)
    let since = try #require(claim.entry.response?.responseTime)
    confirmed.entries = [.confirmed(confirmed.entry, since: since)]
    try await scene.settle(confirmed)
    let entry = try #require(try await scene.ledger.entry(claim.lease.entry))
    #expect(entry == confirmed.entry)
    #expect(entry.response?.responseTime == scene.clock.now)
    let view = try await scene.view("sku-0")
    #expect(view.dueAt == confirmed.items[0].dueAt && view.published.count == 1)
    #expect(try await scene.statusOfJob().fresh == 1)
  }

  /// What has become of the entry since the confirmation was asked for.
  private static let meanwhile: [(String, @Sendable (inout Entry) -> Void)] = [
    ("another response is in force", { $0.response?.responseTime = Timestamp(milliseconds: 5) }),
    (
      "it has failed",
      {
        $0.failure = EntryFailure(
          failure: .sample, status: 503, at: $0.validatedAt!, count: 1, nextTry: $0.validatedAt!,
          isServersWord: false, since: $0.validatedAt!)
      }
    ),
    ("it has other bytes", { $0.original?.digest = Digest(of: "others") }),
  ]

  @Test(arguments: meanwhile.indices)
  func `that confirms what no longer stands writes the whole entry`(_ row: Int) async throws {
    var scene = try await Scene(.sqlite)
    try await scene.read(items(1))
    try await scene.runOnce()
    scene.clock.advance(by: .days(2))
    try await scene.beginRun()
    let claim = try await scene.claim().claims[0]
    var other = scene.fetched(claim)
    other.entries = [.stored(claim.entry.changed(by: Self.meanwhile[row].1))]
    other.objects.append(ObjectRecord(digest: Digest(of: "others"), bytes: 1000))
    try await scene.settle(other)

    scene.clock.advance(by: .days(2))
    try await scene.beginRun()
    var late = scene.fetched(try await scene.claim().claims[0])
    let since = try #require(claim.entry.response?.responseTime)
    late.entries = [.confirmed(scene.fetched(claim).entry, since: since)]
    try await scene.settle(late)
    #expect(try await scene.ledger.entry(claim.lease.entry) == late.entry)
  }

  @Test(arguments: LedgerKind.all)
  func `of a redirect keeps its hops`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    try await scene.read([item("a", "https://h.example/old.jpg")])
    try await scene.beginRun()
    let claim = try await scene.claim().claims[0]
    let settlement = redirected(scene, claim, to: "https://h.example/new.jpg?sig=secret")
    try await scene.settle(settlement)
    for case .stored(let entry) in settlement.entries {
      #expect(try await scene.ledger.entry(entry.key) == entry)
    }
  }

  private func redirected(_ scene: Scene, _ claim: Claim, to url: String) -> Settlement {
    var settlement = scene.fetched(claim)
    var target = settlement.entry
    target.url = try! ItemURL(url)
    target.key = EntryKey(target.url)
    var hop = claim.entry
    hop.redirectTarget = target.url
    hop.response = StoredResponse(
      status: 301, fields: HTTPFields(pairs: [("Location", url), ("X", "a: b:c")]),
      requestTime: scene.clock.now, responseTime: scene.clock.now)
    settlement.entries = [.stored(hop), .stored(target)]
    return settlement
  }

  @Test(arguments: LedgerKind.all)
  func `of a failure keeps the response and the published names`(
    _ kind: LedgerKind
  ) async throws {
    var scene = try await Scene(kind)
    try await scene.read(items(1))
    try await scene.runOnce()
    scene.clock.advance(by: Scene.dayLong)
    try await scene.runOnce { $0.failed($1) }
    let view = try await scene.view("sku-0")
    #expect(view.state == .failed && view.failure == .sample)
    #expect(view.published.count == 1)
    let entry = try #require(try await scene.ledger.entry(view.key!))
    #expect(entry.failure?.failure == .sample && entry.failure?.count == 1)
    #expect(entry.response?.status == 200 && entry.original != nil)
  }

  @Test(arguments: LedgerKind.all)
  func `takes names from an item and gives it others`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    try await scene.read(items(1))
    try await scene.runOnce()
    try await scene.ledger.confirm(try await scene.ledger.pendingLinks(limit: 10))
    scene.clock.advance(by: Scene.dayLong)
    try await scene.beginRun()
    let claim = try await scene.claim().claims[0]
    var settlement = scene.fetched(claim)
    let stays = settlement.items[0].publications![0]
    var other = stays
    other.path = "large/sku-0.webp"
    settlement.items[0].publications = [stays, other]
    // What stands already is no task.
    #expect(try await scene.settle(settlement)?.map(\.path) == [other.path])
    try await scene.ledger.confirm(try await scene.ledger.pendingLinks(limit: 10))

    scene.clock.advance(by: Scene.dayLong)
    try await scene.beginRun()
    settlement = scene.fetched(try await scene.claim().claims[0])
    settlement.items[0].publications = [other]
    let tasks = try #require(try await scene.settle(settlement))
    #expect(tasks.map(\.path) == [stays.path] && tasks[0].object == nil)
    #expect(try await scene.view("sku-0").published == [other])
  }

  @Test(arguments: LedgerKind.all)
  func `counts an object once`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    try await scene.read(items(4))
    try await scene.runOnce { $0.fetched($1, body: "the same") }
    let status = try await scene.ledger.status(at: scene.clock.now)
    #expect(status.objectCount == 2 && status.objectBytes == 1100)
  }

  @Test(arguments: LedgerKind.all)
  func `does not answer for an item that changed after its claim`(
    _ kind: LedgerKind
  ) async throws {
    var scene = try await Scene(kind)
    let url = "https://h.example/a.jpg"
    try await scene.read([item("a", url), item("b", url), item("c", url)])
    try await scene.beginRun()
    let claim = try await scene.claim().claims[0]
    try await scene.read([item("a", url, variants: ["new"]), item("b", url)])
    try await scene.settle(scene.fetched(claim))
    #expect(try await scene.view("a").state == .pending)
    #expect(try await scene.view("b").state == .well)
    #expect(try await scene.ledger.items(withID: "c").isEmpty)
    #expect(try await scene.claim().claims.map { $0.items.map(\.id.text) } == [["a"]])
  }
}

@Suite struct `Other jobs` {
  /// Two jobs that name the same URL, both settled.
  private func twoJobs(_ kind: LedgerKind) async throws -> (Scene, Scene) {
    var one = try await Scene(kind)
    try await one.read([item("a", "https://h.example/a.jpg")], name: "one")
    var two = Scene(beside: one)
    try await two.read([item("b", "https://h.example/a.jpg")], name: "two")
    try await one.runOnce()
    try await two.runOnce { $0.fetched($1, lifetime: .hours(100)) }
    try await one.ledger.confirm(try await one.ledger.pendingLinks(limit: 10))
    one.clock.advance(by: Scene.dayLong)
    return (one, two)
  }

  struct Change: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var body: String?
    var etag: String
    var makesDue: Bool
  }

  static let changes = [
    Change(testDescription: "confirmed", etag: "\"1\"", makesDue: false),
    Change(testDescription: "other validators", etag: "\"2\"", makesDue: true),
    Change(testDescription: "other bytes", body: "other", etag: "\"1\"", makesDue: true),
  ]

  @Test(arguments: LedgerKind.all, changes)
  func `look again when an entry of theirs was replaced`(
    _ kind: LedgerKind, _ change: Change
  ) async throws {
    var (one, two) = try await twoJobs(kind)
    try await one.runOnce { $0.fetched($1, body: change.body, etag: change.etag) }
    #expect(try await one.view("b").published.count == 1)
    let count = try await two.runOnce { $0.fetched($1, body: change.body, etag: change.etag) }
    #expect(count == (change.makesDue ? 1 : 0))
    #expect(try await one.runOnce() == 0)
  }

  @Test(arguments: LedgerKind.all)
  func `lose the names of a purged entry and look again`(_ kind: LedgerKind) async throws {
    var (one, two) = try await twoJobs(kind)
    try await one.beginRun()
    let claim = try await one.claim().claims[0]
    let links = try #require(try await one.settle(one.purged(claim)))
    #expect(Set(links.map(\.jobName)) == ["one", "two"])
    #expect(links.allSatisfy { $0.object == nil } && links.count == 2)
    let entry = try #require(try await one.ledger.entry(claim.lease.entry))
    #expect(entry.original == nil && entry.redirectTarget == nil)
    #expect(entry.response?.fields["ETag"] == [])
    #expect(entry.response?.fields["Cache-Control"].last == "no-store")
    #expect(try await one.view("b").published.isEmpty)
    #expect(try await one.view("a").published.isEmpty)
    #expect(try await one.view("a").state == .notStored)
    #expect(try await two.runOnce() == 1)
  }

  @Test(arguments: LedgerKind.all)
  func `follow an entry through the redirects that lead to it`(_ kind: LedgerKind) async throws {
    var direct = try await Scene(kind)
    try await direct.read([item("direct", "https://h.example/a.jpg")], name: "one")
    var moved = Scene(beside: direct)
    try await moved.read([item("moved", "https://h.example/old.jpg")], name: "two")
    try await moved.runOnce { scene, claim in
      var settlement = scene.fetched(claim, lifetime: .hours(100))
      var target = settlement.entry
      target.url = try! ItemURL("https://h.example/a.jpg")
      target.key = EntryKey(target.url)
      var hop = claim.entry
      hop.redirectTarget = target.url
      settlement.entries = [.stored(hop), .stored(target)]
      return settlement
    }
    try await direct.runOnce { $0.purged($1) }
    #expect(try await direct.view("moved").published.isEmpty)
    #expect(try await moved.runOnce() == 1)
  }
}

@Suite struct `Links` {
  @Test(arguments: LedgerKind.all)
  func `stay to be made until they are confirmed, oldest first`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    try await scene.read(items(6))
    try await scene.beginRun()
    var made: [LinkTask] = []
    for claim in try await scene.claim().claims {
      scene.clock.advance(by: .milliseconds(1))
      made += try #require(try await scene.settle(scene.fetched(claim)))
    }
    #expect(try await scene.ledger.pendingLinks(limit: 100) == made)
    #expect(try await scene.ledger.pendingLinks(limit: 2) == Array(made[..<2]))
    try await scene.ledger.confirm(Array(made[1...]))
    #expect(try await scene.ledger.pendingLinks(limit: 100) == [made[0]])
  }

  @Test(arguments: LedgerKind.all)
  func `are not confirmed by the news of an older one`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    try await scene.read(items(1))
    try await scene.beginRun()
    let older = try #require(
      try await scene.settle(scene.fetched(try await scene.claim().claims[0])))
    scene.clock.advance(by: Scene.dayLong)
    try await scene.beginRun()
    let newer = try #require(
      try await scene.settle(scene.fetched(try await scene.claim().claims[0], body: "new")))
    try await scene.ledger.confirm(older)
    #expect(try await scene.ledger.pendingLinks(limit: 10) == newer)
    // A removal that was under way may have hit the new link.
    try await scene.ledger.confirm(newer)
    var removal = newer[0]
    removal.object = nil
    try await scene.ledger.confirm([removal])
    #expect(try await scene.ledger.pendingLinks(limit: 10) == newer)
  }
}

extension Entry {
  fileprivate func changed(by change: (inout Entry) -> Void) -> Entry {
    var changed = self
    change(&changed)
    return changed
  }
}
