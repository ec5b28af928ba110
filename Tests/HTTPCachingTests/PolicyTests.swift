import HTTPCaching
import Testing
import Vocabulary

private let week: Duration = .days(7)

@Suite struct `The policy kingfisher` {
  struct Row: CustomTestStringConvertible, Sendable {
    let fields: [(String, String)]
    /// Nil: it is not stored.
    let freshFor: Duration?
    var defaultTTL: Duration = week

    var testDescription: String { fields.map { "\($0.0): \($0.1)" }.joined(separator: " | ") }
  }

  static let rows: [Row] = [
    Row(fields: [], freshFor: week),
    Row(fields: cacheControl("no-store"), freshFor: nil),
    Row(fields: cacheControl("max-age=3600"), freshFor: .seconds(3600)),
    Row(fields: cacheControl("max-age=0"), freshFor: nil),
    Row(fields: cacheControl("no-cache"), freshFor: week),
    Row(fields: cacheControl("max-age=4") + [("Age", "1")], freshFor: .seconds(3)),
    Row(fields: cacheControl("max-age=3") + [("Age", "5")], freshFor: nil),
    Row(fields: cacheControl("max-age=3") + [("Age", "3")], freshFor: nil),
    Row(fields: cacheControl("max-age=3600"), freshFor: .seconds(10), defaultTTL: .seconds(10)),
    // what it does not look at
    Row(fields: [("Expires", date(60))], freshFor: week),
    Row(fields: [("Expires", "0"), ("Age", "100")], freshFor: week),
    Row(fields: [("Vary", "*")], freshFor: week),
    Row(fields: [("Last-Modified", date(-100))], freshFor: week),
    Row(fields: cacheControl("private, s-maxage=5, max-age=60"), freshFor: .seconds(60)),
    Row(fields: cacheControl("no-cache, max-age=60"), freshFor: .seconds(60)),
    Row(fields: cacheControl("no-store, must-understand, max-age=60"), freshFor: nil),
    Row(
      fields: cacheControl("max-age=60") + [("Date", date(-50)), ("Age", "1")],
      freshFor: .seconds(59)),
    Row(fields: cacheControl("max-age=x"), freshFor: nil),
  ]

  @Test(arguments: rows)
  func `knows no-store and max-age minus Age`(_ row: Row) {
    let settings = settings {
      $0.policy = .kingfisher
      $0.defaultTTL = row.defaultTTL
    }
    let verdict = storability(of: head(200, row.fields), request: plainRequest, settings: settings)
    guard let expected = row.freshFor else {
      guard case .forbidden(let reason) = verdict else {
        Issue.record("stored")
        return
      }
      #expect(reason.withdrawsOlderCopies)
      // Another job may have stored it: here it is asked for at each run all the same.
      #expect(freshFor(stored(row.fields), settings) == .zero)
      return
    }
    #expect(verdict == .storable)
    #expect(freshFor(stored(row.fields, delay: .milliseconds(300)), settings) == expected)
  }

  @Test func `is not fresh at its last instant`() {
    let response = stored(cacheControl("max-age=4") + [("Age", "1")])
    #expect(isFresh(response, .kingfisher, after: .milliseconds(2999)))
    #expect(!isFresh(response, .kingfisher, after: .milliseconds(3000)))
  }
}

@Suite struct `The policy ignore` {
  @Test(arguments: `The policy kingfisher`.rows)
  func `keeps every success for defaultTTL`(_ row: `The policy kingfisher`.Row) {
    let verdict = storability(of: head(200, row.fields), request: plainRequest, settings: .ignore)
    #expect(verdict == .storable)
    #expect(freshFor(stored(row.fields, delay: .seconds(3)), .ignore) == week)
    #expect(freshness(of: stored(row.fields), settings: .ignore).decidedBy == .ignore)
  }
}

@Suite struct `One stored response` {
  @Test func `is judged by each job's own settings`() {
    let response = stored(cacheControl("private, max-age=600, s-maxage=5"))
    #expect(freshFor(response, .privateCache) == .seconds(600))
    #expect(freshFor(response) == .zero)
    #expect(storability(of: response, settings: CacheSettings()) == .forbidden(.isPrivate))
    #expect(freshFor(response, .kingfisher) == .seconds(600))
    #expect(freshFor(response, .ignore) == week)
    let hour = settings {
      $0.policy = .ignore
      $0.defaultTTL = .hours(1)
    }
    #expect(freshFor(response, hour) == .hours(1))
  }

  @Test func `remembers that it answered credentials`() {
    let request = RequestContext(fields: HTTPFields(pairs: [("Authorization", "Bearer s3cret")]))
    let response = StoredResponse(head(200, cacheControl("max-age=60")), request: request)
    #expect(storability(of: response, settings: .privateCache) == .storable)
    #expect(storability(of: response, settings: CacheSettings()) == .forbidden(.authorization))
    #expect(freshness(of: response, settings: CacheSettings()).decidedBy == .authorization)
    #expect(!"\(response)".contains("s3cret"))
  }
}

@Suite struct `The job's bounds` {
  struct Row: CustomTestStringConvertible, Sendable {
    let what: String
    let fields: [(String, String)]
    let settings: CacheSettings
    let freshFor: Duration
    let clamp: Clamp?

    init(
      _ what: String, _ fields: [(String, String)], min: Duration = .zero, max: Duration? = nil,
      policy: CacheSettings.Policy = .rfc9111, _ freshFor: Duration, _ clamp: Clamp?
    ) {
      self.what = what
      self.fields = fields
      settings = HTTPCachingTests.settings {
        $0.minTTL = min
        $0.maxTTL = max
        $0.policy = policy
      }
      self.freshFor = freshFor
      self.clamp = clamp
    }

    var testDescription: String { what }
  }

  static let rows: [Row] = [
    Row("a minimum lengthens", cacheControl("max-age=0"), min: .seconds(60), .seconds(60), .minTTL),
    Row(
      "a minimum below changes nothing", cacheControl("max-age=90"), min: .seconds(60),
      .seconds(90), nil),
    Row(
      "a minimum lifts what cannot be read", [("Expires", "0")], min: .seconds(60), .seconds(60),
      .minTTL),
    Row(
      "a minimum counts from arrival", cacheControl("max-age=60") + [("Age", "3600")],
      min: .seconds(60), .seconds(60), .minTTL),
    Row(
      "a minimum does not lift no-cache", cacheControl("no-cache, max-age=9"), min: .hours(1),
      .zero, nil),
    Row("a minimum does not lift no-store", cacheControl("no-store"), min: .hours(1), .zero, nil),
    Row("a minimum does not lift private", cacheControl("private"), min: .hours(1), .zero, nil),
    Row("a minimum does not lift Vary: *", [("Vary", "*")], min: .hours(1), .zero, nil),
    Row(
      "a maximum shortens", cacheControl("max-age=315360000"), max: .days(30), .days(30), .maxTTL),
    Row(
      "a maximum above changes nothing", cacheControl("max-age=60"), max: .days(30), .seconds(60),
      nil),
    Row(
      "a maximum counts from arrival", cacheControl("max-age=31536000") + [("Age", "864000")],
      max: .days(1), .days(1), .maxTTL),
    Row("a maximum holds where nothing is said", [], max: .hours(1), .hours(1), .maxTTL),
    Row(
      "a default caps the heuristic", [("Last-Modified", date(-86_400 * 365))], .days(7),
      .defaultTTL),
    Row(
      "a maximum holds with kingfisher", cacheControl("max-age=60"), max: .seconds(5),
      policy: .kingfisher, .seconds(5), .maxTTL),
    Row(
      "a default caps kingfisher", cacheControl("max-age=86400000"), policy: .kingfisher, .days(7),
      .defaultTTL),
  ]

  @Test(arguments: rows)
  func `hold for what a server says`(_ row: Row) {
    let freshness = freshness(of: stored(row.fields), settings: row.settings)
    #expect(freshness.freshUntil - arrival == row.freshFor)
    #expect(freshness.clampedBy == row.clamp)
  }
}
