import Vocabulary

/// Why an exchange did not end with a whole response. Facts only: `Fetching` words them and decides
/// what follows.
package enum TransferFault: Error, Sendable, Hashable {
  /// Every address of the host is refused; one of them, and its kind.
  case blocked(NetworkAddress, kind: String)
  /// The same of the proxy's own.
  case blockedProxy(NetworkAddress, kind: String)
  /// The proxy cannot be reached or will not do it; whether that may be otherwise a moment later.
  case proxy(String, mayPass: Bool)
  /// The name has no address, or no answer came in time.
  case nameLookup(String)
  /// No connection, or it broke before the response's first byte.
  case connection(String)
  /// The handshake failed.
  case handshake(String)
  /// The certificate is not one to trust.
  case certificate(String)
  case timeout(Limit)
  /// The response broke off: bytes of the body on the wire, and how many it had declared.
  case truncated(bytes: Int, declared: Int?, String)
  /// The rest of a body that had broken off was asked for, and what came is not that; why.
  case unusableRest(String)
  /// More than `maxBytes`; `declared` where Content-Length said so beforehand.
  case tooLarge(limit: Int, declared: Int?)
  /// Not HTTP, or HTTP that contradicts itself.
  case nonsense(String)
  /// A Content-Encoding that is unknown, or more than one.
  case encoding(String)
  /// What the sink threw.
  case sink(FailureRecord)
  case cancelled

  static func unresolvedProxy(_ detail: String) -> TransferFault {
    .proxy("its name was not resolved: \(detail)", mayPass: true)
  }

  package enum Limit: Sendable, Hashable {
    case connect(Duration)
    case idle(Duration)
    case whole(Duration)
  }
}
