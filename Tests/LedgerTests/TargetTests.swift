import Hashing
import LedgerCore
import Testing
import Vocabulary

@Suite struct `A redirect's target` {
  private func key(_ name: String) throws -> EntryKey {
    EntryKey(try ItemURL("https://t.example/\(name)"))
  }

  private func lease(
    _ target: EntryKey, for held: [Lease], in scene: Scene
  ) async throws -> TargetLease {
    try await scene.ledger.lease(
      target, for: held, run: scene.run, until: scene.clock.now + .seconds(30),
      at: scene.clock.now)
  }

  private func granted(
    _ target: EntryKey, for held: [Lease], in scene: Scene
  ) async throws -> Lease? {
    guard case .granted(let lease) = try await lease(target, for: held, in: scene) else {
      return nil
    }
    return lease
  }

  @Test(arguments: LedgerKind.all)
  func `is one claim's at a time, until that settles or its lease ends`(_ kind: LedgerKind)
    async throws
  {
    var scene = try await Scene(kind)
    try await scene.read(items(2))
    try await scene.beginRun()
    let claims = try await scene.claim().claims
    let target = try key("t")
    let lease = try #require(try await granted(target, for: [claims[0].lease], in: scene))
    let until = scene.clock.now + .seconds(30)
    #expect(
      try await self.lease(target, for: [claims[1].lease], in: scene) == .held(until: until))
    var settlement = scene.fetched(claims[0])
    settlement.targets = [lease]
    try await scene.settle(settlement)
    #expect(try await granted(target, for: [claims[1].lease], in: scene) != nil)
    scene.clock.advance(by: .seconds(30))
    var later = Scene(beside: scene)
    later.job = scene.job
    try await later.beginRun()
    let next = try #require(try await later.claim().claims.first)
    #expect(try await granted(target, for: [next.lease], in: later) != nil)
    var late = scene.fetched(claims[1])
    late.targets = [lease]
    #expect(try await scene.settle(late) == nil, "a lease that has passed on settles nothing")
  }

  @Test(arguments: LedgerKind.all)
  func `is not claimed as an item meanwhile`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    try await scene.read([item("a", "https://a.example/"), item("t", "https://t.example/t")])
    try await scene.beginRun()
    let claims = try await scene.claim().claims.sorted { $0.items[0].id < $1.items[0].id }
    try await scene.ledger.release([claims[1].lease])
    let lease = try #require(
      try await granted(claims[1].entry.key, for: [claims[0].lease], in: scene))
    #expect(try await scene.claim().claims.isEmpty)
    var settlement = scene.fetched(claims[0])
    settlement.targets = [lease]
    try await scene.settle(settlement)
    #expect(try await scene.claim().claims.map { $0.items[0].id.text } == ["t"])
  }

  @Test(arguments: LedgerKind.all)
  func `is waited for by nobody whom its holder waits for`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    try await scene.read(items(3))
    try await scene.beginRun()
    let claims = try await scene.claim().claims
    let held = TargetLease.held(until: scene.clock.now + .seconds(30))
    // The first waits for the second, that for the third.
    #expect(
      try await lease(claims[1].entry.key, for: [claims[0].lease], in: scene) == held)
    #expect(
      try await lease(claims[2].entry.key, for: [claims[1].lease], in: scene) == held)
    #expect(
      try await lease(claims[0].entry.key, for: [claims[2].lease], in: scene) == .wouldDeadlock)
    // The second has given up waiting: nothing closes a ring any more.
    #expect(try await granted(key("free"), for: [claims[1].lease], in: scene) != nil)
    #expect(
      try await lease(claims[0].entry.key, for: [claims[2].lease], in: scene) == held)
  }
}
