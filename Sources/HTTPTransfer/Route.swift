import Vocabulary

/// How an exchange gets to its origin.
enum Route: Hashable {
  case direct
  /// - Parameter pinned: an address of the origin that the guard has let pass.
  case through(ProxySettings, pinned: NetworkAddress)

  /// Looks at the origin's addresses ourselves: a proxy stands where other addresses mean other things.
  ///
  /// IPv4 first, since nobody tells whether the proxy reaches both families.
  ///
  /// - Throws: `blocked` where the guard lets none pass, `nameLookup` where there is none.
  init(
    to addresses: [NetworkAddress], through proxy: ProxySettings, guarding: AddressGuard
  ) throws(TransferFault) {
    guard let first = addresses.first else { throw .nameLookup("it has no address") }
    let allowed = addresses.filter { guarding.refusal(of: $0) == nil }
    guard let pinned = allowed.first(where: { $0.bytes.count == 4 }) ?? allowed.first else {
      throw .blocked(first, kind: guarding.refusal(of: first) ?? "special")
    }
    self = .through(proxy, pinned: pinned)
  }

  var proxy: ProxySettings? { if case .through(let proxy, _) = self { proxy } else { nil } }

  var pinned: NetworkAddress? { if case .through(_, let pinned) = self { pinned } else { nil } }
}
