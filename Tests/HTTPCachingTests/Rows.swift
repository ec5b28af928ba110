import HTTPCaching
import Testing
import Vocabulary

/// When the responses of these tests arrive: Monday, 15 June 2026, 12:00:00 GMT.
let arrival = Timestamp(seconds: 1_781_524_800)

/// HTTP's preferred form of an instant, given in seconds from `arrival`.
func date(_ secondsFromArrival: Int64) -> String {
  let time = Timestamp(seconds: arrival.milliseconds / 1000 + secondsFromArrival)
  let days = time.milliseconds / 86_400_000
  let day = CivilDate(daysSinceEpoch: days)
  let second = time.milliseconds / 1000 - days * 86_400
  func two(_ n: Int64) -> String { n < 10 ? "0\(n)" : "\(n)" }
  let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][Int(days % 7)]
  let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
  return "\(weekday), \(two(day.day)) \(months[Int(day.month) - 1]) \(day.year) "
    + "\(two(second / 3600)):\(two(second / 60 % 60)):\(two(second % 60)) GMT"
}

func cacheControl(_ values: String...) -> [(String, String)] {
  values.map { ("Cache-Control", $0) }
}

/// What came at `arrival`, its request having left so much earlier.
func stored(
  _ fields: [(String, String)], status: Int = 200, delay: Duration = .zero,
  varyValues: [(String, String)] = []
) -> StoredResponse {
  StoredResponse(
    status: status, fields: HTTPFields(pairs: fields), requestTime: arrival - delay,
    responseTime: arrival, varyValues: HTTPFields(pairs: varyValues))
}

func head(_ status: Int, _ fields: [(String, String)] = [], at time: Timestamp = arrival)
  -> ResponseHead
{
  ResponseHead(
    status: status, fields: HTTPFields(pairs: fields), requestTime: time, responseTime: time)
}

let plainRequest = RequestContext(fields: HTTPFields())

func settings(_ change: (inout CacheSettings) -> Void) -> CacheSettings {
  var settings = CacheSettings()
  change(&settings)
  return settings
}

extension CacheSettings {
  static var kingfisher: CacheSettings { settings { $0.policy = .kingfisher } }
  static var ignore: CacheSettings { settings { $0.policy = .ignore } }
  static var privateCache: CacheSettings { settings { $0.shared = false } }
}

/// How long a response that came at `arrival` is fresh from then on.
func freshFor(_ response: StoredResponse, _ settings: CacheSettings = CacheSettings()) -> Duration {
  freshness(of: response, settings: settings).freshUntil - arrival
}

func isFresh(
  _ response: StoredResponse, _ settings: CacheSettings = CacheSettings(), after: Duration,
  request: [(String, String)] = [], refreshAhead: Duration = .zero
) -> Bool {
  isFresh(
    response, settings: settings, requestFields: HTTPFields(pairs: request),
    refreshAhead: refreshAhead, now: arrival + after)
}

/// The settings under which a row's expectation holds.
struct LifetimeRow: CustomTestStringConvertible, Sendable {
  let section: String
  let fields: [(String, String)]
  let expected: Duration
  let rule: FreshnessRule
  let status: Int
  let settings: CacheSettings

  init(
    _ section: String, _ fields: [(String, String)], _ expected: Duration, _ rule: FreshnessRule,
    status: Int = 200, _ settings: CacheSettings = CacheSettings()
  ) {
    self.section = section
    self.fields = fields
    self.expected = expected
    self.rule = rule
    self.status = status
    self.settings = settings
  }

  var testDescription: String {
    let lines = fields.map { "\($0.0): \($0.1)" }.joined(separator: " | ")
    return "\(section): \(status) \(lines.isEmpty ? "nothing said" : lines)"
  }

  func check() {
    let freshness = freshness(of: stored(fields, status: status), settings: settings)
    #expect(freshness.freshUntil - arrival == expected)
    #expect(freshness.decidedBy == rule)
  }
}
