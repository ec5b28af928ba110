import HTTPCaching
import Testing
import Vocabulary

@Suite struct `A response` {
  struct Row: CustomTestStringConvertible, Sendable {
    let section: String
    let status: Int
    let fields: [(String, String)]
    let request: RequestContext
    let settings: CacheSettings
    /// Nil: it may be stored.
    let reason: Storability.Reason?

    init(
      _ section: String, status: Int = 200, _ fields: [(String, String)],
      request: [(String, String)] = [], under settings: CacheSettings = CacheSettings(),
      _ reason: Storability.Reason?
    ) {
      self.section = section
      self.status = status
      self.fields = fields
      self.request = RequestContext(fields: HTTPFields(pairs: request))
      self.settings = settings
      self.reason = reason
    }

    var testDescription: String {
      "\(section): \(status) \(fields.map { "\($0.0): \($0.1)" }.joined(separator: " | "))"
    }
  }

  private static let credentials = [("Authorization", "Basic eA==")]
  private static let targeted = HTTPCachingTests.settings { $0.targets = ["CDN-Cache-Control"] }

  static let rows: [Row] = [
    Row("RFC 9111 §3", [], nil),
    Row("RFC 9111 §5.2.2.5", cacheControl("no-store"), .noStore),
    Row("RFC 9111 §5.2.2.5", cacheControl("No-StOrE"), .noStore),
    Row("RFC 9111 §5.2.2.5", cacheControl("max-age=9, no-store"), .noStore),
    Row(
      "RFC 9111 §5.2.2.5, private cache", cacheControl("no-store"), under: .privateCache, .noStore),
    Row("RFC 9111 §5.2.2.5, the strictest", cacheControl("private, no-store"), .noStore),
    Row("RFC 9111 §5.2.2.3", cacheControl("no-store, must-understand"), nil),
    Row(
      "RFC 9111 §5.2.2.3", status: 599, cacheControl("max-age=9, no-store, must-understand"),
      .noStore),
    Row(
      "RFC 9111 §5.2.2.3", status: 599, cacheControl("max-age=9, must-understand"), .mustUnderstand),
    Row(
      "RFC 9111 §5.2.2.3, private stays", cacheControl("no-store, must-understand, private"),
      .isPrivate),
    Row("RFC 9111 §5.2.2.7", cacheControl("private, max-age=60"), .isPrivate),
    Row("RFC 9111 §5.2.2.7, field names", cacheControl("private=\"x\""), .isPrivate),
    Row("RFC 9111 §5.2.2.7, private cache", cacheControl("private"), under: .privateCache, nil),
    Row("RFC 9111 §5.2.2.4, validated each time", cacheControl("no-cache"), nil),
    Row("RFC 9111 §5.2.2.1, validated each time", cacheControl("max-age=0"), nil),
    Row("RFC 9111 §4.1, asked each time", [("Vary", "*")], nil),
    Row("RFC 9111 §7.3", [("Set-Cookie", "a=b")], nil),
    // RFC 9111 §3.5
    Row("RFC 9111 §3.5", [], request: credentials, .authorization),
    Row("RFC 9111 §3.5", cacheControl("max-age=60"), request: credentials, .authorization),
    Row("RFC 9111 §3.5", cacheControl("public"), request: credentials, nil),
    Row("RFC 9111 §3.5", cacheControl("s-maxage=60"), request: credentials, nil),
    Row("RFC 9111 §3.5", cacheControl("must-revalidate"), request: credentials, nil),
    Row(
      "RFC 9111 §3.5, unreadable", cacheControl("s-maxage=x"), request: credentials, .authorization),
    Row("RFC 9111 §3.5, private cache", [], request: credentials, under: .privateCache, nil),
    // RFC 9111 §3: statuses
    Row("RFC 9110 §15.2", status: 100, [], .status),
    Row("RFC 9110 §15.2", status: 103, cacheControl("public"), .status),
    Row("RFC 9110 §15.3.2", status: 201, [("Last-Modified", date(-9))], .status),
    Row("RFC 9110 §15.3.3", status: 202, [], .status),
    Row("RFC 9111 §3", status: 201, cacheControl("max-age=60"), nil),
    Row("RFC 9111 §3", status: 299, cacheControl("public"), nil),
    Row("RFC 9111 §3", status: 299, cacheControl("s-maxage=9"), nil),
    Row(
      "RFC 9111 §3, private cache", status: 299, cacheControl("s-maxage=9"), under: .privateCache,
      .status),
    Row(
      "RFC 9111 §3, private cache", status: 299, cacheControl("private"), under: .privateCache, nil),
    Row("RFC 9111 §3", status: 299, [("Expires", date(60))], nil),
    Row("RFC 9111 §3", status: 299, cacheControl("no-cache"), .status),
    Row("RFC 9111 §3.4, unasked for", status: 206, cacheControl("max-age=60"), .partial),
    Row("RFC 9111 §3.4, the rest of ours", status: 206, [], request: [("Range", "bytes=9-")], nil),
    Row("RFC 9110 §15.4.5", status: 304, cacheControl("max-age=60"), .status),
    // redirects
    Row("RFC 9110 §15.4.2", status: 301, [], nil), Row("RFC 9110 §15.4.9", status: 308, [], nil),
    Row("RFC 9110 §15.4.3, never fresh", status: 302, [], nil),
    Row("RFC 9111 §5.2.2.5", status: 302, cacheControl("no-store"), .noStore),
    // targeted
    Row(
      "RFC 9213 §2.1", [("CDN-Cache-Control", "no-store"), ("Cache-Control", "max-age=9")],
      under: targeted,
      .noStore),
    Row(
      "RFC 9213 §2.1", [("CDN-Cache-Control", "max-age=9"), ("Cache-Control", "no-store")],
      under: targeted,
      nil),
    Row("RFC 9213 §2.1, not named", [("CDN-Cache-Control", "no-store")], nil),
    // policies
    Row("kingfisher", cacheControl("no-store, must-understand"), under: .kingfisher, .noStore),
    Row("kingfisher", cacheControl("private"), request: credentials, under: .kingfisher, nil),
    Row("kingfisher", status: 206, [], under: .kingfisher, .partial),
    Row("ignore", status: 206, [], under: .ignore, .partial),
    Row("ignore", cacheControl("no-store, private"), request: credentials, under: .ignore, nil),
    Row("ignore", status: 201, [], under: .ignore, nil),
  ]

  @Test(arguments: rows)
  func `may be stored or not`(_ row: Row) {
    let verdict = storability(
      of: head(row.status, row.fields), request: row.request, settings: row.settings)
    #expect(verdict == row.reason.map { .forbidden($0) } ?? .storable)
  }

  @Test(arguments: rows)
  func `is judged alike once it is stored`(_ row: Row) {
    guard row.status >= 200, row.status != 304, row.status != 206 else { return }
    let response = StoredResponse(head(row.status, row.fields), request: row.request)
    let verdict = storability(of: response, settings: row.settings)
    #expect(verdict == row.reason.map { .forbidden($0) } ?? .storable)
  }

  @Test func `that the server forbids to keep takes older copies with it`() {
    let withdrawing = Storability.Reason.allCases.filter(\.withdrawsOlderCopies)
    #expect(
      Set(withdrawing) == [.noStore, .isPrivate, .authorization, .mustUnderstand, .lifetime])
  }

  @Test func `leaves what decides later, as received, and nothing else`() {
    let kept: [(String, String)] = [
      ("cache-control", "max-age=1"), ("CACHE-CONTROL", "public"), ("CDN-Cache-Control", "x"),
      ("Shop-cache-control", "y"), ("Expires", "0"), ("Date", "d"), ("Age", "1"),
      ("Last-Modified", "l"), ("ETag", "W/\"a,b\""), ("Vary", "Accept"),
      ("Content-Type", "image/png"), ("Content-Encoding", "gzip"), ("Location", "/x"),
      ("Pragma", "p"),
    ]
    let dropped: [(String, String)] = [
      ("Set-Cookie", "a=b"), ("Server", "x"), ("Content-Length", "9"), ("-Cache-Control", "x"),
      ("X-Cache", "HIT"), ("Authorization", "x"),
    ]
    #expect(HTTPFields(pairs: kept + dropped).worthStoring == HTTPFields(pairs: kept))
    let whole = StoredResponse(head(206, kept), request: plainRequest)
    #expect(whole.status == 200)
  }
}
