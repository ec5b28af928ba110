/// The proxy that requests go through: `http://proxy.example:3128`.
///
/// Its `description` hides user and password.
package struct ProxySettings: Sendable, Hashable {
  package enum Kind: String, Sendable, Hashable, CaseIterable {
    /// Tunnels by CONNECT for https, requests in absolute form for http.
    case http
    /// The same, over TLS to the proxy.
    case https
    /// RFC 1928. `socks5h`, where the proxy would look up the name, is the same here: the proxy is
    /// given an address.
    case socks5
  }

  package struct Credentials: Sendable, Hashable {
    package var user: String
    package var password: String

    package init(user: String, password: String) {
      self.user = user
      self.password = password
    }
  }

  package var kind: Kind
  /// Lower case; an IPv6 address keeps its brackets.
  package var host: String
  package var port: UInt16
  package var credentials: Credentials?

  /// - Parameter text: `KIND://[USER[:PASSWORD]@]HOST:PORT`, user and password percent-encoded where
  ///   they hold what separates.
  package init(_ text: String) throws(BadProxy) {
    guard let mark = text.range(ofFirst: "://") else { throw .notAProxy }
    kind = try Self.kind(named: text[..<mark.lowerBound].lowercased())
    var rest = text[mark.upperBound...]
    if rest.hasSuffix("/") { rest.removeLast() }
    if let at = rest.lastIndex(of: "@") {
      credentials = try Self.credentials(rest[..<at])
      rest = rest[rest.index(after: at)...]
    }
    guard let colon = rest.lastIndex(of: ":"), rest.index(after: colon) < rest.endIndex,
      rest[colon...].dropFirst().utf8.allSatisfy({ (0x30...0x39).contains($0) })
    else { throw .noPort }
    guard let url = try? ItemURL("http://\(rest)/"), url.target == "/" else { throw .notAProxy }
    host = url.host
    port = url.port
  }

  private static func kind(named name: String) throws(BadProxy) -> Kind {
    switch name {
    case "socks5h": return .socks5
    case "socks", "socks4", "socks4a": throw .unsupportedKind(name)
    default:
      guard let kind = Kind(rawValue: name) else { throw .notAProxy }
      return kind
    }
  }

  private static func credentials(_ userInfo: Substring) throws(BadProxy) -> Credentials {
    let parts = userInfo.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard let user = parts[0].percentDecoded,
      let password = parts.count == 2 ? parts[1].percentDecoded : ""
    else { throw .notAProxy }
    return Credentials(user: user, password: password)
  }
}

extension ProxySettings: CustomStringConvertible {
  package var description: String { "\(kind.rawValue)://\(host):\(port)" }
}

/// Why a text names no proxy that we can use. It shows nothing of the text: there may be a password in it.
package enum BadProxy: Error, Sendable, Hashable {
  case notAProxy
  case noPort
  case unsupportedKind(String)

  package var message: String {
    switch self {
    case .notAProxy: "is no proxy: write it as \"http://HOST:PORT\", or with https or socks5"
    case .noPort: "names no port: write it as \"http://HOST:PORT\""
    case .unsupportedKind(let kind):
      "\(kind):// proxies are not supported: use http, https or socks5"
    }
  }
}

extension StringProtocol {
  fileprivate func range(ofFirst mark: String) -> Range<Index>? {
    var start = startIndex
    while start < endIndex {
      if self[start...].hasPrefix(mark) { return start..<index(start, offsetBy: mark.count) }
      start = index(after: start)
    }
    return nil
  }
}

extension StringProtocol {
  /// With its `%XX` undone; nil where one is broken, or the result holds a control character or is no
  /// UTF-8.
  package var percentDecoded: String? {
    var bytes: [UInt8] = []
    var rest = Array(utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard rest.count >= 2,
        let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
      else { return nil }
      bytes.append(value)
      rest = rest.dropFirst(2)
    }
    guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return nil }
    return String(validating: bytes, as: UTF8.self)
  }
}
