import HTTPCaching
import Testing
import Vocabulary

@Suite struct `An HTTP date` {
  static let reference = Timestamp(seconds: 1_781_524_800)  // June 2026

  @Test(arguments: [
    // RFC 9110 §5.6.7, the three forms
    ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
    ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Wed Nov 16 08:49:37 1994", 784_975_777),
    // names in any case; recipients are to be lenient there
    ("THU, 18 Aug 2050 02:01:18 GMT", 2_544_400_878),
    ("Thu, 18 AUG 2050 02:01:18 GMT", 2_544_400_878),
    ("Thu, 18 Aug 2050 02:01:18 gMT", 2_544_400_878),
    ("sunday, 06-NOV-94 08:49:37 gmt", 784_111_777),
    // the weekday is not compared
    ("Thu Aug  8 02:01:18 2050", 2_543_536_878), ("Mon, 06 Nov 1994 08:49:37 GMT", 784_111_777),
    // two-digit years: at most 50 years ahead of the reference
    ("Thursday, 18-Aug-50 02:01:18 GMT", 2_544_400_878),
    ("Monday, 15-Jun-76 12:00:00 GMT", 3_359_448_000),
    ("Tuesday, 16-Jun-76 00:00:00 GMT", 203_731_200),
    ("Saturday, 01-Jan-00 00:00:00 GMT", 946_684_800),
    // edges of the calendar and of the clock
    ("Tue, 29 Feb 2000 23:59:59 GMT", 951_868_799),
    ("Thu, 29 Feb 2024 00:00:00 GMT", 1_709_164_800),
    ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
    ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
    ("Mon, 01 Jan 1900 00:00:00 GMT", -2_208_988_800),
    ("Tue, 19 Jan 2038 14:14:08 GMT", 2_147_523_248),
    ("Sun, 21 Nov 2286 04:46:39 GMT", 10_000_039_599),
    ("  Sun, 06 Nov 1994 08:49:37 GMT\t", 784_111_777),
  ])
  func `has three forms`(text: String, seconds: Int64) {
    #expect(parseHTTPDate(text, near: Self.reference) == Timestamp(milliseconds: seconds * 1000))
  }

  @Test(arguments: [
    "", " ", "0", "-1", "now", "GMT", "Sun", "Sun,", "Sunday", "Sunday,",
    // other zones
    "Thu, 18 Aug 2050 02:01:18 UTC", "Thu, 18 Aug 2050 02:01:18 AEST",
    "Thu, 18 Aug 2050 02:01:18 +0000", "Thu, 18 Aug 2050 02:01:18", "Thu, 18 Aug 2050 02:01:18 Z",
    // other digits and separators
    "Thu, 18 Aug 50 02:01:18 GMT", "Thu 18 Aug 2050 02:01:18 GMT",
    "Thu, 18  Aug  2050 02:01:18 GMT",
    "Thu, 18-Aug-2050 02:01:18 GMT", "Thu, 18 Aug 2050 02.01.18 GMT",
    "Thu, 18 Aug 2050 2:01:18 GMT",
    "Thu, 8 Aug 2050 02:01:18 GMT", "Thu,18 Aug 2050 02:01:18 GMT", "Thu, 18 Aug 2050 02:01 GMT",
    "Thu, 18 Aug 02050 02:01:18 GMT", "Thursday, 18 Aug 2050 02:01:18 GMT",
    "Thursday, 18-Aug-2050 02:01:18 GMT", "Thursday, 18 Aug 50 02:01:18 GMT",
    "Thu, 18 August 2050 02:01:18 GMT", "Thu, 18 Aug 2050 02:01:18 GMT x",
    "Thu, 18 Aug 2050 02:01:18.000 GMT", "Sun Nov 6 08:49:37 1994", "Sun Nov 06 08:49:37 94",
    "Sun Nov   6 08:49:37 1994", "Sun Nov  6 08:49:37 1994 GMT", "Thr, 18 Aug 2050 02:01:18 GMT",
    "2050-08-18T02:01:18Z", "Thu, ١٨ Aug 2050 02:01:18 GMT",
    // impossible dates
    "Fri, 30 Feb 2024 00:00:00 GMT", "Wed, 29 Feb 2023 00:00:00 GMT",
    "Mon, 29 Feb 1900 00:00:00 GMT",
    "Sun, 31 Apr 2050 00:00:00 GMT", "Sun, 32 Jan 2050 00:00:00 GMT",
    "Sun, 00 Jan 2050 00:00:00 GMT",
    "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
    "Sun, 06 Nov 1994 08:49:61 GMT",
  ])
  func `is otherwise strict`(text: String) {
    #expect(parseHTTPDate(text, near: Self.reference) == nil)
  }

  /// Times far beyond all calendars make no date that sums cannot hold.
  @Test(arguments: [(Int64.max, 252_465_552_000), (.min, 9_936_000)] as [(Int64, Int64)])
  func `with two digits for the year is near a time that can be`(
    reference: Int64, seconds: Int64
  ) {
    let date = parseHTTPDate(
      "Sunday, 26-Apr-70 00:00:00 GMT", near: Timestamp(milliseconds: reference))
    #expect(date == Timestamp(seconds: seconds))
    let response = StoredResponse(
      status: 200,
      fields: HTTPFields(pairs: [
        ("Expires", "Sunday, 26-Apr-70 00:00:00 GMT"), ("Date", "Mon, 01 Jan 0001 00:00:00 GMT"),
      ]),
      requestTime: Timestamp(milliseconds: reference),
      responseTime: Timestamp(milliseconds: reference))
    #expect(freshness(of: response, settings: CacheSettings()).decidedBy == .expires)
  }

  @Test func `is read back from every day of two centuries`() {
    for days in stride(from: Int64(-20_000), to: 50_000, by: 7) {
      let offset = days * 86_400 + days % 86_400 - arrival.milliseconds / 1000
      let expected = Timestamp(milliseconds: (arrival.milliseconds / 1000 + offset) * 1000)
      guard expected >= .distantPast else { continue }
      #expect(parseHTTPDate(date(offset), near: arrival) == expected)
    }
  }
}
