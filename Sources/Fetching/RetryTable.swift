import HTTPCaching
import HTTPTransfer
import Vocabulary

/// Which ends of an attempt are tried again, and when: the one place that decides it.
///
/// | what happened | within the run | later runs |
/// |---|---|---|
/// | `dns`, `connect`, `tls` (handshake), `timeout` (connect, idle), `truncated` | yes | yes |
/// | `timeout` of the whole transfer, `tls` (certificate), `protocol` | no | yes |
/// | `proxy` | yes, unless it has refused | yes |
/// | `blocked-address`, `too-large`, `unsupported-encoding` | no | no, until settings change |
/// | what the sink threw (`disk-full`) | no | as it says |
/// | 408, 425, 429, 500, 502, 503, 504 | yes | the caller decides by the response |
/// | any other status | no | the caller decides by the response |
/// | any other status but 304 where the rest of a body was asked for | yes, the whole | |
///
/// Where a body broke off (`truncated`, `timeout` of silence) after 256 KiB or more and has a strong
/// validator, the next attempt asks for its rest.
package enum RetryTable {
  static func isRetriedWithinRun(status: Int) -> Bool {
    switch status {
    case 408, 425, 429, 500, 502, 503, 504: true
    default: false
    }
  }

  static func isRetriedWithinRun(_ fault: TransferFault) -> Bool {
    switch fault {
    case .nameLookup, .connection, .handshake, .timeout(.connect), .timeout(.idle), .truncated,
      .unusableRest:
      true
    case .proxy(_, let mayPass): mayPass
    case .timeout(.whole), .certificate, .nonsense, .blocked, .blockedProxy, .tooLarge, .encoding,
      .sink,
      .cancelled:
      false
    }
  }

  static func disposition(of fault: TransferFault) -> Disposition {
    switch fault {
    case .nameLookup, .connection, .handshake, .timeout, .truncated, .unusableRest, .certificate,
      .nonsense, .proxy, .cancelled:
      .retry(notBefore: nil)
    case .blocked, .blockedProxy, .tooLarge, .encoding: .giveUp
    case .sink(let record): record.disposition
    }
  }

  /// When the server asks to be asked again, a day from now at most.
  static func retryAfter(_ fields: HTTPFields, now: Timestamp) -> Timestamp? {
    HTTPCaching.retryAfter(fields, now: now).map { min($0, now + HostGate.longestHold) }
  }

  /// Whether a later run may fare better with this status.
  static func disposition(ofStatus status: Int, notBefore: Timestamp?) -> Disposition {
    if notBefore != nil || isRetriedWithinRun(status: status) || status >= 500 {
      return .retry(notBefore: notBefore)
    }
    // A 404 may be a picture that is not there yet, a 403 a ban that ends: the cool-down decides.
    return (400..<500).contains(status) ? .retry(notBefore: nil) : .giveUp
  }
}

/// How long to wait before the next attempt: exponential, with full jitter.
///
/// The wait is `jitter * min(max, initial * 2^(n - 1))` after the n-th attempt. With initial 500 ms and
/// max 30 s:
///
/// | after attempt | at most | with jitter 0.5 |
/// |---|---|---|
/// | 1 | 500 ms | 250 ms |
/// | 2 | 1 s | 500 ms |
/// | 3 | 2 s | 1 s |
/// | 7 and later | 30 s | 15 s |
package struct Backoff: Sendable {
  package var initial: Duration
  package var max: Duration

  package init(initial: Duration, max: Duration) {
    self.initial = initial
    self.max = max
  }

  /// - Parameters:
  ///   - attempts: that have failed so far, at least 1.
  ///   - jitter: 0 up to 1.
  package func wait(after attempts: Int, jitter: Double) -> Duration {
    let doubled = initial.inSeconds * Double(1 << Swift.min(Swift.max(attempts - 1, 0), 40))
    let seconds = Swift.min(doubled, max.inSeconds) * jitter
    return .milliseconds(Int64(seconds * 1000))
  }
}
