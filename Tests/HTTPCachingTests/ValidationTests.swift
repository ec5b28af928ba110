import HTTPCaching
import Testing
import Vocabulary

private let later = arrival + .hours(1)

@Suite struct `Validators` {
  @Test(
    arguments: [
      (
        [("ETag", "W/\"a,b\""), ("Last-Modified", "wed, 01 jan 2020 00:00:00 gmt")],
        [("If-None-Match", "W/\"a,b\""), ("If-Modified-Since", "wed, 01 jan 2020 00:00:00 gmt")]
      ),
      ([("etag", "abcdef")], [("If-None-Match", "abcdef")]),
      ([("ETag", "\"\u{e9}\u{ff}\"")], [("If-None-Match", "\"\u{e9}\u{ff}\"")]),
      ([("Last-Modified", "yesterday")], [("If-Modified-Since", "yesterday")]),
      ([("ETag", "\"a\""), ("ETag", "\"a\"")], [("If-None-Match", "\"a\"")]),
      ([("ETag", "\"a\""), ("ETag", "\"b\"")], []), ([("ETag", ""), ("Date", date(0))], []),
      ([], []),
    ] as [([(String, String)], [(String, String)])])
  func `go out as they came in`(fields: [(String, String)], conditions: [(String, String)]) {
    #expect(validators(of: stored(fields)) == HTTPFields(pairs: conditions))
  }
}

@Suite struct `A 304` {
  private func applied(
    _ news: [(String, String)], to old: [(String, String)],
    request: [(String, String)] = [("If-None-Match", "\"a\"")]
  ) -> NotModifiedVerdict {
    applying304(
      head(304, news, at: later), to: stored(old),
      request: RequestContext(fields: HTTPFields(pairs: request)))
  }

  private func updated(_ verdict: NotModifiedVerdict) throws -> StoredResponse {
    guard case .updated(let response) = verdict else { throw Unexpected(verdict: verdict) }
    return response
  }

  private struct Unexpected: Error { let verdict: NotModifiedVerdict }

  @Test func `replaces what it brings and leaves what it lacks`() throws {
    let response = try updated(
      applied(
        [
          ("cache-control", "max-age=100"), ("Date", date(3600)), ("ETag", "W/\"b\""),
          ("Content-Type", "text/plain"), ("Content-Encoding", "br"), ("Content-Length", "0"),
          ("Set-Cookie", "x=y"),
        ],
        to: [
          ("Cache-Control", "max-age=1"), ("Cache-Control", "public"), ("Date", date(0)),
          ("ETag", "W/\"a\""), ("Last-Modified", date(-99)), ("Content-Type", "image/png"),
          ("Expires", date(9)),
        ]))
    #expect(
      response.fields
        == HTTPFields(pairs: [
          ("Last-Modified", date(-99)), ("Content-Type", "image/png"), ("Expires", date(9)),
          ("cache-control", "max-age=100"), ("Date", date(3600)), ("ETag", "W/\"b\""),
        ]))
    #expect(response.status == 200)
    #expect(response.responseTime == later && response.requestTime == later)
    let freshness = freshness(of: response, settings: CacheSettings())
    #expect(freshness.freshUntil == later + .seconds(100))
    #expect(validators(of: response)["If-None-Match"] == ["W/\"b\""])
  }

  @Test func `starts freshness anew even if it says nothing`() throws {
    let response = try updated(
      applied([], to: cacheControl("max-age=60") + [("Age", "50"), ("Date", date(-50))]))
    #expect(!response.fields.contains("Age"))
    let freshness = freshness(of: response, settings: CacheSettings())
    #expect(freshness.freshUntil == later + .seconds(60))
  }

  @Test func `does not let an old Date lengthen what Expires gives`() throws {
    let response = try updated(
      applied([("Expires", date(3660))], to: [("Date", date(0)), ("Expires", date(60))]))
    #expect(freshness(of: response, settings: CacheSettings()).freshUntil == later + .seconds(60))
    let silent = try updated(applied([("Date", date(3600))], to: [("Expires", date(60))]))
    #expect(freshness(of: silent, settings: CacheSettings()).freshUntil == later)
  }

  @Test func `is obeyed where it forbids to keep the copy`() throws {
    for control in ["no-store", "private"] {
      let response = try updated(
        applied(cacheControl(control), to: cacheControl("max-age=60")))
      guard case .forbidden(let reason) = storability(of: response, settings: CacheSettings())
      else {
        Issue.record("still kept after \(control)")
        continue
      }
      #expect(reason.withdrawsOlderCopies)
    }
  }

  @Test func `brings the values of what it varies by up to date`() throws {
    let response = try updated(
      applied(
        [("Vary", "Accept")], to: cacheControl("max-age=60"),
        request: [("If-None-Match", "\"a\""), ("Accept", "image/webp")]))
    #expect(response.varyValues == HTTPFields(pairs: [("accept", "image/webp")]))
  }

  @Test func `to a request without conditions teaches nothing`() {
    #expect(applied([], to: [], request: []) == .unconditional)
  }

  struct MatchRow: CustomTestStringConvertible, Sendable {
    let section: String
    let news: [(String, String)]
    let old: [(String, String)]
    let fits: Bool
    var testDescription: String { "\(section): \(news) for \(old)" }
  }

  static let matches: [MatchRow] = [
    MatchRow(
      section: "RFC 9111 §4.3.4", news: [("ETag", "\"a\"")], old: [("ETag", "\"a\"")], fits: true),
    MatchRow(
      section: "RFC 9111 §4.3.4", news: [("ETag", "\"b\"")], old: [("ETag", "\"a\"")], fits: false),
    MatchRow(
      section: "RFC 9111 §4.3.4, ours is weak", news: [("ETag", "\"a\"")],
      old: [("ETag", "W/\"a\"")],
      fits: false),
    MatchRow(
      section: "RFC 9111 §4.3.4, theirs is weak", news: [("ETag", "W/\"b\"")],
      old: [("ETag", "\"a\"")],
      fits: true),
    MatchRow(section: "RFC 9111 §4.3.4, none", news: [], old: [("ETag", "\"a\"")], fits: true),
    MatchRow(
      section: "RFC 9111 §4.3.4, the same strong Last-Modified",
      news: [("ETag", "\"a\""), ("Last-Modified", date(-60))],
      old: [("Date", date(0)), ("Last-Modified", date(-60))], fits: true),
    MatchRow(
      section: "RFC 9110 §8.8.2.2, a weak Last-Modified",
      news: [("ETag", "\"a\""), ("Last-Modified", date(0))],
      old: [("Date", date(0)), ("Last-Modified", date(0))], fits: false),
    MatchRow(
      section: "RFC 9111 §4.3.4, another Last-Modified",
      news: [("ETag", "\"a\""), ("Last-Modified", date(-9))],
      old: [("Date", date(0)), ("Last-Modified", date(-60))], fits: false),
    MatchRow(
      section: "RFC 9111 §4.3.4, no Last-Modified", news: [("ETag", "\"a\"")],
      old: [("Date", date(0)), ("Last-Modified", date(-60))], fits: false),
  ]

  @Test(arguments: matches)
  func `has to speak of what is stored`(_ row: MatchRow) {
    let verdict = applied(row.news, to: row.old)
    if row.fits {
      #expect(verdict != .mismatchedValidator)
    } else {
      #expect(verdict == .mismatchedValidator)
    }
  }
}
