import CCurl
import Vocabulary

/// How an exchange ended: libcurl's result read together with what the callbacks saw.
extension Transfer {
  enum End {
    case over(ExchangeReport)
    case again
    /// Once more, from the look-up of its name on.
    case fromTheName
  }

  func end(_ result: CURLcode) -> End {
    switch verdict {
    case .wantsOwnConnection: return .again
    case .lacksAddress: return .fromTheName
    case .enough: return .over(takeReport(fault: nil))
    case .failed(let fault): return .over(takeReport(fault: fault))
    case nil: break
    }
    // A body that is dropped need not be whole: the head has said everything.
    if head.isComplete, phase == .dropping { return .over(takeReport(fault: nil)) }
    guard result == CURLE_OK else { return .over(takeReport(fault: fault(of: result))) }
    guard head.isComplete else {
      return .over(
        takeReport(fault: .connection("the connection was closed without an answer")))
    }
    return .over(takeReport(fault: sealBody()))
  }

  /// The end by a deadline or a cancellation; a body that is dropped is none the worse for it.
  func abandon(_ fault: TransferFault) -> ExchangeReport {
    let isAnswered = head.isComplete && phase == .dropping && fault != .cancelled
    return takeReport(fault: isAnswered ? nil : fault)
  }

  private func fault(of result: CURLcode) -> TransferFault {
    if let fault = proxyFault(of: result) { return fault }
    switch result {
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_URL_MALFORMAT:
      return blockedFault ?? .nameLookup(words(of: result))
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS:
      return .certificate(words(of: result))
    case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_SSL_CLIENTCERT,
      CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ENGINE_INITFAILED:
      return .handshake(words(of: result))
    case CURLE_OPERATION_TIMEDOUT: return connectTimeoutFault
    case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL:
      return .nonsense(words(of: result))
    default:
      if head.isComplete {
        let before = continued?.bytes ?? 0
        return .truncated(
          bytes: before + wireBytes, declared: declaredLength, words(of: result))
      }
      return blockedFault ?? .connection(words(of: result))
    }
  }

  var blockedFault: TransferFault? {
    guard let refused, !hasOpenedSocket else { return nil }
    return blockedFault(refused.address, refused.kind)
  }

  /// No connection in time.
  private var connectTimeoutFault: TransferFault {
    blockedFault ?? .timeout(.connect(exchange?.request.connectTimeout ?? .zero))
  }

  /// libcurl's words, for people: never parsed.
  func words(of result: CURLcode) -> String {
    let text = String(cString: errorText)
    return text.isEmpty ? String(cString: curl_easy_strerror(result)) : text
  }

  // MARK: Deadlines

  /// When this exchange has to be looked at next, on the loop's clock.
  var deadline: Int64 {
    exchange == nil ? .max : min(startedAt + limits.whole, phaseDeadline)
  }

  private var phaseDeadline: Int64 {
    switch phase {
    // libcurl has the same limit, and spreads it over a host's addresses: the second beyond it is
    // for a libcurl that does not come back.
    case .connecting: lastByteAt + limits.connect + 1000
    default: lastByteAt + limits.idle
    }
  }

  /// The fault of an exchange whose deadline has passed; nil where bytes have come since.
  func overdueFault() -> TransferFault? {
    guard let exchange else { return nil }
    if loop.now >= startedAt + limits.whole { return .timeout(.whole(exchange.request.timeout)) }
    if phase == .connecting { return loop.now >= phaseDeadline ? connectTimeoutFault : nil }
    let bytes = wireBytes
    if bytes != lastWireBytes {
      lastWireBytes = bytes
      lastByteAt = max(lastByteAt, loop.now - 1)
    }
    return loop.now >= phaseDeadline ? .timeout(.idle(exchange.request.idleTimeout)) : nil
  }
}
