import Vocabulary

extension SettingsReader {
  /// Null: no proxy, where the job has one. No message shows what a variable holds.
  func readProxy(_ network: ObjectReader, into proxy: inout ProxySettings?) {
    switch network.value("proxy") {
    case nil: break
    case .null?: proxy = nil
    case .string(let text)?: proxy = self.proxy(text, at: network.place["proxy"])
    case let other?: network.reject("proxy", "must be a string, not \(other.kind)")
    }
  }

  private func proxy(_ text: String, at place: Place) -> ProxySettings? {
    let parts = ProxyText(text)
    guard parts.keepsItsSecrets else {
      problems.add(
        place,
        "credentials do not belong in a manifest: write http://${PROXY_USER}:${PROXY_PASSWORD}@… "
          + "and set both in the environment")
      return nil
    }
    guard let address = filledIn(parts.address, at: place) else { return nil }
    do {
      var proxy = try ProxySettings(address)
      guard let user = parts.user else { return proxy }
      guard let user = filledIn(user, at: place),
        let password = filledIn(parts.password ?? "", at: place)
      else { return nil }
      proxy.credentials = ProxySettings.Credentials(user: user, password: password)
      return proxy
    } catch {
      // What stands in for a variable is no proxy.
      if standIn == nil { problems.add(place, error.message) }
      return nil
    }
  }

  private func filledIn(_ text: String, at place: Place) -> String? {
    guard let template = HeaderTemplate(text) else {
      problems.add(place, "holds a \"${\" that is no ${NAME}")
      return nil
    }
    guard let filled = filledIn(template, at: place) else { return nil }
    guard filled.utf8.allSatisfy(HeaderRules.isValueByte) else {
      problems.add(place, "must not hold control characters")
      return nil
    }
    return filled
  }
}

/// A proxy as a manifest writes it: taken apart before its variables are filled in, so that a password
/// may hold whatever it likes.
private struct ProxyText {
  /// Without user and password.
  let address: String
  let user: String?
  let password: String?

  init(_ text: String) {
    guard let at = text.lastIndex(of: "@"), let slash = text[..<at].lastIndex(of: "/") else {
      (address, user, password) = (text, nil, nil)
      return
    }
    let start = text.index(after: slash)
    address = String(text[..<start] + text[text.index(after: at)...])
    let parts = text[start..<at]
      .split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    user = String(parts[0])
    password = parts.count == 2 ? String(parts[1]) : nil
  }

  /// What opens the door comes from the environment.
  var keepsItsSecrets: Bool {
    guard let secret = password ?? user else { return true }
    return HeaderTemplate(secret)?.hasVariable ?? true  // a broken one is reported as that
  }
}
