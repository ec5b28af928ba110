import HTTPCaching
import Testing
import Vocabulary

@Suite struct `A Cache-Control field` {
  struct Row: CustomTestStringConvertible, Sendable {
    let section: String
    let lines: [String]
    let maxAge: CacheControl.Seconds
    let sMaxAge: CacheControl.Seconds
    let flags: CacheControl.Flags

    init(
      _ section: String, _ lines: String..., maxAge: CacheControl.Seconds = .absent,
      sMaxAge: CacheControl.Seconds = .absent, flags: CacheControl.Flags = []
    ) {
      self.section = section
      self.lines = lines
      self.maxAge = maxAge
      self.sMaxAge = sMaxAge
      self.flags = flags
    }

    var testDescription: String { "\(section): \(lines.joined(separator: " | "))" }
  }

  static let rows: [Row] = [
    // numbers
    Row("RFC 9111 §5.2.2.1", "max-age=60", maxAge: .value(60)),
    Row("RFC 9111 §5.2", "max-age=\"60\"", maxAge: .value(60)),
    Row("RFC 9111 §1.2.2, leading zeros", "max-age=003600", maxAge: .value(3600)),
    Row("RFC 9111 §1.2.2, single quotes", "max-age='60'", maxAge: .invalid),
    Row("RFC 9111 §1.2.2, letters behind", "max-age=60a", maxAge: .invalid),
    Row("RFC 9111 §1.2.2, letters before", "max-age=a60", maxAge: .invalid),
    Row("RFC 9111 §1.2.2, decimal", "max-age=60.5", maxAge: .invalid),
    Row("RFC 9111 §1.2.2, decimal zero", "max-age=60.0", maxAge: .invalid),
    Row("RFC 9111 §1.2.2, negative", "max-age=-60", maxAge: .invalid),
    Row("RFC 9111 §1.2.2, plus sign", "max-age=+60", maxAge: .invalid),
    Row("RFC 9111 §1.2.2, hexadecimal", "max-age=0x10", maxAge: .invalid),
    Row("RFC 9111 §1.2.2, empty", "max-age=", maxAge: .invalid),
    Row("RFC 9111 §1.2.2, empty string", "max-age=\"\"", maxAge: .invalid),
    Row("RFC 9111 §1.2.2, no argument", "max-age", maxAge: .invalid),
    Row("RFC 9111 §1.2.2, other digits", "max-age=٦٠", maxAge: .invalid),
    Row("RFC 9111 §5.2, blank before =", "max-age =60", maxAge: .invalid),
    Row("RFC 9111 §5.2, blank behind =", "max-age= 60", maxAge: .invalid),
    Row("RFC 9111 §5.2, tab behind =", "max-age=\t60", maxAge: .invalid),
    Row("RFC 9111 §5.2, blank and string", "max-age= \"60\"", maxAge: .invalid),
    Row("RFC 9111 §5.2, junk behind the string", "max-age=\"60\"1", maxAge: .invalid),
    Row("RFC 9111 §5.2, string left open", "max-age=\"60", maxAge: .invalid),
    Row("RFC 9111 §5.2, semicolon", "max-age=60; public", maxAge: .invalid),
    Row("RFC 9111 §1.2.2, 2³¹ − 1", "max-age=2147483647", maxAge: .value(2_147_483_647)),
    Row("RFC 9111 §1.2.2, 2³¹", "max-age=2147483648", maxAge: .value(2_147_483_648)),
    Row("RFC 9111 §1.2.2, 2³¹ + 1", "max-age=2147483649", maxAge: .value(2_147_483_648)),
    Row("RFC 9111 §1.2.2, large", "max-age=99999999999", maxAge: .value(2_147_483_648)),
    Row(
      "RFC 9111 §1.2.2, beyond 64 bits", "max-age=99999999999999999999999999",
      maxAge: .value(2_147_483_648)),
    // names
    Row("RFC 9111 §5.2, case", "MaX-aGe=60, No-StOrE", maxAge: .value(60), flags: .noStore),
    Row("RFC 9111 §5.2.3, unknown", "foobar, max-age=60, x=y", maxAge: .value(60)),
    Row("RFC 9111 §5.2.3, longer names", "xmax-age=1, max-agex=2, max-age=60", maxAge: .value(60)),
    // lists
    Row("RFC 9110 §5.6.1, empty members", ", ,max-age=60,, ,", maxAge: .value(60)),
    Row("RFC 9110 §5.6.1, nothing", ""),
    Row("RFC 9110 §5.6.1, commas alone", ",,,"),
    Row(
      "RFC 9110 §5.3, two lines", "max-age=60", "s-maxage=5", maxAge: .value(60), sMaxAge: .value(5)
    ),
    Row("RFC 9110 §5.6.3, tabs", "\tmax-age=60\t,\tpublic\t", maxAge: .value(60), flags: .isPublic),
    // quoted strings
    Row("RFC 9110 §5.6.4, opaque", "ext=\"max-age=3600\", max-age=1", maxAge: .value(1)),
    Row("RFC 9110 §5.6.4, opaque behind", "max-age=1, ext=\"max-age=3600\"", maxAge: .value(1)),
    Row("RFC 9110 §5.6.4, comma inside", "ext=\"a, no-store\", max-age=1", maxAge: .value(1)),
    Row(
      "RFC 9110 §5.6.4, escaped quote", "ext=\"a\\\", no-store\", max-age=1", maxAge: .value(1)),
    Row("RFC 9110 §5.6.4, string alone", "\"no-store\", max-age=1", maxAge: .value(1)),
    Row(
      "RFC 9110 §5.6.4, string left open: its comma divides", "ext=\"a, no-store", flags: .noStore),
    Row(
      "RFC 9111 §5.2.2.4, field names", "no-cache=\"set-cookie, a\", max-age=60",
      maxAge: .value(60),
      flags: .noCache),
    Row("RFC 9111 §5.2.2.7, field names", "private=\"x\"", flags: .isPrivate),
    Row("RFC 9111 §5.2.2.5, argument", "no-store=1", flags: .noStore),
    // twice
    Row("RFC 9111 §4.2.1, equal", "max-age=60, max-age=60", maxAge: .value(60)),
    Row(
      "RFC 9111 §4.2.1, equal in both forms", "max-age=60", "max-age=\"060\"", maxAge: .value(60)),
    Row("RFC 9111 §4.2.1, different", "max-age=1800, max-age=1", maxAge: .conflicting),
    Row("RFC 9111 §4.2.1, different lines", "max-age=1", "max-age=1800", maxAge: .conflicting),
    Row("RFC 9111 §4.2.1, one invalid", "max-age=60, max-age=x", maxAge: .conflicting),
    Row("RFC 9111 §4.2.1, three", "max-age=1, max-age=2, max-age=2", maxAge: .conflicting),
    // all flags
    Row(
      "RFC 9111 §5.2.2",
      "no-store, no-cache, private, public, must-revalidate, proxy-revalidate, must-understand",
      flags: [
        .noStore, .noCache, .isPrivate, .isPublic, .mustRevalidate, .proxyRevalidate,
        .mustUnderstand,
      ]),
    Row("RFC 8246 §2", "immutable", flags: .immutable),
  ]

  @Test(arguments: rows)
  func `is read without trust`(_ row: Row) {
    let control = CacheControl(row.lines)
    #expect(control.maxAge == row.maxAge)
    #expect(control.sMaxAge == row.sMaxAge)
    #expect(control.flags == row.flags)
  }

  @Test func `carries the times of RFC 5861`() {
    let control = CacheControl(["stale-while-revalidate=30, stale-if-error=\"60\""])
    #expect(control.staleWhileRevalidate == .value(30))
    #expect(control.staleIfError == .value(60))
  }
}

@Suite struct `A targeted field` {
  struct Row: CustomTestStringConvertible, Sendable {
    let section: String
    let lines: [String]
    /// Nil: the field is passed over.
    let expected: CacheControl?

    init(
      _ section: String, _ lines: [String], maxAge: CacheControl.Seconds,
      flags: CacheControl.Flags = []
    ) {
      self.section = section
      self.lines = lines
      var control = CacheControl()
      control.maxAge = maxAge
      control.flags = flags
      expected = control
    }

    init(ignored section: String, _ lines: String...) {
      self.section = section
      self.lines = lines
      expected = nil
    }

    var testDescription: String { "\(section): \(lines.joined(separator: " | "))" }
  }

  static let rows: [Row] = [
    Row("RFC 9213 §2.1", ["max-age=60"], maxAge: .value(60)),
    Row("RFC 9213 §2.1", ["no-store, max-age=60"], maxAge: .value(60), flags: .noStore),
    Row("RFC 9213 §2.1, unknown directives", ["foobar, max-age=60, x=(1 2);a"], maxAge: .value(60)),
    Row("RFC 9213 §2.1, parameters", ["max-age=60;a;b=\"x\";c=?0"], maxAge: .value(60)),
    Row("RFC 9213 §2.1, field names", ["no-cache=\"a\""], maxAge: .absent, flags: .noCache),
    Row("RFC 8941 §3.2, blanks around commas", ["a \t, \t max-age=1"], maxAge: .value(1)),
    Row("RFC 8941 §3.2, last value", ["max-age=1, max-age=2"], maxAge: .value(2)),
    Row("RFC 8941 §3.3.6, false", ["no-store=?0, max-age=1"], maxAge: .value(1)),
    Row("RFC 8941 §3.3.6, true", ["no-store=?1"], maxAge: .absent, flags: .noStore),
    Row("RFC 8941 §4.2, two lines", ["max-age=1", "no-cache"], maxAge: .value(1), flags: .noCache),
    Row(
      "RFC 8941 §3.3, every type",
      ["a=1, b=-1.5, c=\"s\\\"\", d=tok/en:x, e=:YWJj:, f=?0, g=(a \"b\";c 1), max-age=1"],
      maxAge: .value(1)),
    Row("RFC 9111 §1.2.2, large", ["max-age=99999999999"], maxAge: .value(2_147_483_648)),
    Row("RFC 9111 §1.2.2, negative", ["max-age=-60"], maxAge: .invalid),
    Row(ignored: "RFC 9213 §2.1, missing"),
    Row(ignored: "RFC 9213 §2.1, empty", ""),
    Row(ignored: "RFC 8941 §3.1.2, key in upper case", "MaX-aGe=60"),
    Row(ignored: "RFC 8941 §4.2.2, blank before =", "max-age =60"),
    Row(ignored: "RFC 8941 §4.2.2, blank behind =", "max-age= 60"),
    Row(ignored: "RFC 8941 §4.2.2, trailing comma", "max-age=60,"),
    Row(ignored: "RFC 8941 §4.2.2, empty member", "max-age=60,,no-store"),
    Row(ignored: "RFC 8941 §4.2.2, no key", "max-age=60, &&&&&"),
    Row(ignored: "RFC 8941 §4.2.2, semicolon between", "max-age=60; , no-store"),
    Row(ignored: "RFC 8941 §4.2.4, 16 digits", "max-age=1234567890123456"),
    Row(ignored: "RFC 8941 §4.2.5, open string", "no-cache=\"a"),
    Row(ignored: "RFC 8941 §4.2.1.2, open list", "a=(1 2, max-age=60"),
    Row(ignored: "RFC 9651, not this generation", "a=@1659578233, max-age=60"),
    Row(ignored: "RFC 9213 §2.1, string for a number", "max-age=\"60\""),
    Row(ignored: "RFC 9213 §2.1, decimal for a number", "max-age=60.5"),
    Row(ignored: "RFC 9213 §2.1, nothing for a number", "max-age"),
    Row(ignored: "RFC 9213 §2.1, number for nothing", "no-store=1, max-age=60"),
    Row(ignored: "RFC 9213 §2.1, list for field names", "private=(\"a\")"),
  ]

  @Test(arguments: rows)
  func `is read strictly or not at all`(_ row: Row) {
    #expect(CacheControl(targeted: row.lines) == row.expected)
  }
}
