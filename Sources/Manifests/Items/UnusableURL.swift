import Vocabulary

/// A text in a URL's place that is none, made fit for logs and reports.
struct UnusableURL {
  let shown: String
  let failure: FailureRecord

  init(_ text: String, reason: BadURL) {
    let authority = Self.authority(in: text)
    let lastAt = text.prefix { $0 != "?" && $0 != "#" }.lastIndex(of: "@")
    // A password may hold a slash, which ends what a parser takes for the authority: then its first
    // half looks like a port.
    let hidesPassword = authority.contains("@") || (lastAt != nil && authority.contains(":"))
    var known = text.prefix { $0 != "?" }
    var shown = ""
    if hidesPassword, let lastAt {
      shown = "\(text[..<authority.startIndex])REDACTED"
      known = known[lastAt...]
    }
    let query = text.contains("?") ? "?…" : ""
    self.shown = Shown.plain("\(shown)\(known)", most: 200) + query
    var failure = FailureRecord(hidesPassword && reason.quotesAuthority ? BadURL.userInfo : reason)
    failure.message = Shown.plain(failure.message, most: 300)
    self.failure = failure
  }

  /// What stands between `//`, or a scheme's colon, and the path.
  private static func authority(in text: String) -> Substring {
    var rest = text[...]
    if let colon = rest.firstIndex(of: ":"), rest[..<colon].allSatisfy({ $0.isLetter }) {
      rest = rest[rest.index(after: colon)...]
    }
    while rest.first == "/" { rest = rest.dropFirst() }
    return rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" && $0 != "\\" }
  }
}

extension BadURL {
  /// Whether its message shows a part of what should have been a host and a port.
  fileprivate var quotesAuthority: Bool {
    switch self {
    case .badHost, .badPort: true
    default: false
    }
  }
}
