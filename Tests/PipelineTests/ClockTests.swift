import LedgerCore
import Pipeline
import Synchronization
import TestSupport
import Testing
import Vocabulary

/// What must not wait for years because the clock was years ahead, and was set right.
@Suite struct `When the clock went back` {
  private static let back: Duration = .zero - .days(3650)

  @Test(.timeLimit(.minutes(1)))
  func `a host that could not be reached is tried within the hour`() async throws {
    let first = try await Workshop()
    let isBack = Mutex(false)
    let origin = try OriginServer.start { _ in
      isBack.withLock { $0 } ? .ok(PlainPNG.bytes()) : .steps([.reset])
    }
    defer { origin.stop() }
    let urls = Dictionary(uniqueKeysWithValues: (1...8).map { ("\($0)", origin.url("/\($0)")) })
    #expect(try await first.run(urls).outcomes[.failed] == 8)
    first.clock.advance(by: Self.back)
    let second = try await Workshop(beside: first)
    let tries = origin.connections
    #expect(try await second.run(urls).errors.mapValues(\.count) == ["postponed": 8])
    #expect(origin.connections == tries)
    isBack.withLock { $0 = true }
    first.clock.advance(by: .hours(1))
    let third = try await Workshop(beside: first)
    #expect(try await third.run(urls).outcomes[.fetched] == 8)
  }

  @Test func `what no job needs is kept for its time from then on`() async throws {
    let shop = try await Workshop()
    let origin = try ScriptedOrigin(200, [("Cache-Control", "max-age=86400")])
    defer { origin.server.stop() }
    let keeper = Housekeeper(
      ledger: try #require(shop.worker.ledger as? any Ledger & LedgerHousekeeping),
      store: shop.worker.store, clock: shop.clock.wall)
    func collect() async throws -> CollectionSummary {
      try await GarbageCollection(keeper: keeper, rule: CollectionRule(), wanted: nil).run()
    }
    _ = try await shop.run(["a": origin.url, "b": origin.server.url("/b")])
    _ = try await shop.run(["a": origin.url])
    #expect(try await collect().unneeded == 1)
    shop.clock.advance(by: Self.back)
    #expect(try await collect().expired == 0)
    shop.clock.advance(by: .days(30) - .milliseconds(1))
    #expect(try await collect().expired == 0)
    shop.clock.advance(by: .milliseconds(1))
    #expect(try await collect().expired == 1)
  }
}
