import HTTPCaching
import Testing
import Vocabulary

private let targeted = settings { $0.targets = ["CDN-Cache-Control"] }
private let week: Duration = .days(7)

@Suite struct `The freshness lifetime` {
  static let directives: [LifetimeRow] = [
    LifetimeRow("RFC 9111 §4.2.1", cacheControl("s-maxage=10, max-age=60"), .seconds(10), .sMaxAge),
    LifetimeRow("RFC 9111 §4.2.1", cacheControl("max-age=60, s-maxage=3600"), .hours(1), .sMaxAge),
    LifetimeRow(
      "RFC 9111 §4.2.1", cacheControl("max-age=60", "s-maxage=10"), .seconds(10), .sMaxAge),
    LifetimeRow(
      "RFC 9111 §5.2.2.10, private cache", cacheControl("s-maxage=10, max-age=60"), .seconds(60),
      .maxAge, .privateCache),
    LifetimeRow("RFC 9111 §5.2.2.1", cacheControl("max-age=3600"), .hours(1), .maxAge),
    LifetimeRow("RFC 9111 §5.2.2.1", cacheControl("max-age=0"), .zero, .maxAge),
    LifetimeRow(
      "RFC 9111 §1.2.2", cacheControl("max-age=99999999999"), .seconds(2_147_483_648), .maxAge),
    LifetimeRow(
      "RFC 9111 §5.3, max-age wins", [("Cache-Control", "max-age=60"), ("Expires", date(-9))],
      .seconds(60), .maxAge),
    LifetimeRow(
      "RFC 9111 §5.3, max-age wins over what is invalid",
      [("Cache-Control", "max-age=60"), ("Expires", "0")], .seconds(60), .maxAge),
    LifetimeRow(
      "RFC 9111 §5.3, max-age of zero wins",
      [("Expires", date(3600)), ("Cache-Control", "max-age=0")], .zero, .maxAge),
    LifetimeRow(
      "RFC 9111 §4.2.1, invalid: no heuristic",
      [("Cache-Control", "max-age=x"), ("Last-Modified", date(-86_400))], .zero, .invalid),
    LifetimeRow(
      "RFC 9111 §4.2.1, invalid: no Expires",
      [("Cache-Control", "max-age=-3600"), ("Expires", date(60))], .zero, .invalid),
    LifetimeRow("RFC 9111 §4.2.1, conflict", cacheControl("max-age=9, max-age=8"), .zero, .invalid),
    LifetimeRow(
      "RFC 9111 §4.2.1, conflict in what does not count",
      cacheControl("max-age=9, max-age=8, s-maxage=5"),
      .seconds(5), .sMaxAge),
    LifetimeRow("RFC 9111 §5.2.2.4", cacheControl("max-age=60, no-cache"), .zero, .noCache),
    LifetimeRow(
      "RFC 9111 §5.2.2.4, field names", cacheControl("no-cache=\"a\"", "max-age=60"), .zero,
      .noCache),
    LifetimeRow(
      "RFC 9111 §5.4, Pragma", [("Cache-Control", "max-age=60"), ("Pragma", "no-cache")],
      .seconds(60), .maxAge),
    LifetimeRow("RFC 9111 §5.4, Pragma alone", [("Pragma", "no-cache")], week, .default),
    LifetimeRow(
      "RFC 9111 §5.2.2.9, no lifetime of its own", cacheControl("public"), week, .default),
    LifetimeRow(
      "RFC 9111 §4.1", [("Vary", "*"), ("Cache-Control", "max-age=60")], .zero, .varyStar),
    LifetimeRow(
      "RFC 9111 §4.1", [("Vary", "Foo, *"), ("Cache-Control", "max-age=60")], .zero, .varyStar),
    LifetimeRow(
      "RFC 9111 §4.1", [("Vary", "*, *"), ("Cache-Control", "max-age=60")], .zero, .varyStar),
    LifetimeRow(
      "RFC 9111 §4.1", [("Vary", ""), ("Vary", ",*"), ("Cache-Control", "max-age=60")], .zero,
      .varyStar),
    LifetimeRow(
      "RFC 9111 §4.1, a name with a star", [("Vary", "a*"), ("Cache-Control", "max-age=60")],
      .seconds(60), .maxAge),
    LifetimeRow(
      "RFC 5861 §3, asked in the run", cacheControl("max-age=1, stale-while-revalidate=3600"),
      .seconds(1), .maxAge),
    LifetimeRow(
      "RFC 9111 §7.3, cookies", [("Set-Cookie", "a=b"), ("Cache-Control", "max-age=60")],
      .seconds(60), .maxAge),
    LifetimeRow(
      "RFC 9111 §5.2.2.3, status understood", cacheControl("max-age=60, no-store, must-understand"),
      .seconds(60), .maxAge),
    // what another job stored
    LifetimeRow("RFC 9111 §5.2.2.5", cacheControl("max-age=60, no-store"), .zero, .noStore),
    LifetimeRow("RFC 9111 §5.2.2.7", cacheControl("max-age=60, private"), .zero, .isPrivate),
    LifetimeRow(
      "RFC 9111 §5.2.2.7, private cache", cacheControl("private, max-age=60, s-maxage=5"),
      .seconds(60), .maxAge, .privateCache),
  ]

  static let dates: [LifetimeRow] = [
    LifetimeRow(
      "RFC 9111 §5.3", [("Date", date(0)), ("Expires", date(60))], .seconds(60), .expires),
    LifetimeRow(
      "RFC 9111 §5.3, past", [("Date", date(0)), ("Expires", date(-9))], .zero, .expires),
    LifetimeRow(
      "RFC 9111 §5.3, present", [("Date", date(0)), ("Expires", date(0))], .zero, .expires),
    LifetimeRow(
      "RFC 9111 §5.3, before Date", [("Date", date(400)), ("Expires", date(300))], .zero, .expires),
    LifetimeRow(
      "RFC 9111 §4.2.1, the origin's clock is behind",
      [("Date", date(-7200)), ("Expires", date(-7140))], .seconds(60), .expires),
    LifetimeRow(
      "RFC 9111 §4.2.1, the origin's clock is ahead",
      [("Date", date(7200)), ("Expires", date(7260))], .seconds(60), .expires),
    LifetimeRow("RFC 9110 §6.6.1, no Date", [("Expires", date(60))], .seconds(60), .expires),
    LifetimeRow(
      "RFC 9110 §6.6.1, bad Date", [("Date", "foo"), ("Expires", date(60))], .seconds(60), .expires),
    LifetimeRow(
      "RFC 9110 §6.6.1, two Dates",
      [("Date", date(-9)), ("Date", date(-8)), ("Expires", date(60))],
      .seconds(60), .expires),
    LifetimeRow("RFC 9111 §5.3, 0", [("Expires", "0")], .zero, .invalid),
    LifetimeRow("RFC 9111 §5.3, -1", [("Expires", "-1")], .zero, .invalid),
    LifetimeRow("RFC 9111 §5.3, empty", [("Expires", "")], .zero, .invalid),
    LifetimeRow(
      "RFC 9111 §5.3, invalid: no heuristic", [("Expires", "0"), ("Last-Modified", date(-86_400))],
      .zero, .invalid),
    LifetimeRow(
      "RFC 9111 §5.3, two that differ", [("Expires", date(60)), ("Expires", date(61))], .zero,
      .invalid),
    LifetimeRow(
      "RFC 9111 §5.3, two that agree",
      [("Date", date(0)), ("Expires", date(60)), ("Expires", date(60))], .seconds(60), .expires),
    LifetimeRow(
      "RFC 9110 §5.6.7, a century's end", [("Expires", "Sun, 21 Nov 2286 04:46:39 GMT")],
      .seconds(10_000_039_599 - arrival.milliseconds / 1000), .expires),
    // nothing explicit
    LifetimeRow("RFC 9111 §4.2.2", [], week, .default),
    LifetimeRow(
      "RFC 9111 §4.2.2", [("Date", date(0)), ("Last-Modified", date(-36_000))], .hours(1),
      .heuristic),
    LifetimeRow(
      "RFC 9111 §4.2.2, no Date", [("Last-Modified", date(-36_000))], .hours(1), .heuristic),
    LifetimeRow(
      "RFC 9111 §4.2.2, milliseconds", [("Date", date(0)), ("Last-Modified", date(-5))],
      .milliseconds(500), .heuristic),
    LifetimeRow(
      "RFC 9111 §4.2.2, at most the default", [("Last-Modified", date(-86_400 * 100))], .days(1),
      .heuristic, settings { $0.defaultTTL = .days(1) }),
    LifetimeRow(
      "RFC 9111 §4.2.2, at least the minimum", [("Last-Modified", date(-10))], .seconds(60),
      .heuristic, settings { $0.minTTL = .seconds(60) }),
    LifetimeRow(
      "RFC 9110 §8.8.2.1, changed after the answer",
      [("Date", date(0)), ("Last-Modified", date(9))],
      week, .default),
    LifetimeRow("RFC 9110 §8.8.2, no date", [("Last-Modified", "yesterday")], week, .default),
    LifetimeRow(
      "RFC 9110 §8.8.2, two that differ",
      [("Last-Modified", date(-9)), ("Last-Modified", date(-8))],
      week, .default),
  ]

  static let statuses: [LifetimeRow] =
    [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501].map {
      LifetimeRow(
        "RFC 9110 §15.1", [("Last-Modified", date(-36_000))], .hours(1), .heuristic, status: $0)
    }
    + [201, 202, 299, 302, 303, 307, 400, 403, 500, 502, 503, 504, 599].map {
      LifetimeRow("RFC 9110 §15.1", [("Last-Modified", date(-36_000))], .zero, .status, status: $0)
    }
    + [200, 203, 299, 301, 302, 303, 307, 308, 599].map {
      LifetimeRow("RFC 9111 §4.2.1", cacheControl("max-age=60"), .seconds(60), .maxAge, status: $0)
    } + [
      LifetimeRow("RFC 9111 §4.2.2, public", cacheControl("public"), week, .default, status: 299),
      LifetimeRow("RFC 9110 §15.4.3, public", cacheControl("public"), .zero, .status, status: 302),
      LifetimeRow(
        "RFC 9111 §5.2.2.3", cacheControl("must-understand, max-age=60"), .zero, .mustUnderstand,
        status: 599),
    ]

  static let targets: [LifetimeRow] = [
    LifetimeRow(
      "RFC 9213 §2.1, not named", [("CDN-Cache-Control", "max-age=60")], week, .default),
    LifetimeRow(
      "RFC 9213 §2.1", [("CDN-Cache-Control", "max-age=60"), ("Cache-Control", "max-age=1")],
      .seconds(60), .maxAge, targeted),
    LifetimeRow(
      "RFC 9213 §2.1, over no-store",
      [("cdn-cache-control", "max-age=60"), ("Cache-Control", "no-store")], .seconds(60), .maxAge,
      targeted),
    LifetimeRow(
      "RFC 9213 §2.1, over Expires", [("CDN-Cache-Control", "max-age=60"), ("Expires", "0")],
      .seconds(60), .maxAge, targeted),
    LifetimeRow(
      "RFC 9213 §2.1, silent: Expires does not count",
      [("CDN-Cache-Control", "public"), ("Expires", date(60))], week, .default, targeted),
    LifetimeRow(
      "RFC 9213 §2.1, no-cache",
      [("CDN-Cache-Control", "no-cache"), ("Cache-Control", "max-age=60")],
      .zero, .noCache, targeted),
    LifetimeRow(
      "RFC 9213 §2.1, invalid",
      [("CDN-Cache-Control", "max-age =9"), ("Cache-Control", "max-age=1")],
      .seconds(1), .maxAge, targeted),
    LifetimeRow(
      "RFC 9213 §2.1, invalid: no-store stays",
      [("CDN-Cache-Control", "max-age=9, &&&"), ("Cache-Control", "no-store")], .zero, .noStore,
      targeted),
    LifetimeRow(
      "RFC 9213 §2.2, the first that is valid",
      [
        ("A-Cache-Control", ""), ("B-Cache-Control", "max-age=2"), ("C-Cache-Control", "max-age=3"),
      ],
      .seconds(2), .maxAge,
      settings { $0.targets = ["A-Cache-Control", "B-Cache-Control", "C-Cache-Control"] }),
  ]

  @Test(arguments: directives)
  func `follows the directives`(_ row: LifetimeRow) { row.check() }

  @Test(arguments: dates)
  func `follows the dates`(_ row: LifetimeRow) { row.check() }

  @Test(arguments: statuses)
  func `depends on the status`(_ row: LifetimeRow) { row.check() }

  @Test(arguments: targets)
  func `follows a targeted field that the job names`(_ row: LifetimeRow) { row.check() }

  @Test func `names the targeted field that decided`() {
    let response = stored([("CDN-Cache-Control", "max-age=60")])
    #expect(freshness(of: response, settings: targeted).target == "CDN-Cache-Control")
    #expect(freshness(of: response, settings: CacheSettings()).target == nil)
  }
}

@Suite struct `The current age` {
  struct Row: CustomTestStringConvertible, Sendable {
    let section: String
    let age: [String]
    let dateOffset: Int64?
    let delay: Duration
    let expected: Duration

    init(
      _ section: String, age: String..., date: Int64? = 0, delay: Duration = .zero,
      is expected: Duration
    ) {
      self.section = section
      self.age = age
      dateOffset = date
      self.delay = delay
      self.expected = expected
    }

    var testDescription: String { "\(section): Age \(age), Date \(dateOffset ?? 0), \(delay)" }
  }

  static let rows: [Row] = [
    Row("RFC 9111 §4.2.3", is: .zero),
    Row("RFC 9111 §4.2.3, Age", age: "25", is: .seconds(25)),
    Row("RFC 9111 §4.2.3, response delay", delay: .milliseconds(250), is: .milliseconds(250)),
    Row("RFC 9111 §4.2.3, both", age: "25", delay: .milliseconds(250), is: .milliseconds(25_250)),
    Row("RFC 9111 §4.2.3, apparent age is more", age: "25", date: -100, is: .seconds(100)),
    Row("RFC 9111 §4.2.3, apparent age is less", age: "25", date: -10, is: .seconds(25)),
    Row("RFC 9111 §4.2.3, Date ahead", age: "15", date: 10, is: .seconds(15)),
    Row("RFC 9111 §4.2.3, no Date", age: "15", date: nil, is: .seconds(15)),
    Row("RFC 9111 §4.2.3, a clock behind is no age", date: -7200, is: .zero),
    Row("RFC 9111 §4.2.3, the clock went back while it came", delay: .seconds(-5), is: .zero),
    Row("RFC 9111 §5.1, no number", age: "abc", is: .zero),
    Row("RFC 9111 §5.1, negative", age: "-7200", is: .zero),
    Row("RFC 9111 §5.1, decimal", age: "7200.0", is: .zero),
    Row("RFC 9111 §5.1, parameter", age: "7200;foo=bar", is: .zero),
    Row("RFC 9111 §5.1, empty", age: "", is: .zero),
    Row("RFC 9111 §5.1, list", age: "7200, 0", is: .seconds(7200)),
    Row("RFC 9111 §5.1, list from zero", age: "0, 7200", is: .zero),
    Row("RFC 9111 §5.1, lines", age: "7200", "0", is: .seconds(7200)),
    Row("RFC 9111 §5.1, lines from zero", age: "0", "7200", is: .zero),
    Row("RFC 9111 §5.1, no number first", age: "x, 7200", is: .zero),
    Row("RFC 9111 §5.1, empty member first", age: ", 7200", is: .seconds(7200)),
    Row("RFC 9111 §1.2.2, 2³¹", age: "2147483648", is: .seconds(2_147_483_648)),
    Row("RFC 9111 §1.2.2, more", age: "99999999999999999999", is: .seconds(2_147_483_648)),
  ]

  @Test(arguments: rows)
  func `is subtracted from the lifetime`(_ row: Row) {
    var fields = cacheControl("max-age=3600") + row.age.map { ("Age", $0) }
    if let offset = row.dateOffset { fields.append(("Date", date(offset))) }
    let response = stored(fields, delay: row.delay)
    #expect(freshness(of: response, settings: CacheSettings()).age == row.expected)
    #expect(freshFor(response) == max(.zero, .hours(1) - row.expected))
  }

  @Test func `is subtracted from an Expires as well`() {
    #expect(
      freshFor(stored([("Date", date(-10)), ("Expires", date(20)), ("Age", "25")])) == .seconds(5))
    #expect(
      freshFor(stored([("Date", date(-10)), ("Expires", date(10)), ("Age", "25")])) == .zero)
    #expect(
      freshFor(stored([("Date", date(10)), ("Expires", date(20)), ("Age", "15")])) == .zero)
  }
}
