import HTTPCaching
import Hashing
import LedgerCore
import TestSupport
import Testing
import Vocabulary

@testable import Pipeline

@Suite struct `A worker that runs for months` {
  private func ahead(_ number: Int, _ lifetime: Duration) -> Duration {
    RefreshSpread(EntryKey(Digest(of: "\(number)"))).ahead(ofLifetime: lifetime)
  }

  @Test(
    arguments: [
      (.zero, .zero), (.seconds(60), .seconds(6)), (.hours(2), .seconds(720)),
      (.hours(10), .hours(1)), (.days(365), .hours(1)), (.seconds(-5), .zero),
    ] as [(Duration, Duration)])
  func `refreshes early, by a tenth of the lifetime or an hour at most`(
    lifetime: Duration, most: Duration
  ) {
    let all = (0..<10_000).map { ahead($0, lifetime) }
    #expect(all.allSatisfy { $0 >= .zero && ($0 < most || most == .zero) })
  }

  @Test func `spreads what came together evenly`() {
    let minutes = Dictionary(grouping: 0..<60_000) { number in
      ahead(number, .days(1)).wholeMilliseconds / 60_000
    }
    #expect(minutes.count == 60)
    for (minute, numbers) in minutes {
      #expect((850...1150).contains(numbers.count), "minute \(minute): \(numbers.count)")
    }
  }

  @Test func `asks when the time that it has set comes, and a run only after the expiry`()
    async throws
  {
    let shop = try await Workshop()
    let origin = try ScriptedOrigin(200, [("Cache-Control", "max-age=36000"), ("ETag", "\"1\"")])
    defer { origin.server.stop() }
    // Due times are told by the minute: one that is further ahead of the expiry than that.
    let url = try #require(
      try (0..<100).map { "\(origin.url)?\($0)" }.first { url in
        RefreshSpread(EntryKey(try ItemURL(url))).ahead(ofLifetime: .hours(10)) > .seconds(120)
      })
    #expect(try await shop.run(url) { $0.refreshesAhead = true } == .fetched)
    let fetched = shop.clock.now
    let due = try #require(try await shop.worker.ledger.nextDue().first?.dueAt)
    #expect(due > fetched + .hours(9) && due <= fetched + .hours(10) + .seconds(60))
    shop.clock.advance(by: due - fetched)
    #expect(try await shop.run(url) { $0.refreshesAhead = true } == .revalidated)
    let next = try #require(try await shop.worker.ledger.nextDue().first?.dueAt)
    shop.clock.advance(by: next - shop.clock.now)
    #expect(try await shop.run(url) == .fresh)
    #expect(origin.asked == 2)
  }

  @Test(.timeLimit(.minutes(1)))
  func `looks again when the clock went back, and asks for each URL once`() async throws {
    let shop = try await Workshop()
    let origin = try ScriptedOrigin(200, [("Cache-Control", "max-age=3600"), ("ETag", "\"1\"")])
    defer { origin.server.stop() }
    _ = try await shop.run(origin.url)
    origin.says(304)
    for _ in 1...2 {
      try await shop.drain()
      #expect(origin.asked == 1, "nothing is due")
    }
    shop.clock.advance(by: .zero - .days(3650))
    for _ in 1...3 {
      try await shop.drain()
      #expect(origin.asked == 2)
    }
    shop.clock.advance(by: .hours(2))
    try await shop.drain()
    #expect(origin.asked == 3)
  }

  @Test(arguments: ["no-cache", "max-age=0", "no-store"])
  func `does not ask again and again for what expires on arrival`(_ field: String) async throws {
    let shop = try await Workshop()
    let origin = try ScriptedOrigin(200, [("Cache-Control", field), ("ETag", "\"1\"")])
    defer { origin.server.stop() }
    _ = try await shop.run(origin.url) { $0.refreshesAhead = true }
    let due = try #require(try await shop.worker.ledger.nextDue().first?.dueAt)
    #expect(due >= shop.clock.now + RunOptions.leastRefreshInterval)
  }
}
