import HTTPCaching
import Testing
import Vocabulary

@Suite struct `A stored copy` {
  private func verdict(
    _ response: StoredResponse, after: Duration, request: [(String, String)] = [],
    refreshAhead: Duration = .zero, _ settings: CacheSettings = CacheSettings()
  ) -> FreshnessVerdict {
    FreshnessRules(settings).judge(
      response, requestFields: HTTPFields(pairs: request), refreshAhead: refreshAhead,
      now: arrival + after)
  }

  @Test func `is fresh to the last millisecond and not longer`() {
    let response = stored(cacheControl("max-age=2"), delay: .milliseconds(300))
    #expect(verdict(response, after: .zero) == .fresh)
    #expect(verdict(response, after: .milliseconds(1699)) == .fresh)
    #expect(verdict(response, after: .milliseconds(1700)) == .stale(.expired))
    #expect(verdict(response, after: .days(400)) == .stale(.expired))
  }

  @Test func `with a lifetime of zero is stale at once`() {
    #expect(verdict(stored(cacheControl("max-age=0")), after: .zero) == .stale(.expired))
  }

  @Test func `is stale where the clock went back`() {
    let response = stored(cacheControl("max-age=3600"))
    #expect(verdict(response, after: .milliseconds(-1)) == .stale(.clockWentBack))
    #expect(verdict(response, after: .days(-400), .ignore) == .stale(.clockWentBack))
  }

  @Test func `is asked for ahead of time unless it is immutable`() {
    let plain = stored(cacheControl("max-age=3600"))
    #expect(verdict(plain, after: .zero, refreshAhead: .seconds(3599)) == .fresh)
    #expect(verdict(plain, after: .zero, refreshAhead: .seconds(3600)) == .stale(.expiresSoon))
    #expect(verdict(plain, after: .zero, refreshAhead: DurationText.never) == .stale(.expiresSoon))
    let fixed = stored(cacheControl("max-age=3600, immutable"))
    #expect(verdict(fixed, after: .zero, refreshAhead: .days(1)) == .fresh)
    #expect(verdict(fixed, after: .hours(1), refreshAhead: .days(1)) == .stale(.expired))
    #expect(
      verdict(fixed, after: .zero, refreshAhead: .days(1), .kingfisher) == .stale(.expiresSoon))
  }

  struct VaryRow: CustomTestStringConvertible, Sendable {
    let section: String
    let vary: [String]
    let before: [(String, String)]
    let now: [(String, String)]
    let fits: Bool
    var testDescription: String { "\(section): \(vary), \(before) then \(now)" }
  }

  static let varyRows: [VaryRow] = [
    VaryRow(
      section: "RFC 9111 §4.1", vary: ["Accept"], before: [("Accept", "image/webp")],
      now: [("accept", "image/webp")], fits: true),
    VaryRow(
      section: "RFC 9111 §4.1", vary: ["accept"], before: [("Accept", "image/webp")],
      now: [("Accept", "image/png")], fits: false),
    VaryRow(
      section: "RFC 9111 §4.1, both without", vary: ["Foo, Bar"], before: [], now: [], fits: true),
    VaryRow(
      section: "RFC 9111 §4.1, now without", vary: ["Foo"], before: [("Foo", "1")], now: [],
      fits: false),
    VaryRow(
      section: "RFC 9111 §4.1, only now", vary: ["Foo"], before: [], now: [("Foo", "1")],
      fits: false),
    VaryRow(
      section: "RFC 9111 §4.1, one of three", vary: ["Foo, Bar", "Baz"],
      before: [("Foo", "1"), ("Baz", "2")], now: [("Foo", "1"), ("Baz", "3")], fits: false),
    VaryRow(
      section: "RFC 9111 §4.1, not named", vary: ["Foo"], before: [("Bar", "1")],
      now: [("Bar", "2")], fits: true),
    VaryRow(
      section: "RFC 9111 §4.1, lines combined", vary: ["Foo"],
      before: [("Foo", "1"), ("Foo", "2")], now: [("Foo", "1, 2")], fits: true),
    VaryRow(
      section: "RFC 9111 §4.1, nothing named", vary: ["", ", ,"], before: [("Foo", "1")], now: [],
      fits: true),
  ]

  @Test(arguments: varyRows)
  func `fits the request that we would send`(_ row: VaryRow) {
    let fields = cacheControl("max-age=60") + row.vary.map { ("Vary", $0) }
    let request = RequestContext(fields: HTTPFields(pairs: row.before))
    let response = StoredResponse(head(200, fields), request: request)
    let expected: FreshnessVerdict = row.fits ? .fresh : .stale(.vary)
    #expect(verdict(response, after: .zero, request: row.now) == expected)
    #expect(verdict(response, after: .zero, request: row.now, .ignore) == .fresh)
  }

  @Test func `keeps a mark where it varies by a credential`() {
    let request = RequestContext(
      fields: HTTPFields(pairs: [("Cookie", "id=s3cret"), ("X-Api-Key", "s3cret"), ("Foo", "1")]))
    let fields = cacheControl("max-age=60") + [("Vary", "Cookie, X-Api-Key, Foo")]
    let response = StoredResponse(head(200, fields), request: request)
    #expect(!"\(response.varyValues)".contains("s3cret"))
    #expect(response.varyValues["foo"] == ["1"])
    #expect(
      isFresh(
        response, settings: CacheSettings(), requestFields: request.fields, refreshAhead: .zero,
        now: arrival))
    #expect(verdict(response, after: .zero, request: [("Foo", "1")]) == .stale(.vary))
  }
}

@Suite struct `The three times` {
  private func times(
    _ fields: [(String, String)], _ settings: CacheSettings = CacheSettings()
  ) -> (fresh: Duration, usable: Duration, kept: Duration, mayServeStale: Bool) {
    let freshness = freshness(of: stored(fields), settings: settings)
    return (
      freshness.freshUntil - arrival, freshness.usableUntil - arrival,
      freshness.keptUntil - arrival, freshness.mayServeStale
    )
  }

  @Test func `lie one behind another`() {
    #expect(
      times(cacheControl("max-age=60"))
        == (.seconds(60), .seconds(60) + .days(30), .seconds(60) + .days(30), true))
    #expect(
      times(cacheControl("max-age=60") + [("ETag", "\"a\"")])
        == (.seconds(60), .seconds(60) + .days(30), .seconds(60) + .days(60), true))
  }

  @Test func `do not start before the response came`() {
    #expect(
      times(cacheControl("max-age=60") + [("Age", "31536000")])
        == (.zero, .days(30), .days(30), true))
  }

  @Test func `are lengthened, never shortened, by stale-if-error`() {
    let short = settings { $0.staleIfError = .seconds(10) }
    #expect(times(cacheControl("max-age=1, stale-if-error=60"), short).usable == .seconds(61))
    #expect(times(cacheControl("max-age=1, stale-if-error=5"), short).usable == .seconds(11))
    #expect(times(cacheControl("max-age=1, stale-if-error=x"), short).usable == .seconds(11))
    #expect(
      times(
        cacheControl("max-age=1, stale-if-error=60"),
        settings {
          $0.staleIfError = .seconds(10)
          $0.policy = .kingfisher
        }
      ).usable == .seconds(11))
  }

  @Test func `end with the calendar`() {
    let forever = settings {
      $0.staleIfError = DurationText.never
      $0.minTTL = DurationText.never
    }
    let freshness = freshness(of: stored([]), settings: forever)
    #expect(freshness.freshUntil == .distantFuture)
    #expect(freshness.keptUntil == .distantFuture)
  }

  @Test func `of what may not be kept end when it came`() {
    #expect(times(cacheControl("no-store")) == (.zero, .zero, .zero, false))
  }

  @Test(arguments: [
    ("max-age=2", true, true), ("max-age=2, must-revalidate", false, false),
    ("max-age=2, proxy-revalidate", false, true), ("max-age=2, no-cache", false, false),
    ("max-age=2, s-maxage=2", false, true), ("max-age=2, stale-if-error=60", true, true),
    ("max-age=2, must-revalidate, stale-if-error=60", false, false),
  ])
  func `know whether HTTP lets the copy serve stale`(
    control: String, inShared: Bool, inPrivate: Bool
  ) {
    let fields = cacheControl(control)
    #expect(times(fields).mayServeStale == inShared)
    #expect(times(fields, .privateCache).mayServeStale == inPrivate)
    #expect(times(fields, .kingfisher).mayServeStale)
    let freshness = freshness(of: stored(fields), settings: CacheSettings())
    #expect(
      freshness.strictlyUsableUntil == (inShared ? freshness.usableUntil : freshness.freshUntil))
  }
}

@Suite struct `The lines that decided` {
  @Test(
    arguments: [
      (cacheControl("max-age=1") + [("Expires", "0"), ("Age", "1")], ["Cache-Control", "Age"]),
      ([("Expires", "0")], ["Expires"]),
      ([("Date", date(0)), ("Expires", date(9)), ("ETag", "\"a\"")], ["Date", "Expires"]),
      ([("Date", date(0)), ("Last-Modified", date(-90))], ["Date", "Last-Modified"]),
      ([("Vary", "*"), ("Cache-Control", "max-age=9")], ["Vary"]),
      (cacheControl("no-store"), ["Cache-Control"]), ([("Age", "5")], []),
    ] as [([(String, String)], [String])])
  func `are quoted`(fields: [(String, String)], names: [String]) {
    let response = stored(fields)
    let lines = decidingLines(
      of: response, freshness: freshness(of: response, settings: CacheSettings()))
    #expect(lines.lines.map(\.name) == names)
  }

  @Test func `are those of the targeted field where that decides`() {
    let response = stored([("CDN-Cache-Control", "max-age=9"), ("Cache-Control", "no-store")])
    let freshness = freshness(
      of: response, settings: settings { $0.targets = ["cdn-cache-control"] })
    #expect(
      decidingLines(of: response, freshness: freshness).lines.map(\.name) == ["CDN-Cache-Control"])
  }
}
