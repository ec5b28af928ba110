/// An absolute http or https URL as it goes out, without its fragment.
///
/// Written as the manifest has it but for: scheme and host in lower case, the default port dropped,
/// an empty path made `/`, bytes that no URL may hold percent-encoded once (existing escapes are
/// left alone). Its `description` hides what may be a secret; `unredactedText` does not.
package struct ItemURL: Sendable, Hashable {
  /// With every signature and token: for the request and the ledger, never for a log or a report.
  package let unredactedText: String
  package let isSecure: Bool
  /// Lower case; an IPv6 address keeps its brackets.
  package let host: String
  package let port: UInt16

  /// Scheme, host and port: what credentials belong to (RFC 6454).
  package struct Origin: Sendable, Hashable {
    package let isSecure: Bool
    package let host: String
    package let port: UInt16
  }

  package var origin: Origin { Origin(isSecure: isSecure, host: host, port: port) }

  /// Path and query.
  package var target: Substring {
    let afterScheme = unredactedText.utf8.index(
      unredactedText.utf8.startIndex, offsetBy: isSecure ? 8 : 7)
    let slash = unredactedText.utf8[afterScheme...].firstIndex(of: UInt8(ascii: "/"))
    return unredactedText[slash!...]
  }

  /// - Throws: `BadURL` for another scheme, no host, user info, a bad port or host, or over 8,192 bytes.
  package init(_ text: String) throws(BadURL) {
    if let plain = ItemURL(plain: text) {
      self = plain
      return
    }
    let bytes = Array(text.utf8)
    let trimmed = bytes.trimmingASCIIBlanks
    guard trimmed.count <= 8192 else { throw .tooLong(bytes: trimmed.count) }
    guard let colon = trimmed.firstIndex(of: UInt8(ascii: ":")) else { throw .notAbsolute }
    let scheme = String(decoding: trimmed[..<colon], as: UTF8.self).lowercased()
    guard scheme == "http" || scheme == "https" else {
      // A colon that is no scheme's ("example.com:80/a.jpg", "/a:b") is a relative URL.
      guard scheme.utf8.allSatisfy(\.isSchemeByte), !scheme.isEmpty else { throw .notAbsolute }
      throw .unsupportedScheme(scheme)
    }
    isSecure = scheme == "https"
    var rest = trimmed[(colon + 1)...]
    guard rest.starts(with: "//".utf8) else { throw .noHost }
    rest = rest.dropFirst(2)
    if let fragment = rest.firstIndex(of: UInt8(ascii: "#")) { rest = rest[..<fragment] }
    let authorityEnd =
      rest.firstIndex {
        $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "\\")
      }
      ?? rest.endIndex
    let authority = rest[..<authorityEnd]
    guard !authority.contains(UInt8(ascii: "@")) else { throw .userInfo }
    (host, port) = try Self.hostAndPort(authority, isSecure: isSecure)

    var out = Array((isSecure ? "https://" : "http://").utf8)
    out.reserveCapacity(trimmed.count + 8)
    out.append(contentsOf: host.utf8)
    if port != (isSecure ? 443 : 80) { out.append(contentsOf: ":\(port)".utf8) }
    let target = rest[authorityEnd...]
    if target.first != UInt8(ascii: "/") { out.append(UInt8(ascii: "/")) }
    for byte in target { out.appendEncodingIllegalByte(byte) }
    unredactedText = String(decoding: out, as: UTF8.self)
  }

  /// Takes a URL that goes out exactly as it is written, which nearly every one does, in one look at
  /// each byte: lower case up to the path, no port or one that it needs, a path, no fragment, nothing to encode.
  ///
  /// - Returns: nil for any other, good or bad.
  private init?(plain text: String) {
    let found = text.utf8.withContiguousStorageIfAvailable { bytes -> (Bool, String, UInt16)? in
      guard (10...8192).contains(bytes.count) else { return nil }
      let isSecure = bytes[4] == UInt8(ascii: "s")
      let scheme: StaticString = isSecure ? "https://" : "http://"
      for i in 0..<scheme.utf8CodeUnitCount where bytes[i] != scheme.utf8Start[i] { return nil }
      var hostEnd = scheme.utf8CodeUnitCount
      while hostEnd < bytes.count, bytes[hostEnd].isPlainHostByte { hostEnd += 1 }
      let host = UnsafeBufferPointer(rebasing: bytes[scheme.utf8CodeUnitCount..<hostEnd])
      guard let (port, targetStart) = Self.plainPort(at: hostEnd, of: bytes, isSecure: isSecure),
        targetStart < bytes.count, bytes[targetStart] == UInt8(ascii: "/"),
        (2...253).contains(host.count)
      else { return nil }
      for byte in UnsafeBufferPointer(rebasing: bytes[targetStart...])
      where !byte.isLegalInTarget || byte == UInt8(ascii: "#") {
        return nil
      }
      return (isSecure, String(decoding: host, as: UTF8.self), port)
    }
    guard let found, let (isSecure, host, port) = found else { return nil }
    unredactedText = text
    self.isSecure = isSecure
    self.host = host
    self.port = port
  }

  /// - Returns: the port and where what follows it begins; nil where it goes out otherwise than it is written.
  private static func plainPort(
    at hostEnd: Int, of bytes: UnsafeBufferPointer<UInt8>, isSecure: Bool
  ) -> (UInt16, Int)? {
    let usual: UInt16 = isSecure ? 443 : 80
    guard hostEnd < bytes.count, bytes[hostEnd] == UInt8(ascii: ":") else {
      return (usual, hostEnd)
    }
    var (value, end) = (0, hostEnd + 1)
    while end < bytes.count, end < hostEnd + 6, bytes[end].isASCIIDigit {
      value = value * 10 + Int(bytes[end] - UInt8(ascii: "0"))
      end += 1
    }
    guard end > hostEnd + 1, bytes[hostEnd + 1] != UInt8(ascii: "0"), value != Int(usual),
      let port = UInt16(exactly: value)
    else { return nil }
    return (port, end)
  }

  /// Resolves a redirect's `Location` against this URL (RFC 3986 §5.2).
  package func resolving(_ reference: String) throws(BadURL) -> ItemURL {
    let scheme = isSecure ? "https" : "http"
    let authority = unredactedText.prefix(unredactedText.utf8.count - target.utf8.count)
    if reference.hasPrefix("//") { return try ItemURL("\(scheme):\(reference)") }
    if let colon = reference.utf8.firstIndex(of: UInt8(ascii: ":")),
      colon != reference.startIndex,
      reference[..<colon].utf8.allSatisfy(\.isSchemeByte)
    {
      return try ItemURL(reference)
    }
    if reference.hasPrefix("/") {
      let end = reference.firstIndex { $0 == "?" || $0 == "#" } ?? reference.endIndex
      return try ItemURL(
        "\(authority)\(removingDotSegments(reference[..<end]))\(reference[end...])")
    }
    let path = target.prefix { $0 != "?" }
    if reference.isEmpty || reference.hasPrefix("#") { return self }
    if reference.hasPrefix("?") { return try ItemURL("\(authority)\(path)\(reference)") }
    let folder = path[...(path.lastIndex(of: "/") ?? path.startIndex)]
    let end = reference.firstIndex { $0 == "?" || $0 == "#" } ?? reference.endIndex
    return try ItemURL(
      "\(authority)\(removingDotSegments(folder + reference[..<end]))\(reference[end...])")
  }

  /// Resolves a reference that came over the wire: behind a host, bytes that are no ASCII are
  /// percent-encoded as they are, whatever encoding they are in.
  package func resolving(bytes reference: [UInt8]) throws(BadURL) -> ItemURL {
    let host = reference.authority
    let text =
      escaped(reference[..<host.lowerBound]) + String(decoding: reference[host], as: UTF8.self)
      + escaped(reference[host.upperBound...])
    return try resolving(text)
  }

  private static func hostAndPort(
    _ authority: ArraySlice<UInt8>, isSecure: Bool
  ) throws(BadURL) -> (String, UInt16) {
    var hostBytes = authority
    var port: UInt16 = isSecure ? 443 : 80
    let isBracketed = authority.first == UInt8(ascii: "[")
    let bracket = authority.lastIndex(of: UInt8(ascii: "]")) ?? (isBracketed ? .max : -1)
    if let colon = authority.lastIndex(of: UInt8(ascii: ":")), colon > bracket {
      hostBytes = authority[..<colon]
      let digits = authority[(colon + 1)...]
      if !digits.isEmpty {
        guard digits.allSatisfy(\.isASCIIDigit),
          let number = UInt16(String(decoding: digits, as: UTF8.self)), number > 0
        else { throw .badPort(String(decoding: digits, as: UTF8.self)) }
        port = number
      }
    }
    guard !hostBytes.isEmpty else { throw .noHost }
    let host = String(decoding: hostBytes, as: UTF8.self).lowercased()
    let allowed =
      hostBytes.first == UInt8(ascii: "[")
      ? hostBytes.last == UInt8(ascii: "]")
        && hostBytes.dropFirst().dropLast().allSatisfy {
          $0.isASCIIHexDigit || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".")
        }
      : hostBytes.allSatisfy(\.isHostByte)
    guard allowed, hostBytes.count <= 253, host != "." else { throw .badHost(host) }
    return (host, port)
  }
}

extension ItemURL: CustomStringConvertible {
  /// The URL with the values of signature-like query parameters hidden: fit for logs and reports.
  package var description: String {
    guard let question = unredactedText.utf8.firstIndex(of: UInt8(ascii: "?")) else {
      return unredactedText
    }
    let query = unredactedText[unredactedText.index(after: question)...]
    let shown = query.split(separator: "&", omittingEmptySubsequences: false).map { pair in
      guard let equals = pair.firstIndex(of: "="),
        Self.isSecretParameter(pair[..<equals])
      else { return String(pair) }
      return "\(pair[..<equals])=REDACTED"
    }
    return "\(unredactedText[...question])\(shown.joined(separator: "&"))"
  }

  /// Parameters whose values grant access: signatures of S3, CloudFront, Azure and Google, and
  /// whatever calls itself a token, key, secret or password.
  private static func isSecretParameter(_ name: some StringProtocol) -> Bool {
    let name = name.lowercased()
    let whole: Set<String> = [
      "sig", "se", "sv", "sp", "key", "hmac", "auth", "pwd", "policy", "key-pair-id",
      "x-amz-credential",
      "x-goog-credential", "jwt", "code",
    ]
    return whole.contains(name)
      || [
        "signature", "token", "secret", "password", "apikey", "api_key", "api-key", "access_key",
        "accesskey",
      ]
      .contains { name.contains($0) }
  }
}

/// Why a text is no URL that we can fetch; the item's failure, never the manifest's.
package enum BadURL: WorkerFailure, Hashable {
  case notAbsolute
  case unsupportedScheme(String)
  case noHost
  case userInfo
  case badHost(String)
  case badPort(String)
  case tooLong(bytes: Int)

  package var code: String { "bad-url" }

  package var message: String {
    switch self {
    case .notAbsolute: "not an absolute URL"
    case .unsupportedScheme(let scheme): "the scheme \"\(scheme)\" is not supported"
    case .noHost: "the URL names no host"
    case .userInfo: "the URL holds user info before an @"
    case .badHost(let host): "\"\(host)\" is no host name"
    case .badPort(let port): "\"\(port)\" is no port"
    case .tooLong(let bytes): "the URL has \(bytes) bytes, over the limit of 8192"
    }
  }

  package var hint: String {
    switch self {
    case .notAbsolute, .unsupportedScheme: "give a URL that starts with http:// or https://"
    case .userInfo: "put credentials into network.headers, with their value from the environment"
    case .noHost, .badHost, .badPort, .tooLong: "correct the URL in the manifest"
    }
  }

  package var disposition: Disposition { .giveUp }
}

/// RFC 3986 §5.2.4, for the path of a redirect's target.
private func removingDotSegments(_ path: some StringProtocol) -> String {
  var kept: [Substring] = []
  let segments = String(path).split(separator: "/", omittingEmptySubsequences: false)
  for (i, segment) in segments.enumerated() {
    let isLast = i == segments.count - 1
    switch segment {
    case ".": if isLast { kept.append("") }
    case "..":
      if kept.count > 1 { kept.removeLast() }
      if isLast { kept.append("") }
    default: kept.append(segment)
    }
  }
  let joined = kept.joined(separator: "/")
  return joined.hasPrefix("/") ? joined : "/" + joined
}

/// With `%XX` for every byte that is no ASCII.
private func escaped(_ bytes: ArraySlice<UInt8>) -> String {
  var out: [UInt8] = []
  for byte in bytes {
    if byte < 0x80 { out.append(byte) } else { out.appendPercentEncoded(byte) }
  }
  return String(decoding: out, as: UTF8.self)
}

extension Array<UInt8> {
  /// Where a reference's host stands; empty at the start for one that has none.
  fileprivate var authority: Range<Int> {
    let schemeEnd = firstIndex { !$0.isSchemeByte } ?? count
    let hasScheme = schemeEnd > 0 && schemeEnd < count && self[schemeEnd] == UInt8(ascii: ":")
    let slashes = hasScheme ? schemeEnd + 1 : 0
    guard self[slashes...].starts(with: "//".utf8) else { return 0..<0 }
    let end = self[(slashes + 2)...].firstIndex { "/?#\\".utf8.contains($0) }
    return slashes + 2..<(end ?? count)
  }

  fileprivate var trimmingASCIIBlanks: ArraySlice<UInt8> {
    let isBlank: (UInt8) -> Bool = { $0 == 0x20 || (0x09...0x0D).contains($0) }
    guard let first = firstIndex(where: { !isBlank($0) }),
      let last = lastIndex(where: { !isBlank($0) })
    else { return [] }
    return self[first...last]
  }

  /// Printable ASCII goes out as it is, but for the characters that RFC 3986 §2 leaves out of every
  /// URL; anything else as `%XX`.
  fileprivate mutating func appendEncodingIllegalByte(_ byte: UInt8) {
    if byte.isLegalInTarget { append(byte) } else { appendPercentEncoded(byte) }
  }

  fileprivate mutating func appendPercentEncoded(_ byte: UInt8) {
    let digits = Array("0123456789ABCDEF".utf8)
    append(contentsOf: [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]])
  }
}

extension UInt8 {
  /// What an URL may hold behind its host: printable, and not one of `"<>\^`{|}` (RFC 3986 §2).
  fileprivate var isLegalInTarget: Bool {
    let bits: UInt64 = self < 64 ? 0xAFFF_FFFA_0000_0000 : 0x47FF_FFFE_AFFF_FFFF
    return self < 128 && bits >> UInt64(self & 63) & 1 == 1
  }
  /// Of `isHostByte`, those that stay as they are.
  fileprivate var isPlainHostByte: Bool {
    switch self {
    case 0x2D, 0x2E, 0x30...0x39, 0x5F, 0x61...0x7A: true
    default: false
    }
  }
  fileprivate var isASCIIDigit: Bool { (0x30...0x39).contains(self) }
  fileprivate var isASCIILetter: Bool { (0x61...0x7A).contains(self | 0x20) }
  fileprivate var isASCIIHexDigit: Bool { isASCIIDigit || (0x61...0x66).contains(self | 0x20) }
  fileprivate var isSchemeByte: Bool {
    isASCIILetter || isASCIIDigit || self == 0x2B || self == 0x2D || self == 0x2E
  }
  /// RFC 3986 `reg-name` without sub-delims, and non-ASCII for names that become punycode.
  fileprivate var isHostByte: Bool {
    isASCIILetter || isASCIIDigit || self == 0x2D || self == 0x2E || self == 0x5F || self >= 0x80
  }
}
