import HTTPCaching
import LedgerCore
import Pipeline
import TestSupport
import Testing
import Vocabulary

@Suite struct `The time of a stored copy` {
  struct Row: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var fields: [(String, String)]
    var lifetime: Duration
  }

  static let rows = [
    Row(
      testDescription: "max-age", fields: [("Cache-Control", "max-age=3600")],
      lifetime: .seconds(3600)),
    Row(
      testDescription: "max-age and Age",
      fields: [("Cache-Control", "max-age=3600"), ("Age", "600")], lifetime: .seconds(3000)),
    Row(
      testDescription: "Expires by a clock two hours behind",
      fields: [
        ("Date", "Fri, 15 Jan 2027 06:00:00 GMT"), ("Expires", "Fri, 15 Jan 2027 06:01:00 GMT"),
      ], lifetime: .seconds(60)),
    Row(
      testDescription: "a tenth of ten hours",
      fields: [
        ("Date", "Fri, 15 Jan 2027 08:00:00 GMT"),
        ("Last-Modified", "Thu, 14 Jan 2027 22:00:00 GMT"),
      ], lifetime: .hours(1)),
    Row(testDescription: "the default", fields: [], lifetime: .days(7)),
  ]

  @Test(arguments: rows)
  func `ends to the millisecond, and no look moves it`(_ row: Row) async throws {
    let shop = try await Workshop()
    let origin = try ScriptedOrigin(200, row.fields)
    defer { origin.server.stop() }
    #expect(try await shop.run(origin.url) == .fetched)
    let third = Duration.milliseconds(row.lifetime.wholeMilliseconds / 3)
    for part in [third, row.lifetime - third - .milliseconds(1)] {
      shop.clock.advance(by: part)
      #expect(try await shop.run(origin.url) == .fresh)
      #expect(try await shop.story(origin.url).state == .fresh)
    }
    #expect(origin.asked == 1)
    shop.clock.advance(by: .milliseconds(1))
    #expect(try await shop.story(origin.url).state == .stale)
    #expect(try await shop.run(origin.url) == .revalidated)
    #expect(origin.asked == 2)
  }

  @Test func `begins anew with each confirmation`() async throws {
    let shop = try await Workshop()
    let origin = try ScriptedOrigin(
      200, [("Cache-Control", "max-age=60"), ("ETag", "\"1\""), ("Age", "20")])
    defer { origin.server.stop() }
    #expect(try await shop.run(origin.url) == .fetched)
    let start = shop.clock.now
    #expect(try await shop.story(origin.url).views[0].freshUntil == start + .seconds(40))
    shop.clock.advance(by: .seconds(40))
    origin.says(304)
    #expect(try await shop.run(origin.url) == .revalidated)
    // The old Age went with the old answer.
    #expect(try await shop.story(origin.url).views[0].freshUntil == start + .seconds(100))
    let entry = try #require(try await shop.entry(origin.url))
    #expect(entry.lastAnswer == .notModified && entry.validatedAt == shop.clock.now)
  }

  @Test func `is over when the clock went back`() async throws {
    let shop = try await Workshop()
    let origin = try ScriptedOrigin(200, [("Cache-Control", "max-age=3600")])
    defer { origin.server.stop() }
    #expect(try await shop.run(origin.url) == .fetched)
    shop.clock.advance(by: .zero - .hours(5))
    let step = try await shop.story(origin.url).views[0].nextStep
    guard case .ask(_, .stale(.clockWentBack), _) = step else {
      Issue.record("\(step)")
      return
    }
    #expect(try await shop.run(origin.url) == .revalidated)
    #expect(try await shop.story(origin.url).state == .fresh)
  }

  @Test func `can be cut short by looking ahead, but not where it is immutable`() async throws {
    let shop = try await Workshop()
    let origin = try ScriptedOrigin(200, [("Cache-Control", "max-age=3600")])
    defer { origin.server.stop() }
    _ = try await shop.run(origin.url)
    #expect(try await shop.run(origin.url) { $0.refreshAhead = .seconds(3599) } == .fresh)
    #expect(try await shop.run(origin.url) { $0.refreshAhead = .seconds(3600) } == .revalidated)
    origin.says(200, [("Cache-Control", "max-age=3600, immutable")])
    #expect(try await shop.run(origin.url) { $0.force = true } == .revalidated)
    #expect(try await shop.run(origin.url) { $0.refreshAhead = .hours(2) } == .fresh)
  }

  @Test func `is cut or lengthened by the bounds of the job that looks`() async throws {
    let shop = try await Workshop()
    let (long, short) = (#"{"minTTL": "2h"}"#, #"{"maxTTL": "10m"}"#)
    let origin = try ScriptedOrigin(200, [("Cache-Control", "max-age=3600")])
    defer { origin.server.stop() }
    _ = try await shop.run(origin.url, cache: long, job: "long")
    shop.clock.advance(by: .minutes(90))
    #expect(try await shop.run(origin.url, cache: long, job: "long") == .fresh)
    #expect(try await shop.run(origin.url, cache: short, job: "short") == .revalidated)
    #expect(origin.asked == 2)
    // The one answer has moved the other job's time as well.
    shop.clock.advance(by: .minutes(90))
    #expect(try await shop.run(origin.url, cache: long, job: "long") == .fresh)
    shop.clock.advance(by: .minutes(30))
    #expect(try await shop.run(origin.url, cache: long, job: "long") == .revalidated)
  }
}

extension Duration {
  static func minutes(_ count: Int) -> Duration { .seconds(count * 60) }
}
