import TestSupport
import Testing

@testable import Manifests

private let urlset = """
  <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
  """

private func map(_ note: String, _ text: String, _ expected: String...) -> SourceRow {
  SourceRow(note, "a.xml", Array(text.utf8), expected)
}

@Suite struct `A sitemap` {
  private static let rows = [
    map(
      "images on pages",
      """
      <?xml version="1.0" encoding="UTF-8"?>
      \(urlset)
      <url><loc>http://a/page</loc><image:image><image:loc>
        http://a/1?x=1&amp;y=&#50;</image:loc><image:title>no</image:title></image:image>
      <image:image><image:loc><![CDATA[http://a/2?x&y]]></image:loc></image:image></url>
      <url><loc>http://a/empty</loc></url>
      <url><image:image><image:loc>ftp://a/3</image:loc></image:image></url>
      <url><image:image><image:loc/></image:image></url>
      </urlset>
      """, "3 - http://a/1?x=1&y=2", "5 - http://a/2?x&y", "7 bad-url", "8! url: is missing"),
    map(
      "other prefixes and none",
      """
      <s:urlset xmlns:s="https://www.sitemaps.org/schemas/sitemap/0.9/" xmlns:i="urn:x">
      <s:url><i:image><i:loc>http://a/1</i:loc></i:image></s:url></s:urlset>
      """, "2 - http://a/1"),
    map(
      "an index",
      """
      \u{FEFF}<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
      <sitemap><loc>http://a/1.xml</loc><lastmod>2026-01-01</lastmod></sitemap>
      <sitemap><loc>/etc/passwd</loc></sitemap>
      <sitemap><loc>file:///etc/passwd</loc></sitemap>
      <sitemap><loc>http://a/2.xml.gz</loc></sitemap></sitemapindex>
      """, "3! the sitemap's URL: not an absolute URL",
      "4! the sitemap's URL: the scheme \"file\" is not supported",
      "2> http://a/1.xml", "5> http://a/2.xml.gz"),
    map("a set without images", urlset + "<url><loc>http://a/</loc></url></urlset>"),
    map(
      "another document", "<html><body>Not found</body></html>",
      "! s, line 1: this is no sitemap: it begins with <html>"),
    map(
      "one that breaks off",
      urlset + "<url><image:image><image:loc>http://a/1</image:loc></image:image>\n<url>",
      "1 - http://a/1", "! s, line 2: not XML: the text ends too early"),
    map("no XML", urlset + "\n<url></urlset>", "! s, line 2: not XML: mismatched tag"),
    map(
      "entities that multiply",
      """
      <?xml version="1.0"?>
      <!DOCTYPE urlset [<!ENTITY a "xxxxxxxxxx"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>
      <urlset><url><image><loc>http://a/&b;</loc></image></url></urlset>
      """, "! s, line 2: a sitemap has no document type"),
    map(
      "an external entity",
      """
      <!DOCTYPE urlset [<!ENTITY x SYSTEM "file:///etc/passwd">]>
      <urlset><url><image><loc>http://a/&x;</loc></image></url></urlset>
      """, "! s, line 1: a sitemap has no document type"),
    map(
      "an entity that nobody declared",
      "<urlset><url><image><loc>http://a/&x;</loc></image></url></urlset>",
      "! s, line 1: not XML: undefined entity"),
    map(
      "a tag of over 1 MiB",
      "<urlset><url a=\"\(String(repeating: "x", count: 2 << 20))\"/></urlset>",
      "! s, line 1: a tag or a gap of over 1 MiB"),
    map(
      "a URL of over 16 KiB",
      "<urlset><url><image><loc>http://a/\(String(repeating: "x", count: 20 << 10))</loc></image><image><loc>http://a/2</loc></image></url></urlset>",
      "1! a URL of over 16 KiB", "1 - http://a/2"),
    map(
      "elements without an end", "<urlset>" + String(repeating: "<x>", count: 100),
      "! s, line 1: elements over 64 deep"),
  ]

  @Test(arguments: rows) func `gives its images, or the sitemaps that it lists`(_ row: SourceRow) {
    #expect(readSource(row.bytes, named: row.name) == row.expected)
    #expect(readSource(OriginGzip.stored(row.bytes), named: "a.xml.gz", most: 1) == row.expected)
  }

  @Test func `may be in UTF-16, as XML may`() {
    let text = "<urlset><url><image><loc>http://a/1</loc></image></url></urlset>"
    let bytes: [UInt8] = [0xFE, 0xFF] + text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] }
    #expect(readSource(bytes, named: "a.xml") == ["1 - http://a/1"])
  }

  @Test func `lists no more sitemaps than an index may`() {
    let one = "<sitemap><loc>http://a/1</loc></sitemap>"
    let text = "<sitemapindex>" + String(repeating: one, count: 50_001) + "</sitemapindex>"
    #expect(readSource(text, named: "a.xml").last == "! s, line 1: an index of over 50000 sitemaps")
  }
}
