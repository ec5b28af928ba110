import Testing
import Vocabulary

@Suite struct `A timestamp` {
  @Test(arguments: [
    (0, "1970-01-01T00:00:00.000Z"), (951_782_400_123, "2000-02-29T00:00:00.123Z"),
    (1_796_005_319_007, "2026-11-30T02:21:59.007Z"), (-1, "1969-12-31T23:59:59.999Z"),
    (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
  ])
  func `is written as RFC 3339 with milliseconds`(milliseconds: Int64, text: String) {
    #expect("\(Timestamp(milliseconds: milliseconds))" == text)
  }

  @Test func `saturates instead of overflowing`() {
    #expect(Timestamp.distantFuture + .days(1) == .distantFuture)
    #expect(Timestamp.distantPast - .days(1) == .distantPast)
    #expect(Timestamp(milliseconds: 5) + DurationText.never == .distantFuture)
  }

  @Test func `has a calendar that agrees with itself over eight centuries`() {
    for day in Int64(-146_097)...146_097 {
      let date = CivilDate(daysSinceEpoch: day)
      #expect(date.daysSinceEpoch == day && date.exists)
    }
    #expect(!CivilDate(year: 2023, month: 2, day: 29).exists)
    #expect(!CivilDate(year: 2024, month: 4, day: 31).exists)
  }
}

@Suite struct `Quantities in a manifest` {
  @Test(arguments: [
    ("500ms", Duration.milliseconds(500)), ("30s", .seconds(30)), ("10m", .seconds(600)),
    ("6h", .hours(6)), ("7d", .days(7)), ("1.5s", .milliseconds(1500)), ("0s", .zero),
    ("never", DurationText.never), ("", nil), ("5", nil), ("-1s", nil), ("1e3s", nil), (".5s", nil),
    ("s", nil), ("5 s", nil), ("5w", nil),
  ])
  func `read durations`(text: String, duration: Duration?) {
    #expect(DurationText.parse(text) == duration)
  }

  @Test(arguments: [
    ("64MiB", 64 << 20), ("2GiB", 2 << 30), ("100kB", 100_000), ("512", 512), ("512B", 512),
    ("1.5KiB", 1536),
    ("-1", nil), ("MiB", nil), ("64mib", nil), ("0x10", nil),
  ])
  func `read sizes`(text: String, bytes: Int?) {
    #expect(ByteSizeText.parse(text) == bytes)
  }
}

@Suite struct `A host pattern` {
  @Test(arguments: [
    ("example.com", "example.com", true), ("example.com", "EXAMPLE.com.", true),
    ("example.com", "exampleXcom", false), ("example.com", "example.com.evil", false),
    ("example.com", "sub.example.com", false), ("*.example.com", "sub.example.com", true),
    ("*.example.com", "a.b.example.com", true), ("*.example.com", "example.com", false),
    ("*.example.com", "badexample.com", false), ("*.example.com", "example.com.evil", false),
    ("127.0.0.1", "127.0.0.1", true), ("127.0.0.1", "1127.0.0.1", false),
  ])
  func `matches whole labels`(pattern: String, host: String, matches: Bool) throws {
    #expect(try #require(HostPattern(pattern)).matches(host: host) == matches)
  }

  @Test(arguments: ["", "*", "*.", "a..b", "a/b", "a b", "http://a", "*.*.com", "a.*"])
  func `is refused where it is no name`(text: String) {
    #expect(HostPattern(text) == nil)
  }
}

@Suite struct `A network address` {
  @Test(arguments: [
    "127.0.0.1", "0.0.0.0", "255.255.255.255", "::", "::1", "fe80::1", "2001:db8::1:0:0:1",
    "1:2:3:4:5:6:7:8",
    "::ffff:7f00:1", "64:ff9b::",
  ])
  func `reads and writes the usual form`(text: String) throws {
    #expect(try #require(NetworkAddress(text)).description == text)
  }

  @Test(arguments: [
    "", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4", "1:2", ":::", "1::2::3", "12345::", "g::",
    "::1%eth0",
  ])
  func `refuses other texts`(text: String) {
    #expect(NetworkAddress(text) == nil)
  }

  @Test func `carries IPv4 at an IPv6 address's end`() throws {
    #expect(try #require(NetworkAddress("::ffff:127.0.0.1")).description == "::ffff:7f00:1")
  }

  @Test(arguments: [
    ("127.0.0.0/8", "127.255.0.1", true), ("127.0.0.0/8", "128.0.0.1", false),
    ("10.1.2.3", "10.1.2.3", true),
    ("10.1.2.3", "10.1.2.4", false), ("fd00::/7", "fc12::1", true), ("fd00::/7", "fe00::1", false),
    ("0.0.0.0/0", "9.9.9.9", true), ("::/0", "9.9.9.9", false),
    ("172.16.0.0/12", "172.31.255.255", true),
    ("172.16.0.0/12", "172.32.0.0", false),
  ])
  func `lies in a range or not`(range: String, address: String, contains: Bool) throws {
    let range = try #require(AddressRange(range))
    #expect(range.contains(try #require(NetworkAddress(address))) == contains)
  }
}

@Suite struct `An item's id` {
  @Test(arguments: ["a", "sku-1", "a/b/c.d", "ü 1", "a@2x", "CON", ".hidden", "a..b"])
  func `may hold what a file name may`(text: String) throws {
    #expect(try ItemID(text).text == text)
  }

  @Test(arguments: [
    "", "/a", "a/", "a//b", ".", "..", "a/../b", "a/./b", "a\nb", "a\0b", ".tw-x",
    String(repeating: "x", count: 201),
  ])
  func `may not leave its folder`(text: String) {
    #expect(throws: BadItemID.self) { try ItemID(text) }
  }
}

@Suite struct `A recipe` {
  @Test func `is read back from its canonical text`() {
    var spec = VariantSpec(name: "thumb", width: 200, height: 100)
    spec.fit = .cover
    spec.quality = 70
    spec.background = .init(red: 1, green: 2, blue: 250)
    spec.dpr = [1, 2]
    let encoders = EncoderVersions([.webp: "vips-8.14.1+webp-7.1.5", .png: "vips-8.14.1"])
    for named in spec.recipes(by: encoders) {
      #expect(Recipe(canonicalText: named.recipe.canonicalText) == named.recipe)
    }
    #expect(spec.recipes(by: encoders).map(\.name) == ["thumb", "thumb@2x"])
    #expect(spec.recipes(by: encoders)[1].recipe.width == 400)
    #expect(EncoderVersions(text: encoders.text) == encoders)
    #expect(EncoderVersions(text: "") == .unknown)
  }

  @Test func `is another by another encoder of its own format only`() {
    var spec = VariantSpec(name: "thumb", width: 200)
    let old = EncoderVersions([.jpeg: "vips-8.14.1", .webp: "w1", .avif: "a1"])
    let new = EncoderVersions([.jpeg: "vips-8.14.1", .webp: "w2", .avif: "a1"])
    let isOther: [VariantSpec.Format: Bool] = [
      .jpeg: false, .avif: false, .png: false, .webp: true, .auto: true,
    ]
    for (format, expected) in isOther {
      spec.format = format
      #expect(
        (Recipe(of: spec, ratio: 1, by: old) != Recipe(of: spec, ratio: 1, by: new)) == expected,
        "\(format)")
    }
  }

  @Test func `of another processing version is not read`() {
    let text = Recipe(of: VariantSpec(name: "a", width: 1), ratio: 1).canonicalText
    #expect(Recipe(canonicalText: "p0" + text.dropFirst(2)) == nil)
  }
}

@Suite struct `A digest` {
  @Test func `is read back from its text and bytes`() throws {
    let hex = "00112233445566778899aabbccddeeff0123456789abcdeffedcba9876543210"
    let digest = try #require(Digest(hex: hex))
    #expect(digest.description == hex)
    #expect(Digest(bytes: digest.bytes) == digest)
    #expect(EntryKey(digest).description == String(hex.prefix(32)))
    #expect(Digest(hex: hex.dropLast()) == nil)
    #expect(Digest(hex: "g" + hex.dropFirst()) == nil)
  }
}

@Suite struct `An id's slashes` {
  @Test(arguments: ["../\u{301}x", "a/../\u{301}b", "/\u{301}x", "a//\u{301}b"])
  func `are seen under a combining mark`(_ text: String) {
    #expect(throws: BadItemID.self) { try ItemID(text) }
  }

  @Test func `are not all that makes ids differ`() throws {
    let (one, two) = (try ItemID("caf\u{E9}"), try ItemID("cafe\u{301}"))
    #expect(one != two && Set([one, two]).count == 2 && two < one)
  }
}
