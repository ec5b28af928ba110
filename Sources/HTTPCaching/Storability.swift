import Vocabulary

/// Whether a response may be kept.
package enum Storability: Sendable, Hashable {
  case storable
  case forbidden(Reason)

  /// The rule that forbids it, by the name that `show` prints.
  package enum Reason: String, Sendable, Hashable, CaseIterable {
    case noStore = "no-store"
    case isPrivate = "private"
    /// The request carried Authorization and nothing in the response lets a shared cache keep it.
    case authorization
    /// `must-understand` with a status that we do not know.
    case mustUnderstand = "must-understand"
    /// Interim, or neither cacheable by default nor made so by a directive.
    case status
    /// A part that we did not ask for.
    case partial
    /// Policy `kingfisher`: the lifetime is zero or less.
    case lifetime

    /// Whether it is the server's will that no copy be kept, so that older ones go too. The others
    /// say that this response is no use, nothing of those before it.
    package var withdrawsOlderCopies: Bool {
      switch self {
      case .noStore, .isPrivate, .authorization, .mustUnderstand, .lifetime: true
      case .status, .partial: false
      }
    }
  }
}

/// Whether a success (2xx) or a redirect may be kept.
///
/// Not to be asked of failures: what a 503 says of its own storing says nothing of older copies.
///
/// - Source: RFC 9111 §3, §3.3 and §3.5.
package func storability(
  of head: ResponseHead, request: RequestContext, settings: CacheSettings
) -> Storability {
  FreshnessRules(settings).storability(of: head, request: request)
}

/// Whether what another job stored, or what a 304 has just changed, may be kept under these settings.
package func storability(of response: StoredResponse, settings: CacheSettings) -> Storability {
  FreshnessRules(settings).storability(of: response)
}

extension FreshnessRules {
  /// As the function of that name.
  package func storability(of head: ResponseHead, request: RequestContext) -> Storability {
    if head.status < 200 || head.status == 304 { return .forbidden(.status) }
    if head.status == 206, !request.fields.contains("Range") { return .forbidden(.partial) }
    return storability(
      status: head.status == 206 ? 200 : head.status, fields: head.fields,
      responseTime: head.responseTime, hadAuthorization: request.hadAuthorization)
  }

  /// As the function of that name.
  package func storability(of response: StoredResponse) -> Storability {
    storability(
      status: response.status, fields: response.fields, responseTime: response.responseTime,
      hadAuthorization: response.answeredAuthorization)
  }

  fileprivate func storability(
    status: Int, fields: HTTPFields, responseTime: Timestamp, hadAuthorization: Bool
  ) -> Storability {
    let read = CachingFields(fields, near: responseTime)
    let governing = governing(fields, read: read)
    if let reason = prohibition(
      status: status, governing.control, hadAuthorization: hadAuthorization)
    {
      return .forbidden(reason)
    }
    switch settings.policy {
    case .ignore: return .storable
    case .kingfisher:
      guard let maxAge = read.cacheControl.maxAge.lifetime else { return .storable }
      return maxAge > read.age ?? 0 ? .storable : .forbidden(.lifetime)
    case .rfc9111:
      // A redirect without a lifetime is kept as a sign of where the way leads; it is never fresh.
      let isStorable =
        isHeuristicallyCacheable(status: status) || isRedirect(status: status)
        || hasExplicitPermission(governing)
      return isStorable ? .storable : .forbidden(.status)
    }
  }

  /// The directive that forbids to keep the response, whatever its lifetime; the strictest first.
  func prohibition(
    status: Int, _ control: CacheControl, hadAuthorization: Bool
  ) -> Storability.Reason? {
    let flags = control.flags
    switch settings.policy {
    case .ignore: return nil
    case .kingfisher: return flags.contains(.noStore) ? .noStore : nil
    case .rfc9111: break
    }
    if flags.contains(.mustUnderstand) {
      // RFC 9111 §5.2.2.3: whoever understands the status passes no-store over.
      if !isUnderstood(status: status) {
        return flags.contains(.noStore) ? .noStore : .mustUnderstand
      }
    } else if flags.contains(.noStore) {
      return .noStore
    }
    guard settings.shared else { return nil }
    if flags.contains(.isPrivate) { return .isPrivate }
    if hadAuthorization, flags.isDisjoint(with: [.isPublic, .mustRevalidate]),
      control.sMaxAge.usable == nil
    {
      return .authorization
    }
    return nil
  }

  /// RFC 9111 §3: what makes any final status storable.
  private func hasExplicitPermission(_ governing: Governing) -> Bool {
    governing.control.flags.contains(.isPublic)
      || !settings.shared && governing.control.flags.contains(.isPrivate)
      || settings.shared && governing.control.sMaxAge != .absent
      || governing.control.maxAge != .absent || governing.expires != .absent
  }
}
