import Glibc
import HTTPCaching
import TestSupport
import Testing
import Vocabulary

private let names = [
  "Cache-Control", "CDN-Cache-Control", "Expires", "Date", "Age", "Last-Modified", "ETag", "Vary",
  "Retry-After", "Content-Type", "Location",
]
private let pieces = [
  "max-age", "s-maxage", "no-store", "no-cache", "private", "public", "immutable",
  "stale-if-error", "must-revalidate", "must-understand", "=", "=", "\"", "\\", ",", ", ", ";", " ",
  "\t", "0", "1", "60", "3600", "-", "2147483648", "99999999999999999999", ".", "*", "Accept", "a",
  "(", ")", ":", "?1", "GMT", "Mon, 15 Jun 2026 12:00:00 GMT", "Monday, 15-Jun-26 12:00:00 GMT",
  "Mon Jun 15 12:00:00 2026", "Sun,", " Jun", "29 Feb", "\u{e9}", "\u{10FFFF}", "\0",
]

extension SeededGenerator {
  fileprivate mutating func value() -> String {
    if Bool.random(using: &self) {
      return (0..<Int.random(in: 0...8, using: &self)).map { _ in
        pieces.randomElement(using: &self)!
      }.joined()
    }
    let bytes = (0..<Int.random(in: 0...40, using: &self)).map { _ in
      UInt8.random(in: 0...255, using: &self)
    }
    return String(fieldBytes: bytes)
  }

  fileprivate mutating func fields() -> HTTPFields {
    HTTPFields(
      (0..<Int.random(in: 0...6, using: &self)).map { _ in
        .init(name: names.randomElement(using: &self)!, value: value())
      })
  }

  fileprivate mutating func duration() -> Duration {
    switch Int.random(in: 0...5, using: &self) {
    case 0: .zero
    case 1: DurationText.never
    case 2: .milliseconds(Int64.random(in: 0...5000, using: &self))
    case 3: .seconds(Int64.max / 4)
    default: .seconds(Int64.random(in: 0...10_000_000, using: &self))
    }
  }

  fileprivate mutating func settings() -> CacheSettings {
    var settings = CacheSettings()
    settings.policy = CacheSettings.Policy.allCases.randomElement(using: &self)!
    settings.shared = Bool.random(using: &self)
    settings.defaultTTL = duration()
    settings.minTTL = Bool.random(using: &self) ? .zero : duration()
    settings.maxTTL = Bool.random(using: &self) ? nil : settings.minTTL + .seconds(5)
    settings.staleIfError = duration()
    settings.targets = Bool.random(using: &self) ? [] : ["CDN-Cache-Control"]
    return settings
  }

  fileprivate mutating func response() -> StoredResponse {
    let times: [Int64] = [arrival.milliseconds, 0, -1, .min, .max, 253_402_300_799_999]
    func any(_ generator: inout SeededGenerator) -> Timestamp {
      Timestamp(
        milliseconds: Bool.random(using: &generator)
          ? arrival.milliseconds + Int64.random(in: -5000...5000, using: &generator)
          : times.randomElement(using: &generator)!)
    }
    return StoredResponse(
      status: [200, 203, 299, 301, 302, 404, 599].randomElement(using: &self)!, fields: fields(),
      requestTime: any(&self), responseTime: any(&self), varyValues: fields())
  }
}

/// What must hold for anything that a server sends. Each looks at one random case and says what is
/// wrong with it, or nothing.
private enum Property: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case nothingCrashes, readingExtendsNothing, boundsHold, whatIsKeptDecidesAlike

  var testDescription: String { rawValue }

  func violation(_ generator: inout SeededGenerator) -> String? {
    let (settings, response) = (generator.settings(), generator.response())
    let isViolated =
      switch self {
      case .nothingCrashes: Self.runEverything(settings, response, &generator)
      case .readingExtendsNothing: Self.readingExtends(settings, response, &generator)
      case .boundsHold: Self.breaksBounds(settings, response)
      case .whatIsKeptDecidesAlike: Self.decidesOtherwise(settings, response)
      }
    return isViolated ? "\(rawValue): \(response) under \(settings)" : nil
  }

  private static func runEverything(
    _ settings: CacheSettings, _ response: StoredResponse, _ generator: inout SeededGenerator
  ) -> Bool {
    let now = Timestamp(milliseconds: Int64.random(in: .min ... .max, using: &generator))
    let answer = ResponseHead(
      status: Int.random(in: -1...700, using: &generator), fields: generator.fields(),
      requestTime: response.requestTime, responseTime: now)
    let request = RequestContext(
      hadAuthorization: Bool.random(using: &generator), wasConditional: true,
      fields: generator.fields())
    _ = storability(of: answer, request: request, settings: settings)
    _ = negativeFreshness(of: answer, settings: settings, failuresInARow: 2, now: now)
    _ = validators(of: response)
    if case .updated(let next) = applying304(answer, to: response, request: request) {
      _ = decidingLines(of: next, freshness: freshness(of: next, settings: settings))
    }
    _ = isFresh(
      response, settings: settings, requestFields: request.fields,
      refreshAhead: generator.duration(), now: now)
    _ = parseHTTPDate(generator.value(), near: now)
    _ = CacheControl([generator.value()])
    _ = CacheControl(targeted: [generator.value()])
    return false
  }

  private static func readingExtends(
    _ settings: CacheSettings, _ response: StoredResponse, _ generator: inout SeededGenerator
  ) -> Bool {
    let first = freshness(of: response, settings: settings)
    var wasStale = false
    var now = response.responseTime
    for _ in 0..<4 {
      let isFresh = isFresh(
        response, settings: settings, requestFields: response.varyValues, refreshAhead: .zero,
        now: now)
      if wasStale && isFresh { return true }
      wasStale = !isFresh
      if freshness(of: response, settings: settings) != first { return true }
      now = now + .seconds(Int64.random(in: 0...100_000, using: &generator))
    }
    return false
  }

  private static func breaksBounds(_ settings: CacheSettings, _ response: StoredResponse) -> Bool {
    var response = response
    response.responseTime = arrival
    let freshness = freshness(of: response, settings: settings)
    let freshFor = freshness.freshUntil - arrival
    let isOrdered =
      arrival <= freshness.freshUntil && freshness.freshUntil <= freshness.usableUntil
      && freshness.usableUntil <= freshness.keptUntil
    if !isOrdered { return true }
    if let maxTTL = settings.maxTTL, freshFor > maxTTL { return true }
    let unbounded: Set<FreshnessRule> = [
      .noCache, .varyStar, .status, .noStore, .isPrivate, .authorization, .mustUnderstand,
    ]
    if unbounded.contains(freshness.decidedBy) { return freshFor != .zero }
    if settings.policy == .kingfisher, freshFor == .zero { return false }
    return freshFor < min(settings.minTTL, Timestamp.distantFuture - arrival)
  }

  private static func decidesOtherwise(
    _ settings: CacheSettings, _ response: StoredResponse
  ) -> Bool {
    var kept = response
    kept.fields = response.fields.worthStoring
    return freshness(of: kept, settings: settings) != freshness(of: response, settings: settings)
      || storability(of: kept, settings: settings) != storability(of: response, settings: settings)
  }
}

/// How long to go on with fresh seeds; a minute or more finds what the fixed seeds do not.
private let fuzzSeconds = getenv("HTTP_FUZZ_SECONDS").flatMap { Int64(String(cString: $0)) } ?? 0

@Suite struct `Whatever a server sends` {
  @Test(arguments: Property.allCases)
  fileprivate func `these properties hold`(_ property: Property) {
    var generator = SeededGenerator(seed: 20_260_615)
    for _ in 0..<1000 {
      if let violation = property.violation(&generator) {
        Issue.record("\(violation)")
        return
      }
    }
  }

  @Test(.enabled(if: fuzzSeconds > 0, "HTTP_FUZZ_SECONDS is not set"))
  func `they go on holding for seeds never seen`() {
    let end = ContinuousClock.now + .seconds(fuzzSeconds)
    var seeds = SystemRandomNumberGenerator()
    while ContinuousClock.now < end {
      let seed = seeds.next()
      for property in Property.allCases {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<50 {
          if let violation = property.violation(&generator) {
            Issue.record("seed \(seed), \(violation)")
            return
          }
        }
      }
    }
  }

  @Test func `more time to live never means less freshness`() {
    for settings in [CacheSettings(), .kingfisher, .privateCache] {
      var last = Duration.zero
      for seconds in [1, 2, 60, 3600, 86_400, 31_536_000, 2_147_483_647, 9_999_999_999] {
        let next = freshFor(stored(cacheControl("max-age=\(seconds)")), settings)
        #expect(next >= last)
        last = next
      }
    }
  }
}
