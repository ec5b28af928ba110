import CCurl
import Glibc
import Vocabulary

/// Proxies, and whom TLS trusts.
extension Transfer {
  /// After the URL is set, for each exchange.
  func follow(_ route: Route, _ exchange: Exchange) {
    if route != self.route || route.proxy != nil { take(route, to: exchange.request.url) }
    let file = exchange.request.caFile ?? loop.options.caFile
    if file != trusted { trust(file) }
  }

  /// A tunnel is asked for to the address that was checked, in place of its name: the proxy has nothing
  /// left to look up. A request in absolute form has to name its host (RFC 9112 §3.2.2), and the proxy
  /// looks it up again.
  private func take(_ route: Route, to url: ItemURL) {
    self.route = route
    let proxy = route.proxy
    set(CURLOPT_PROXY, proxy?.libcurlsSpelling ?? "")
    set(CURLOPT_PROXYUSERNAME, proxy?.credentials?.user)
    set(CURLOPT_PROXYPASSWORD, proxy?.credentials?.password)
    let isInAbsoluteForm = proxy != nil && proxy?.kind != .socks5 && !url.isSecure
    pin(isInAbsoluteForm ? nil : route.pinned)
    if isInAbsoluteForm { set(CURLOPT_REQUEST_TARGET, url.absoluteForm) }
  }

  private func pin(_ address: NetworkAddress?) {
    curl_slist_free_all(pinList)
    pinList = address.map { address in
      let host = address.bytes.count == 16 ? "[\(address)]" : "\(address)"
      return curl_slist_append(nil, "::\(host):")  // whatever is asked for: there, at the same port
    }
    tw_easy_set_pointer(easy, CURLOPT_CONNECT_TO, pinList)
  }

  /// For origins and proxies alike; nil: the system's store.
  ///
  /// libcurl keeps the certificates that it has read for later connections only where they come from a
  /// file and no folder stands beside it. Reading all public authorities anew would hold this thread for
  /// some 50 ms with each connection.
  func trust(_ file: String?) {
    trusted = file
    let system = curl_version_info(CURLVERSION_SEVENTH).pointee  // the first with both
    let bundle = system.cainfo.map { String(cString: $0) }
    let store = file ?? bundle.flatMap { access($0, R_OK) == 0 ? $0 : nil }
    let folder = store == nil ? system.capath.map { String(cString: $0) } : nil
    set(CURLOPT_CAINFO, store)
    set(CURLOPT_CAPATH, folder)
    set(CURLOPT_PROXY_CAINFO, store)
    set(CURLOPT_PROXY_CAPATH, folder)
    set(CURLOPT_CA_CACHE_TIMEOUT, 3600)
  }

  /// What went wrong before there was a way to the origin; nil for anything else.
  func proxyFault(of result: CURLcode) -> TransferFault? {
    guard route.proxy != nil, !head.isComplete else { return nil }
    var status = 0
    tw_easy_get_long(easy, CURLINFO_HTTP_CONNECTCODE, &status)
    if status >= 300 {
      return .proxy("it answered CONNECT with \(status)", mayPass: status >= 500)
    }
    switch result {
    case CURLE_COULDNT_CONNECT:
      return blockedFault ?? .proxy(words(of: result), mayPass: true)
    case CURLE_COULDNT_RESOLVE_PROXY, CURLE_PROXY:
      return .proxy(words(of: result), mayPass: true)
    default: return nil
    }
  }

  func blockedFault(_ address: NetworkAddress, _ kind: String) -> TransferFault {
    route.proxy == nil
      ? .blocked(address, kind: kind) : .blockedProxy(address, kind: kind)
  }
}

extension ProxySettings {
  fileprivate var libcurlsSpelling: String {
    let scheme = kind == .socks5 ? "socks5h" : kind.rawValue
    return "\(scheme)://\(HostSpelling.ofLibcurl(host) ?? host):\(port)"
  }
}

extension ItemURL {
  /// The whole URL, with its host in punycode.
  fileprivate var absoluteForm: String {
    let port = port == 80 ? "" : ":\(port)"
    return "http://\(HostSpelling.ofLibcurl(host) ?? host)\(port)\(target)"
  }
}
