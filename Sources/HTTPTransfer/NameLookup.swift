import CCurl
import Glibc
import Vocabulary

/// What a resolver says of a host name.
package enum NameAnswer: Sendable, Hashable {
  /// At least one.
  case addresses([NetworkAddress])
  /// - Parameter isFinal: there is no such name; otherwise the resolver failed, and may not the next
  ///   time.
  case failure(String, isFinal: Bool)
}

/// The system's resolver. It blocks: called on threads of its own only.
package enum SystemResolver {
  package static func answer(to name: String) -> NameAnswer {
    // RFC 6761 §6.3: this machine, whatever the resolver would say.
    if name.isBelowLocalhost { return .addresses([.loopback, .loopback6]) }
    var hints = addrinfo()
    hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
    hints.ai_flags = AI_ADDRCONFIG
    var first: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(name, nil, &hints, &first)
    defer { if let first { freeaddrinfo(first) } }
    guard code == 0 else { return failure(code) }
    var addresses: [NetworkAddress] = []
    for entry in sequence(first: first!, next: { $0.pointee.ai_next }) {
      if let address = NetworkAddress(entry.pointee.ai_addr), !addresses.contains(address) {
        addresses.append(address)
      }
    }
    return addresses.isEmpty
      ? .failure("it has no address", isFinal: true) : .addresses(addresses)
  }

  private static func failure(_ code: CInt) -> NameAnswer {
    let noSuchName: Set<CInt> = [EAI_NONAME, -5 /* EAI_NODATA, which is hidden from Swift */]
    let words =
      code == EAI_SYSTEM ? strerror(errno) : UnsafeMutablePointer(mutating: gai_strerror(code))
    return .failure(
      words.map { String(cString: $0) } ?? "error \(code)", isFinal: noSuchName.contains(code))
  }
}

extension String {
  /// Whether it is `localhost` or a name below it, in any case and with or without a last dot.
  fileprivate var isBelowLocalhost: Bool {
    let labels = lowercased().split(separator: ".")
    return labels.last == "localhost"
  }
}

extension NetworkAddress {
  fileprivate static let loopback = NetworkAddress(bytes: [127, 0, 0, 1])!
  fileprivate static let loopback6 = NetworkAddress("::1")!
}

enum HostSpelling {
  /// A URL's host as libcurl spells it: names in punycode, numbers of any form as the IPv4 address that
  /// they are. Nil where it makes nothing of it.
  static func ofLibcurl(_ host: String) -> String? {
    guard let parser = curl_url() else { return nil }
    defer { curl_url_cleanup(parser) }
    var text: UnsafeMutablePointer<CChar>?
    guard curl_url_set(parser, CURLUPART_URL, "http://\(host)/", 0) == CURLUE_OK,
      curl_url_get(parser, CURLUPART_HOST, &text, UInt32(CURLU_PUNYCODE)) == CURLUE_OK, let text
    else { return nil }
    defer { curl_free(text) }
    return String(cString: text)
  }
}

extension NetworkAddress {
  /// Of an internet address; nil for any other.
  init?(_ address: UnsafePointer<sockaddr>) {
    let raw = UnsafeRawPointer(address)
    switch CInt(address.pointee.sa_family) {
    case AF_INET:
      let number = raw.loadUnaligned(as: sockaddr_in.self).sin_addr
      self.init(bytes: withUnsafeBytes(of: number) { Array($0) })
    case AF_INET6:
      let number = raw.loadUnaligned(as: sockaddr_in6.self).sin6_addr
      self.init(bytes: withUnsafeBytes(of: number) { Array($0) })
    default: return nil
    }
  }
}
