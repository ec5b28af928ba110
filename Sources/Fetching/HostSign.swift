import HTTPTransfer

/// What the end of an exchange says of its host.
enum HostSign: Hashable {
  /// It answered.
  case well
  /// It answered that it has too much to do: 429, 503.
  case strained
  /// There was no connection, or no answer in time; why.
  case unreachable(String)
  /// Nothing: the exchange ended for other reasons.
  case none

  /// - Parameter hadItsTime: whether the exchange had as long as the job allows, not what earlier
  ///   hops had left it.
  init(_ report: borrowing ExchangeReport, hadItsTime: Bool) {
    guard let fault = report.fault else {
      self = report.status == 429 || report.status == 503 ? .strained : .well
      return
    }
    // Once a response has begun, it is that resource which is slow.
    let isSilence = report.status == nil && fault.isUnreachableHost(hadItsTime: hadItsTime)
    self = isSilence ? .unreachable(fault.reason) : .none
  }
}

extension TransferFault {
  fileprivate func isUnreachableHost(hadItsTime: Bool) -> Bool {
    switch self {
    case .connection, .timeout(.connect), .timeout(.idle): true
    case .timeout(.whole): hadItsTime
    case .blocked, .blockedProxy, .proxy, .nameLookup, .handshake, .certificate, .truncated,
      .unusableRest,
      .tooLarge, .nonsense, .encoding, .sink, .cancelled:
      false
    }
  }
}
