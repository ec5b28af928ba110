/// The directives of a Cache-Control field that a shared cache acts on.
///
/// Reading is lenient where leniency is the stricter choice and never fails: what is not understood
/// is passed over, what is contradictory takes the stricter reading.
///
/// - Source: RFC 9111 §5.2; RFC 5861 (stale-*), RFC 8246 (immutable).
package struct CacheControl: Sendable, Hashable {
  /// Directives that are there or not; an argument of theirs changes nothing.
  package struct Flags: OptionSet, Sendable, Hashable {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    package static let noStore = Flags(rawValue: 1 << 0)
    /// With or without field names: we hold the whole response back either way.
    package static let noCache = Flags(rawValue: 1 << 1)
    /// With or without field names, as `noCache`.
    package static let isPrivate = Flags(rawValue: 1 << 2)
    package static let isPublic = Flags(rawValue: 1 << 3)
    package static let mustRevalidate = Flags(rawValue: 1 << 4)
    package static let proxyRevalidate = Flags(rawValue: 1 << 5)
    package static let mustUnderstand = Flags(rawValue: 1 << 6)
    package static let immutable = Flags(rawValue: 1 << 7)
  }

  /// A number of seconds that a directive carries.
  package enum Seconds: Sendable, Hashable {
    case absent
    /// 0 to 2³¹.
    case value(Int64)
    /// No non-negative integer: counts as 0.
    case invalid
    /// The directive stands there more than once with different numbers: counts as 0.
    case conflicting

    /// Adds another occurrence of the directive.
    mutating func add(_ other: Seconds) {
      self = self == .absent || self == other ? other : .conflicting
    }

    /// Nil where the directive is absent; 0 where it cannot be used.
    var lifetime: Int64? {
      switch self {
      case .absent: nil
      case .value(let seconds): seconds
      case .invalid, .conflicting: 0
      }
    }

    /// Nil where the directive is absent or cannot be used.
    var usable: Int64? {
      if case .value(let seconds) = self { seconds } else { nil }
    }
  }

  package var flags: Flags = []
  package var maxAge = Seconds.absent
  package var sMaxAge = Seconds.absent
  package var staleIfError = Seconds.absent
  package var staleWhileRevalidate = Seconds.absent

  package init() {}

  /// - Parameter lines: the values of the field's lines, in order.
  package init(_ lines: [String]) {
    for line in lines { add(line.utf8.span) }
  }

  /// Adds the directives of one line: several lines are one list.
  mutating func add(_ line: Span<UInt8>) {
    var at = 0
    while let member = DirectiveMember(in: line, from: &at) { add(member, in: line) }
  }

  private mutating func add(_ member: DirectiveMember, in line: Span<UInt8>) {
    let name = member.name
    switch name.count {
    case 6 where line.isNamed("public", in: name): flags.insert(.isPublic)
    case 7 where line.isNamed("max-age", in: name): maxAge.add(member.seconds(in: line))
    case 7 where line.isNamed("private", in: name): flags.insert(.isPrivate)
    case 8 where line.isNamed("no-store", in: name): flags.insert(.noStore)
    case 8 where line.isNamed("no-cache", in: name): flags.insert(.noCache)
    case 8 where line.isNamed("s-maxage", in: name): sMaxAge.add(member.seconds(in: line))
    case 9 where line.isNamed("immutable", in: name): flags.insert(.immutable)
    case 14 where line.isNamed("stale-if-error", in: name):
      staleIfError.add(member.seconds(in: line))
    case 15 where line.isNamed("must-revalidate", in: name): flags.insert(.mustRevalidate)
    case 15 where line.isNamed("must-understand", in: name): flags.insert(.mustUnderstand)
    case 16 where line.isNamed("proxy-revalidate", in: name): flags.insert(.proxyRevalidate)
    case 22 where line.isNamed("stale-while-revalidate", in: name):
      staleWhileRevalidate.add(member.seconds(in: line))
    default: break  // RFC 9111 §5.2.3: unknown directives are ignored
    }
  }
}

/// One member of a list of directives, by its places within the line.
private struct DirectiveMember {
  let name: Range<Int>
  /// Without its quotes; nil where there is no `=`.
  private var argument: Range<Int>?
  /// Blanks around `=`, or something behind a closing quote.
  private var isMalformed = false

  /// Reads the next member at or after `at` and leaves `at` behind it. Nil at the line's end.
  init?(in line: Span<UInt8>, from at: inout Int) {
    while at < line.count, line[at].isBlank || line[at] == comma { at += 1 }
    guard at < line.count else { return nil }
    let start = at
    if line[at] == quote, let closing = line.closingQuote(ofQuoteAt: at) { at = closing + 1 }
    while at < line.count, line[at] != comma, line[at] != equals { at += 1 }
    name = line.trimmed(start..<at)
    guard at < line.count, line[at] == equals else { return }
    isMalformed = name.upperBound != at
    readArgument(in: line, from: &at)
  }

  private mutating func readArgument(in line: Span<UInt8>, from at: inout Int) {
    at += 1
    let start = at
    while at < line.count, line[at].isBlank { at += 1 }
    if at > start { isMalformed = true }
    if at < line.count, line[at] == quote, let closing = line.closingQuote(ofQuoteAt: at) {
      argument = at + 1..<closing
      at = line.next(comma, from: closing)
      if !line.trimmed(closing + 1..<at).isEmpty { isMalformed = true }
    } else {
      let from = at
      at = line.next(comma, from: at)
      argument = line.trimmed(from..<at)
    }
  }

  /// RFC 9111 §5.2: both forms of an argument are to be read, `60` and `"60"`.
  func seconds(in line: Span<UInt8>) -> CacheControl.Seconds {
    guard let argument, !isMalformed, let seconds = line.deltaSeconds(in: argument) else {
      return .invalid
    }
    return .value(seconds)
  }
}

private let comma = UInt8(ascii: ",")
private let equals = UInt8(ascii: "=")
private let quote = UInt8(ascii: "\"")
