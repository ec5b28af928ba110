/// What a job may send along with its requests.
enum HeaderRules {
  /// Headers that belong to a transfer, to the conditions under which we ask, or to a proxy.
  static let ours: Set<String> = [
    "accept-encoding", "connection", "content-length", "expect", "host", "if-match",
    "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "keep-alive",
    "proxy-authorization", "proxy-connection", "range", "te", "trailer", "transfer-encoding",
    "upgrade", "user-agent",
  ]

  /// RFC 9110 §5.6.2: a token.
  static func isName(_ name: String) -> Bool {
    !name.isEmpty
      && name.utf8.allSatisfy {
        (0x61...0x7A).contains($0 | 0x20) || (0x30...0x39).contains($0)
          || "!#$%&'*+-.^_`|~".utf8.contains($0)
      }
  }

  /// No control character but a tab: a line break would start a header of its own.
  static func isValueByte(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F || byte == 0x09 }
}

/// A header's value with `${NAME}` in it.
struct HeaderTemplate {
  enum Part: Hashable {
    case literal(Substring)
    case variable(Substring)
  }

  let parts: [Part]

  /// - Returns: nil where a `${` has no `}` or no name of letters, digits and `_` between.
  init?(_ text: String) {
    var parts: [Part] = []
    var rest = text[...]
    while let open = rest.firstRange(of: "${") {
      if open.lowerBound > rest.startIndex { parts.append(.literal(rest[..<open.lowerBound])) }
      guard let close = rest[open.upperBound...].firstIndex(of: "}") else { return nil }
      let name = rest[open.upperBound..<close]
      guard Self.isVariableName(name) else { return nil }
      parts.append(.variable(name))
      rest = rest[rest.index(after: close)...]
    }
    if !rest.isEmpty { parts.append(.literal(rest)) }
    self.parts = parts
  }

  var hasVariable: Bool { parts.contains { if case .variable = $0 { true } else { false } } }

  private static func isVariableName(_ name: Substring) -> Bool {
    guard let first = name.utf8.first, !(0x30...0x39).contains(first) else { return false }
    return name.utf8.allSatisfy {
      (0x61...0x7A).contains($0 | 0x20) || (0x30...0x39).contains($0) || $0 == 0x5F
    }
  }
}

extension Substring {
  /// The standard library's own search wants the regular-expression library.
  fileprivate func firstRange(of dollarBrace: String) -> Range<Index>? {
    var i = startIndex
    while i < endIndex {
      if self[i...].hasPrefix(dollarBrace) { return i..<index(i, offsetBy: dollarBrace.count) }
      i = index(after: i)
    }
    return nil
  }
}
