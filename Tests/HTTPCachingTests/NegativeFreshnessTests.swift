import HTTPCaching
import Testing
import Vocabulary

@Suite struct `A failed response` {
  struct Row: CustomTestStringConvertible, Sendable {
    let what: String
    let status: Int
    let fields: [(String, String)]
    let settings: CacheSettings
    let wait: Duration
    let isServersWord: Bool
    let rule: FreshnessRule

    init(
      _ what: String, _ status: Int, _ fields: [(String, String)],
      under settings: CacheSettings = CacheSettings(), _ wait: Duration, server: Bool,
      _ rule: FreshnessRule
    ) {
      self.what = what
      self.status = status
      self.fields = fields
      self.settings = settings
      self.wait = wait
      isServersWord = server
      self.rule = rule
    }

    var testDescription: String { "\(status) \(what)" }
  }

  static let rows: [Row] = [
    Row("that says nothing", 404, [], .hours(1), server: false, .negativeTTL),
    Row("that says nothing", 410, [], .hours(1), server: false, .negativeTTL),
    Row(
      "and the job's own time", 404, [], under: settings { $0.negativeTTL = .seconds(5) },
      .seconds(5),
      server: false, .negativeTTL),
    Row("with a lifetime", 404, cacheControl("max-age=60"), .seconds(60), server: true, .maxAge),
    Row(
      "with an Age", 404, cacheControl("max-age=60") + [("Age", "20")], .seconds(40), server: true,
      .maxAge),
    Row(
      "with s-maxage", 410, cacheControl("max-age=60, s-maxage=5"), .seconds(5), server: true,
      .sMaxAge),
    Row(
      "with Expires", 404, [("Date", date(0)), ("Expires", date(9))], .seconds(9), server: true,
      .expires),
    Row("for a year", 404, cacheControl("max-age=31536000"), .days(1), server: true, .maxAge),
    Row("with a lifetime of none", 404, cacheControl("max-age=0"), .zero, server: true, .maxAge),
    Row("with an Expires of old", 404, [("Expires", "0")], .zero, server: true, .invalid),
    Row("that must not be kept", 404, cacheControl("no-store"), .zero, server: true, .noStore),
    Row(
      "whose no-store the status undoes", 404, cacheControl("no-store, must-understand, max-age=9"),
      .seconds(9), server: true, .maxAge),
    Row(
      "that is private", 404, cacheControl("private, max-age=9"), .seconds(9), server: true, .maxAge
    ),
    Row(
      "that must be validated", 404, cacheControl("no-cache, max-age=9"), .zero, server: true,
      .noCache),
    Row(
      "with a change of old", 404, [("Last-Modified", date(-86_400))], .hours(1), server: false,
      .negativeTTL),
    Row(
      "and a minimum, which is for what is kept", 404, cacheControl("max-age=5"),
      under: settings { $0.minTTL = .days(9) }, .seconds(5), server: true, .maxAge),
    Row("that says nothing", 503, [], .seconds(120), server: false, .coolDown),
    Row("that says nothing", 403, [], .seconds(120), server: false, .coolDown),
    Row("with a lifetime", 403, cacheControl("max-age=60"), .seconds(60), server: true, .maxAge),
    Row(
      "with a long lifetime", 500, cacheControl("max-age=100000"), .days(1), server: true, .maxAge),
    Row(
      "that must not be kept", 503, cacheControl("no-store, max-age=0"), .seconds(120),
      server: false, .coolDown),
    Row(
      "with a lifetime of none", 502, cacheControl("max-age=0"), .seconds(120), server: false,
      .coolDown),
    Row(
      "with an Expires of old", 500, [("Expires", date(-5000))], .seconds(120), server: false,
      .coolDown),
    Row(
      "that comes back later", 503, [("Retry-After", "600")], .seconds(600), server: true,
      .retryAfter),
    Row(
      "that comes back at a date", 429, [("Retry-After", date(600))], .seconds(600), server: true,
      .retryAfter),
    Row(
      "that comes back before we would ask", 503, [("Retry-After", "7")], .seconds(120),
      server: false, .coolDown),
    Row(
      "that comes back next year", 429, [("Retry-After", "31536000")], .days(1), server: true,
      .retryAfter),
    Row(
      "that comes back after its lifetime", 503,
      cacheControl("max-age=60") + [("Retry-After", "90")],
      .seconds(90), server: true, .retryAfter),
    Row(
      "with a lifetime", 404, cacheControl("max-age=60, s-maxage=5"), under: .kingfisher,
      .seconds(60),
      server: true, .maxAge),
    Row(
      "with an Expires", 404, [("Expires", date(5))], under: .kingfisher, .hours(1), server: false,
      .negativeTTL),
    Row(
      "with a lifetime", 404, cacheControl("max-age=60"), under: .ignore, .hours(1), server: false,
      .negativeTTL),
    Row(
      "that comes back later", 503, [("Retry-After", "600")], under: .ignore, .seconds(600),
      server: true,
      .retryAfter),
    Row(
      "with a targeted lifetime", 404, [("CDN-Cache-Control", "max-age=5")],
      under: settings { $0.targets = ["CDN-Cache-Control"] }, .seconds(5), server: true, .maxAge),
  ]

  @Test(arguments: rows)
  func `is asked for again in time`(_ row: Row) {
    let decision = negativeFreshness(
      of: head(row.status, row.fields), settings: row.settings, failuresInARow: 3, now: arrival)
    #expect(decision.nextTry - arrival == row.wait)
    #expect(decision.isServersWord == row.isServersWord)
    #expect(decision.rule == row.rule)
  }

  @Test func `of no response cools down`() {
    let decision = NegativeDecision.coolingDown(failuresInARow: 1, now: arrival)
    #expect(decision.nextTry == arrival + .seconds(30))
    #expect(!decision.isServersWord && decision.rule == .coolDown)
  }
}

@Suite struct `The cool-down` {
  @Test(arguments: [
    (Int.min, 30), (0, 30), (1, 30), (2, 60), (3, 120), (4, 240), (5, 480), (6, 960), (7, 1920),
    (8, 3840), (9, 7680), (10, 15_360), (11, 30_720), (12, 61_440), (13, 86_400), (14, 86_400),
    (Int.max, 86_400),
  ])
  func `doubles up to a day`(failures: Int, seconds: Int) {
    #expect(coolDown(failuresInARow: failures) == .seconds(seconds))
  }
}

@Suite struct `Retry-After` {
  @Test(
    arguments: [
      (["7"], Duration.seconds(7)), (["0"], .zero),
      (["99999999999999999999"], .seconds(2_147_483_648)),
      ([" 7 "], .seconds(7)), (["Mon, 15 Jun 2026 12:00:09 GMT"], .seconds(9)),
      (["Monday, 15-Jun-26 12:00:09 GMT"], .seconds(9)),
      (["Mon Jun 15 12:00:09 2026"], .seconds(9)),
      (["Sun, 06 Nov 1994 08:49:37 GMT"], .zero), (["7", "9"], .seconds(9)),
      (["x", "9"], .seconds(9)),
      ([], nil), ([""], nil), (["-7"], nil), (["7.5"], nil), (["soon"], nil), (["7, 9"], nil),
      (["Mon, 15 Jun 2026 12:00:09 CET"], nil),
    ] as [([String], Duration?)])
  func `is seconds or any of the three dates`(lines: [String], wait: Duration?) {
    let fields = HTTPFields(lines.map { .init(name: "retry-after", value: $0) })
    #expect(retryAfter(fields, now: arrival).map { $0 - arrival } == wait)
  }
}

@Suite struct `A copy whose origin fails` {
  @Test func `goes at once with 410, and with 404 when that is confirmed`() {
    func verdict(_ status: Int, _ missingFor: Duration?) -> Withdrawal {
      withdrawal(
        status: status, missingSince: missingFor.map { arrival - $0 }, settings: CacheSettings(),
        now: arrival)
    }
    #expect(verdict(410, nil) == .purge)
    #expect(verdict(404, nil) == .keep)
    #expect(verdict(404, .milliseconds(3_599_999)) == .keep)
    #expect(verdict(404, .hours(1)) == .withdraw)
    for status in [401, 403, 429, 500, 503] { #expect(verdict(status, .days(9)) == .keep) }
  }
}

@Suite struct `A redirect` {
  @Test func `is one of five statuses`() {
    #expect((100..<600).filter { isRedirect(status: $0) } == [301, 302, 303, 307, 308])
  }
}
