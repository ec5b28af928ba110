import Hashing
import LedgerCore
import Testing
import Vocabulary

@Suite struct `Reading a manifest` {
  @Test(arguments: LedgerKind.all)
  func `makes new items pending and due at once`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    try await scene.read(items(5))
    let job = try await scene.statusOfJob()
    #expect((job.items, job.pending, job.fresh) == (5, 5, 0))
    #expect(try await scene.view("sku-3").url?.unredactedText == "https://h0.example/3.jpg")
    #expect(try await scene.ledger.status(at: scene.clock.now).queuePending == 5)
  }

  @Test(arguments: LedgerKind.all)
  func `keeps the job's head and the manifest's identity`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    #expect(try await scene.ledger.job(named: "catalog") == nil)
    try await scene.read(items(2), settings: #"{"a":1}"#)
    let job = try #require(try await scene.ledger.job(named: "catalog"))
    #expect(
      job
        == JobRecord(
          number: scene.job, name: "catalog", identity: .sample, settings: #"{"a":1}"#,
          settingsDigest: Digest(of: #"{"a":1}"#), items: 2))
  }

  @Test(arguments: LedgerKind.all)
  func `does not count as done before its end`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    try await scene.read(items(10))
    let ticket = try await scene.ledger.beginIngest(
      name: "catalog", settings: "{}", settingsDigest: Digest(of: "{}"), at: scene.clock.now)
    _ = try await scene.ledger.ingest(items(3), bad: [], ticket: ticket)
    #expect(try await scene.ledger.job(named: "catalog")?.identity == nil)
    #expect(try await scene.statusOfJob().items == 10)
    // The next reading completes what that one left.
    try await scene.read(items(12))
    #expect(try await scene.ledger.job(named: "catalog")?.identity == .sample)
    #expect(try await scene.statusOfJob().items == 12)
  }

  @Test(arguments: LedgerKind.all)
  func `leaves unchanged items as they are`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    try await scene.read(items(50))
    try await scene.runOnce()
    let read = try await scene.read(items(50).reversed())
    #expect(read.again.isEmpty && read.removed.isEmpty)
    #expect(try await scene.statusOfJob().fresh == 50)
    try await scene.beginRun()
    #expect(try await scene.claim().claims.isEmpty)
  }

  struct Change: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var item: ItemEntry
    var isDue: Bool
    var state: ItemState
  }

  static let changes = [
    Change(
      testDescription: "another URL", item: item("a", "https://h.example/new.jpg"), isDue: true,
      state: .pending),
    Change(
      testDescription: "other variants",
      item: item("a", "https://h.example/a.jpg", variants: ["large"]), isDue: true, state: .well),
    Change(
      testDescription: "no variants",
      item: item("a", "https://h.example/a.jpg", variants: []), isDue: true, state: .well),
    Change(
      testDescription: "other meta", item: item("a", "https://h.example/a.jpg", meta: "{}"),
      isDue: false, state: .well),
  ]

  @Test(arguments: LedgerKind.all, changes)
  func `makes changed items due at once`(_ kind: LedgerKind, _ change: Change) async throws {
    var scene = try await Scene(kind)
    try await scene.read([item("a", "https://h.example/a.jpg")])
    try await scene.runOnce()
    try await scene.read([change.item])
    let view = try await scene.view("a")
    #expect(view.state == change.state)
    #expect(view.url == change.item.url)
    #expect((view.dueAt <= scene.clock.now) == change.isDue)
    try await scene.beginRun()
    let claims = try await scene.claim().claims
    #expect(
      claims.map { $0.items.map(\.variants) } == (change.isDue ? [[change.item.variants]] : []))
  }

  @Test(arguments: LedgerKind.all)
  func `reports ids that it met before and keeps the first`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    let twice = [
      item("b", "https://h.example/1.jpg"), item("a", "https://h.example/2.jpg"),
      item("b", "https://h.example/3.jpg"), item("c", "https://h.example/4.jpg"),
    ]
    for _ in 1...2 {
      let read = try await scene.read(twice, bad: [badItem("a")])
      #expect(read.again.map(\.text) == ["b", "a"])
      #expect(try await scene.statusOfJob().items == 3)
      #expect(try await scene.view("b").url?.unredactedText == "https://h.example/1.jpg")
    }
  }

  @Test(arguments: LedgerKind.all)
  func `makes every item due when the settings changed`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    try await scene.read(items(30), bad: [badItem("bad")])
    try await scene.runOnce()
    try await scene.read(items(30), bad: [badItem("bad")], settings: #"{"variants":[]}"#)
    let job = try await scene.statusOfJob()
    #expect((job.stale, job.fresh, job.failed) == (30, 0, 1))
    #expect(try await scene.runOnce() == 30)
    #expect(try await scene.statusOfJob().fresh == 30)
  }

  @Test(arguments: LedgerKind.all)
  func `keeps unusable items as failed ones that are never claimed`(
    _ kind: LedgerKind
  ) async throws {
    var scene = try await Scene(kind)
    try await scene.read(items(1), bad: [badItem("bad")])
    let view = try await scene.view("bad")
    #expect(view.state == .unusable && view.url == nil && view.key == nil)
    #expect(view.failure?.code == "bad-url")
    #expect(try await scene.ledger.unusableItems(of: scene.job, limit: 5) == [view])
    #expect(try await scene.runOnce(rule: DueRule(horizon: scene.clock.now, takesAll: true)) == 1)
    // It becomes usable and unusable again by the manifest alone.
    try await scene.read(items(1) + [item("bad", "https://h.example/x.jpg")])
    #expect(try await scene.view("bad").state == .pending)
    #expect(try await scene.runOnce() == 1)
    try await scene.read(items(1), bad: [badItem("bad")])
    #expect(try await scene.view("bad").state == .unusable)
    #expect(try await scene.runOnce() == 0)
    let job = try await scene.statusOfJob()
    #expect((job.items, job.fresh, job.failed) == (2, 1, 1))
  }

  @Test(arguments: LedgerKind.all, [true, false])
  func `removes what left the manifest`(_ kind: LedgerKind, prune: Bool) async throws {
    var scene = try await Scene(kind)
    try await scene.read(items(5))
    try await scene.runOnce()
    let links = try await scene.ledger.pendingLinks(limit: 10)
    try await scene.ledger.confirm(links)
    let read = try await scene.read([items(5)[1], items(5)[4]], prune: prune)
    let gone = ["thumb/sku-0.webp", "thumb/sku-2.webp", "thumb/sku-3.webp"]
    #expect(read.removed.map(\.path).sorted() == (prune ? gone : []))
    #expect(read.removed.allSatisfy { $0.object == nil && $0.jobName == "catalog" })
    #expect(
      try await scene.ledger.pendingLinks(limit: 10).map(\.path).sorted() == (prune ? gone : []))
    try await scene.ledger.confirm(read.removed)
    #expect(try await scene.ledger.pendingLinks(limit: 10).isEmpty)
    let job = try await scene.statusOfJob()
    #expect((job.items, job.fresh) == (2, 2))
    #expect(try await scene.ledger.items(withID: "sku-0").isEmpty)
    // It comes back as a new one.
    try await scene.read(items(5))
    #expect(try await scene.statusOfJob().pending == 3)
    #expect(try await scene.runOnce() == 3)
  }

  @Test(arguments: LedgerKind.all)
  func `lets the reading that began last decide`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    let older = try await scene.ledger.beginIngest(
      name: "catalog", settings: "{}", settingsDigest: Digest(of: "{}"), at: scene.clock.now)
    _ = try await scene.ledger.ingest(items(2), bad: [], ticket: older)
    try await scene.read(items(10))
    await #expect(throws: LedgerFailure.self) {
      try await scene.ledger.finishIngest(older, identity: nil, prune: true)
    }
    #expect(try await scene.statusOfJob().items == 10)
  }
}
