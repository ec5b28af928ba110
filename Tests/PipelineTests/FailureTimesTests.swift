import HTTPCaching
import LedgerCore
import Pipeline
import Storage
import TestSupport
import Testing
import Vocabulary

@Suite struct `The time of a failure` {
  private let thumb = ["thumb/a.jpg"]

  @Test func `grows with each run that fails, up to a day`() async throws {
    let shop = try await Workshop()
    let origin = try ScriptedOrigin(503)
    defer { origin.server.stop() }
    var rests: [Int64] = []
    for _ in 1...14 {
      #expect(try await shop.run(origin.url) == .failed)
      let failure = try #require(try await shop.entry(origin.url)?.failure)
      let rest = failure.nextTry - shop.clock.now
      rests.append(rest.components.seconds)
      shop.clock.advance(by: rest - .milliseconds(1))
      #expect(try await shop.run(origin.url) == .cooling)
      shop.clock.advance(by: .milliseconds(1))
    }
    #expect(rests.prefix(4) == [30, 60, 120, 240] && rests.suffix(2) == [86_400, 86_400])
    #expect(origin.asked == 14)
    origin.says()
    #expect(try await shop.run(origin.url) == .fetched)
    #expect(try await shop.entry(origin.url)?.failure == nil)
  }

  @Test func `is negativeTTL for what is missing, and a second 404 after it withdraws`()
    async throws
  {
    let shop = try await Workshop()
    let origin = try ScriptedOrigin(200, [("Cache-Control", "no-cache")])
    defer { origin.server.stop() }
    _ = try await shop.run(origin.url)
    origin.says(404)
    #expect(try await shop.run(origin.url) == .failed)
    shop.clock.advance(by: .hours(1) - .milliseconds(1))
    #expect(try await shop.run(origin.url) == .cooling)
    #expect(try await shop.run(origin.url) { $0.retryFailed = true } == .failed)
    #expect(try await shop.published() == thumb, "too early to confirm anything")
    shop.clock.advance(by: .milliseconds(1))
    #expect(try await shop.run(origin.url) { $0.retryFailed = true } == .failed)
    #expect(try await shop.published() == [])
    #expect(try await shop.entry(origin.url)?.original != nil)
  }

  @Test func `is what its server says, for a day at most`() async throws {
    let shop = try await Workshop()
    let origin = try ScriptedOrigin(404, [("Cache-Control", "max-age=864000")])
    defer { origin.server.stop() }
    _ = try await shop.run(origin.url)
    shop.clock.advance(by: .days(1) - .milliseconds(1))
    #expect(try await shop.run(origin.url) { $0.retryFailed = true } == .cooling)
    shop.clock.advance(by: .milliseconds(1))
    origin.says(503, [("Retry-After", "7200")])
    #expect(try await shop.run(origin.url) == .failed)
    shop.clock.advance(by: .hours(2) - .milliseconds(1))
    #expect(try await shop.run(origin.url) { $0.retryFailed = true } == .cooling)
    shop.clock.advance(by: .milliseconds(1))
    #expect(origin.asked == 2)
  }

  @Test func `is the same as if it had never been postponed`() async throws {
    let shop = try await Workshop()
    let origin = try ScriptedOrigin(429, [("Retry-After", "3600")])
    defer { origin.server.stop() }
    let other = origin.server.url("/b")
    #expect(try await shop.run(origin.url) == .failed)
    for _ in 1...3 {
      let held = try await shop.run(["b": other], job: "b") { $0.retryFailed = true }
      #expect(held.errors.keys.sorted() == ["postponed"])
    }
    #expect(origin.asked == 1)
    shop.clock.advance(by: .hours(1))
    origin.says(503)
    #expect(try await shop.run(["b": other], job: "b").outcomes[.failed] == 1)
    let failure = try #require(try await shop.entry(other)?.failure)
    #expect(failure.count == 1 && failure.nextTry == shop.clock.now + .seconds(30))
  }

  @Test func `is over when the clock went back`() async throws {
    let shop = try await Workshop()
    let origin = try ScriptedOrigin(503)
    defer { origin.server.stop() }
    #expect(try await shop.run(origin.url) == .failed)
    #expect(try await shop.run(origin.url) == .cooling)
    shop.clock.advance(by: .zero - .days(3650))
    origin.says()
    #expect(try await shop.run(origin.url) == .fetched)
    #expect(try await shop.run(origin.url) == .fresh && origin.asked == 2)
  }

  @Test func `ends a copy's service when the grace is over, though no try is due`() async throws {
    let shop = try await Workshop()
    let grace = #"{"staleIfError": "10d"}"#
    let origin = try ScriptedOrigin(200, [("Cache-Control", "max-age=60"), ("ETag", "\"1\"")])
    defer { origin.server.stop() }
    _ = try await shop.run(origin.url, cache: grace)
    // It has slept for a month: its grace begins with the first failure.
    shop.clock.advance(by: .days(30))
    origin.says(503)
    #expect(try await shop.run(origin.url, cache: grace) == .failed)
    let end = shop.clock.now + .days(10)
    #expect(try await shop.story(origin.url).views[0].hops[0].servesUntil == end)
    // Its last tries come so late that none is due when the grace ends.
    while try #require(try await shop.entry(origin.url)?.failure?.nextTry) < end {
      let next = try #require(try await shop.entry(origin.url)?.failure?.nextTry)
      shop.clock.advance(by: next - shop.clock.now)
      #expect(try await shop.run(origin.url, cache: grace) == .failed)
      #expect(try await shop.published() == thumb)
    }
    let asked = origin.asked
    shop.clock.advance(by: end - shop.clock.now - .milliseconds(1))
    #expect(try await shop.run(origin.url, cache: grace) == .cooling)
    #expect(try await shop.published() == thumb)
    shop.clock.advance(by: .milliseconds(1))
    #expect(try await shop.run(origin.url, cache: grace) == .cooling)
    #expect(try await shop.published() == [])
    #expect(origin.asked == asked)
    origin.says(304)
    shop.clock.advance(by: .days(1))
    #expect(try await shop.run(origin.url, cache: grace) == .revalidated)
    #expect(try await shop.published() == thumb)
  }
}

@Suite struct `A ring of redirects` {
  @Test func `ends a copy's service when the grace is over`() async throws {
    let shop = try await Workshop()
    let grace = #"{"staleIfError": "1h"}"#
    let origin = try ScriptedOrigin(200, [("Cache-Control", "max-age=60")])
    defer { origin.server.stop() }
    _ = try await shop.run(origin.url, cache: grace)
    shop.clock.advance(by: .days(1))
    origin.says(302, [("Location", "/a")])
    let start = shop.clock.now
    while shop.clock.now < start + .hours(1) {
      #expect(try await shop.run(origin.url, cache: grace) == .failed)
      #expect(try await shop.published() == ["thumb/a.jpg"])
      let failure = try #require(try await shop.entry(origin.url)?.failure)
      #expect(failure.since == start && failure.failure.code == "too-many-redirects")
      shop.clock.advance(by: min(failure.nextTry, start + .hours(1)) - shop.clock.now)
    }
    _ = try await shop.run(origin.url, cache: grace)
    #expect(try await shop.published() == [])
    origin.says()
    shop.clock.advance(by: .days(1))
    #expect(try await shop.run(origin.url, cache: grace) == .fetched)
    #expect(try await shop.published() == ["thumb/a.jpg"])
  }
}

@Suite struct `A run with nothing to do` {
  @Test(.timeLimit(.minutes(1)))
  func `says that it waits for what another holds`() async throws {
    let (shop, board) = (try await Workshop(), RunBoard())
    let origin = try ScriptedOrigin(200, [("Cache-Control", "max-age=60")])
    defer { origin.server.stop() }
    _ = try await shop.run(origin.url)
    shop.clock.advance(by: .days(1))
    let ledger = shop.worker.ledger
    let job = try #require(try await ledger.job(named: "job")).number
    let run = try await ledger.beginRun(job: job, at: shop.clock.now)
    let claim = try #require(
      try await ledger.claim(
        ClaimRequest(
          job: job, run: run, due: DueRule(horizon: shop.clock.now), limit: 1, perHost: 1,
          room: [:], now: shop.clock.now, leaseDuration: .seconds(30))
      ).claims.first)
    async let summary = shop.run(["a": origin.url], board: board)
    let wait = RunWait.leases(1, until: claim.lease.expires)
    while board.snapshot.waitsFor != wait {
      try Task.checkCancellation()
      await Task.yield()
    }
    #expect(origin.asked == 1)
    try await ledger.release([claim.lease])
    #expect(try await summary.outcomes[.revalidated] == 1)
    #expect(board.snapshot.waitsFor == nil)
  }
}

@Suite struct `Objects of a purged copy` {
  @Test func `stay while another worker is about to name them`() async throws {
    let shop = try await Workshop()
    let origin = try ScriptedOrigin(200, [("Cache-Control", "no-cache")])
    defer { origin.server.stop() }
    _ = try await shop.run(origin.url)
    let original = try #require(try await shop.entry(origin.url)?.original)
    // The other one has committed the same bytes and not settled yet.
    let other = try await shop.anotherStore()
    let file = try other.temporaryFile()
    try ScriptedOrigin.picture.withUnsafeBytes { try file.write($0) }
    let staged = StagedObject(file: file, digest: original.digest, bytes: original.bytes)
    try await other.commit([staged])
    origin.says(200, [("Cache-Control", "no-store")])
    #expect(try await shop.run(origin.url) == .notStored)
    #expect(shop.worker.store.contains(original.digest, bytes: original.bytes))
    #expect(try await shop.worker.ledger.pendingRemovals(limit: 10) == [])
    withExtendedLifetime(staged) {}
  }

  @Test func `go at the next run where the one that purged them was killed`() async throws {
    let shop = try await Workshop()
    let origin = try ScriptedOrigin(200, [("Cache-Control", "no-cache")])
    defer { origin.server.stop() }
    _ = try await shop.run(origin.url)
    let entry = try #require(try await shop.entry(origin.url))
    let original = try #require(entry.original)
    // As a run settles it, up to the moment of its death.
    let ledger = shop.worker.ledger
    let job = try #require(try await ledger.job(named: "job")).number
    let run = try await ledger.beginRun(job: job, at: shop.clock.now)
    let claim = try #require(
      try await ledger.claim(
        ClaimRequest(
          job: job, run: run, due: DueRule(horizon: shop.clock.now, takesAll: true), limit: 1,
          perHost: 1, room: [:], now: shop.clock.now, leaseDuration: .seconds(30))
      ).claims.first)
    _ = try await ledger.settle(
      Settlement(
        job: job, run: run, lease: claim.lease, entries: [.purged(entry)],
        items: claim.items.map {
          ItemSettlement(
            item: $0.number, outcome: .notStored, state: .notStored, dueAt: shop.clock.now,
            publications: [])
        }, at: shop.clock.now))
    #expect(shop.worker.store.contains(original.digest, bytes: original.bytes))
    origin.says(404)
    _ = try await shop.run(origin.url)
    #expect(!shop.worker.store.contains(original.digest, bytes: original.bytes))
    #expect(try await ledger.pendingRemovals(limit: 10) == [])
  }
}
