import LedgerCore
import Testing
import Vocabulary

@Suite struct `A published name` {
  /// As a job with the default template settles it.
  private func settlement(_ scene: Scene, _ claim: Claim) -> Settlement {
    var settlement = scene.fetched(claim)
    for (i, item) in claim.items.enumerated() {
      settlement.items[i].publications?[0].folderOfIDs = "\(item.id).webp/"
    }
    return settlement
  }

  private func settle(_ scene: Scene, _ claim: Claim) async throws -> SettlementReceipt? {
    guard case .committed(let receipt) = try await scene.ledger.settle(settlement(scene, claim))
    else { return nil }
    return receipt
  }

  @Test(arguments: LedgerKind.all)
  func `is not an item's where it is the folder of another's`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    try await scene.read([
      item("a", "https://h.example/1"), item("a.webp/b", "https://h.example/2"),
      item("a.webp", "https://h.example/3"), item("b", "https://h.example/4"),
    ])
    try await scene.beginRun()
    var refused: [String: String] = [:]
    for claim in try await scene.claim().claims {
      let receipt = try #require(try await settle(scene, claim))
      #expect(receipt.items.count == 1)
      refused[claim.items[0].id.text] = receipt.refused.values.first?.code
    }
    #expect(refused == ["a": "bad-item"])
    let view = try await scene.view("a")
    #expect(view.state == .failed && view.published == [] && view.failure?.code == "bad-item")
    // It is told again in the next run, and heals when the manifest does.
    try await scene.beginRun()
    #expect(try await scene.claim().claims.map { $0.items[0].id.text } == ["a"])
  }

  @Test(arguments: LedgerKind.all)
  func `makes room for another's folder`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    try await scene.read([item("a", "https://h.example/1")])
    try await scene.runOnce { settlement($0, $1) }
    let known = [item("a", "https://h.example/1"), item("a.webp/b", "https://h.example/2")]
    try await scene.read(known)
    try await scene.beginRun()
    let claim = try #require(try await scene.claim().claims.first)
    let receipt = try #require(try await settle(scene, claim))
    #expect(receipt.links.map(\.path) == ["thumb/a.webp", "thumb/a.webp/b.webp"])
    #expect(receipt.links.map { $0.object == nil } == [true, false])
    let next = try await scene.claim().claims
    #expect(next.map { $0.items[0].id.text } == ["a"], "within the same run")
  }

  @Test(arguments: LedgerKind.all)
  func `that cannot be made fails its item until the next run`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    try await scene.read([item("a", "https://h.example/1")])
    try await scene.runOnce()
    let links = try await scene.ledger.pendingLinks(limit: 9)
    try await scene.ledger.refuse(links.map { RefusedLink(link: $0, failure: .sample) })
    #expect(try await scene.ledger.pendingLinks(limit: 9) == [])
    let view = try await scene.view("a")
    #expect(view.state == .failed && view.failure == .sample && view.published == [])
    #expect(try await scene.statusOfJob().failed == 1)
    #expect(try await scene.claim().claims.isEmpty)
    try await scene.runOnce()
    #expect(try await scene.view("a").published.count == 1)
  }

  /// Of a worker that was held up between its settlement and its link.
  @Test(arguments: LedgerKind.all)
  func `is seen to again where a link comes late`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    let known = [item("a", "https://h.example/1")]
    try await scene.read(known)
    try await scene.runOnce { $0.fetched($1, body: "old") }
    let late = try await scene.ledger.pendingLinks(limit: 9)
    scene.clock.advance(by: Scene.dayLong)
    try await scene.runOnce { $0.fetched($1, body: "new") }
    let newer = try await scene.ledger.pendingLinks(limit: 9)
    #expect(late.count == 1 && newer.count == 1 && late[0].object != newer[0].object)
    try await scene.ledger.confirm(newer)
    #expect(try await scene.ledger.pendingLinks(limit: 9) == [])
    try await scene.ledger.confirm(late)
    #expect(try await scene.ledger.pendingLinks(limit: 9) == newer, "an old file may stand there")
    try await scene.ledger.confirm(newer)
    // Of an item that has left nothing is to stand.
    let removed = try await scene.read([]).removed
    try await scene.ledger.confirm(removed)
    #expect(try await scene.ledger.pendingLinks(limit: 9) == [])
    try await scene.ledger.confirm(late)
    let leftover = try await scene.ledger.pendingLinks(limit: 9)
    #expect(leftover.map(\.path) == late.map(\.path) && leftover[0].object == nil)
  }

  @Test(arguments: LedgerKind.all)
  func `is another's where only a normal form makes them equal`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    try await scene.read(
      ["e\u{301}", "\u{E9}"].map { item($0, "https://h.example/1") })
    try await scene.beginRun()
    let claim = try #require(try await scene.claim().claims.first)
    let receipt = try #require(try await settle(scene, claim))
    #expect(receipt.items.count == 2 && receipt.links.count == 2)
    try await scene.read([item("\u{E9}", "https://h.example/1")])
    #expect(try await scene.ledger.items(withID: "e\u{301}") == [])
  }
}
