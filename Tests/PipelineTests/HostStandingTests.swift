import LedgerCore
import Pipeline
import Synchronization
import TestSupport
import Testing
import Vocabulary

@Suite struct `What a run has learnt of a host` {
  @Test func `holds the next process as long as the server has asked for, and no longer`()
    async throws
  {
    let first = try await Workshop()
    let origin = try ScriptedOrigin(429, [("Retry-After", "3600")])
    defer { origin.server.stop() }
    #expect(try await first.run(origin.url) == .failed)
    let others = ["b": origin.server.url("/b"), "c": origin.server.url("/c")]
    let second = try await Workshop(beside: first)
    for option in [false, true] {
      let held = try await second.run(others, job: "others") { $0.retryFailed = option }
      #expect(held.errors.mapValues(\.count) == ["postponed": 2], "its server still counts")
    }
    #expect(origin.asked == 1)
    #expect(
      try await second.run(others, job: "others").outcomes[.cooling] == 2, "postponed, not due")
    origin.says()
    first.clock.advance(by: .hours(1))
    let third = try await Workshop(beside: first)
    #expect(try await third.run(others, job: "others").outcomes[.fetched] == 2)
  }

  @Test func `holds it for a day at most`() async throws {
    let shop = try await Workshop()
    let origin = try ScriptedOrigin(503, [("Retry-After", "2147483648")])
    defer { origin.server.stop() }
    #expect(try await shop.run(origin.url) == .failed)
    let tomorrow = shop.clock.now + .days(1)
    let host = try #require(try await shop.worker.ledger.status(at: shop.clock.now).hosts.first)
    #expect(host.standing.heldUntil == tomorrow)
    #expect(try await shop.entry(origin.url)?.failure?.nextTry == tomorrow)
  }

  @Test(.timeLimit(.minutes(1)))
  func `spares a host that cannot be reached, and tries it with one request first`() async throws {
    let first = try await Workshop()
    let gate = OriginGate()
    let isBack = Mutex(false)
    let origin = try OriginServer.start { request in
      guard isBack.withLock({ $0 }) else { return .steps([.reset]) }
      let answer = OriginResponse.ok(PlainPNG.bytes())
      return request.path == "/first" ? .steps([.wait(gate)] + answer.steps) : answer
    }
    defer { origin.stop() }
    func urls(_ name: String, _ count: Int) -> [String: String] {
      Dictionary(uniqueKeysWithValues: (1...count).map { ("\($0)", origin.url("/\(name)\($0)")) })
    }
    let network = #""attempts": 4, "perHost": 2, "backoff": {"initial": "1ms", "max": "2ms"}"#
    let broken = try await first.run(urls("a", 30), network: network)
    #expect(broken.outcomes[.failed] == 30)
    let tries = origin.connections
    #expect((5...6).contains(tries), "one may have been under way when the fifth failed")

    let second = try await Workshop(beside: first)
    let spared = try await second.run(urls("b", 30), network: network, job: "b")
    #expect(spared.errors.mapValues(\.count) == ["postponed": 30])
    #expect(origin.connections == tries)
    let insisting = try await second.run(urls("b", 30), network: network, job: "b") {
      $0.retryFailed = true
    }
    #expect(insisting.errors.mapValues(\.count) == ["connect": 1, "postponed": 29])
    #expect(origin.connections == tries + 1)

    isBack.withLock { $0 = true }
    first.clock.advance(by: .hours(2))
    let third = try await Workshop(beside: first)
    let items = urls("c", 9).merging(["0": origin.url("/first")]) { $1 }
    let before = origin.requests.count
    async let back = third.run(items, network: network, job: "c")
    await origin.requests(reach: before + 1)
    let other = try await Workshop(beside: first)
    let board = RunBoard()
    async let waiting = other.run(urls("d", 3), network: network, job: "d", board: board)
    while board.snapshot.waitsFor != .probe {
      try Task.checkCancellation()
      await Task.yield()
    }
    #expect(origin.requests.count == before + 1)
    gate.open()
    #expect(try await back.outcomes[.fetched] == 10)
    #expect(try await waiting.outcomes[.fetched] == 3)
    #expect(
      try await third.worker.ledger.status(at: third.clock.now).hosts == [], "well again for all")
  }
}
