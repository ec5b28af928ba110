import HTTPTransfer
import Vocabulary

/// Why a hop brought no complete response.
package struct FetchFailure: WorkerFailure, Hashable {
  package var code: String
  package var message: String
  package var hint: String
  package var disposition: Disposition
  package var seen = Seen()
  package var effort = FetchEffort()

  package var requests: Int { effort.requests }
  package var bytesIn: Int { effort.bytesIn }
  /// The task was cancelled, or the engine stopped: nothing is known of the URL.
  package var isCancellation: Bool { code == Self.cancelledCode }

  private static let cancelledCode = "cancelled"
  /// Of what was not asked, since its host is left alone.
  package static let postponedCode = "postponed"

  /// What the last attempt saw before it failed.
  package struct Seen: Sendable, Hashable {
    package var status: Int?
    package var address: NetworkAddress?
    /// Decoded bytes of the body.
    package var bodyBytes = 0
    /// The body's first bytes, at most 64.
    package var firstBytes: [UInt8] = []

    package init() {}
  }

  private init(_ code: String, _ message: String, hint: String, _ disposition: Disposition) {
    self.code = code
    self.message = message
    self.hint = hint
    self.disposition = disposition
  }
}

// MARK: - Wording

extension FetchFailure {
  init(_ fault: TransferFault, of url: ItemURL, report: ExchangeReport, effort: FetchEffort) {
    let words = Self.words(for: fault, url)
    self.init(words.code, words.message, hint: words.hint, RetryTable.disposition(of: fault))
    seen.status = report.status
    seen.address = report.address
    seen.bodyBytes = report.bodyBytes
    seen.firstBytes = report.firstBytes
    self.effort = effort
    if case .sink = fault { return }
    message += sightings
  }

  /// ` (status 200 from 192.0.2.1, 1.5 KiB so far, begins like HTML, after 3 attempts)`.
  private var sightings: String {
    var parts: [String] = []
    if let status = seen.status {
      parts.append("status \(status)" + (seen.address.map { " from \($0)" } ?? ""))
      parts.append("\(ByteSizeText.format(seen.bodyBytes)) so far")
    }
    if let kind = BodyKind.name(ofBytes: seen.firstBytes) { parts.append("begins like \(kind)") }
    if effort.attempts > 1 { parts.append("after \(effort.attempts) attempts") }
    return parts.isEmpty ? "" : " (\(parts.joined(separator: ", ")))"
  }

  private typealias Words = (code: String, message: String, hint: String)

  private static func words(for fault: TransferFault, _ url: ItemURL) -> Words {
    switch fault {
    case .blocked(let address, let kind):
      (
        "blocked-address", "\(url) leads to \(address), a \(kind) address",
        "if this job may reach it, add \(address) or its range to network.allow"
      )
    case .blockedProxy(let address, let kind):
      (
        "blocked-address",
        "\(url) was not asked: network.proxy leads to \(address), a \(kind) address",
        "if the proxy stands there, add \(address) or its range to network.allow"
      )
    case .proxy(let detail, _):
      (
        "proxy", "\(url) was not asked: network.proxy failed: \(detail)",
        "check network.proxy, its credentials, and what it allows; the item is tried again later"
      )
    case .nameLookup(let detail):
      (
        "dns", "the name \(url.host) of \(url) was not resolved: \(detail)",
        "check the host's spelling and this machine's resolver; the item is tried again later"
      )
    case .connection(let detail):
      (
        "connect", "\(url) did not answer: \(detail)",
        "the host may be down or unreachable from here; the item is tried again later"
      )
    case .handshake(let detail):
      (
        "tls", "\(url): the TLS handshake failed: \(detail)",
        "look at the host's TLS set-up with openssl s_client; the item is tried again later"
      )
    case .certificate(let detail):
      (
        "tls", "\(url): the certificate is not trusted: \(detail)",
        "the host's owner has to renew or correct its certificate"
      )
    case .timeout(let limit): timeoutWords(fault, limit, url)
    case .truncated(let bytes, let declared, let detail):
      (
        "truncated",
        "\(url) broke off after \(bytes)"
          + (declared.map { " of \($0) bytes" } ?? " bytes") + ": \(detail)",
        "the host closed the connection too early; the item is tried again later"
      )
    case .unusableRest(let detail):
      (
        "truncated", "\(url) broke off, and its rest was not to be had: \(detail)",
        "the host closed the connection too early; the item is tried again later"
      )
    case .tooLarge(let limit, let declared):
      (
        "too-large",
        declared.map { "\(url) has \($0) bytes, more than \(ByteSizeText.format(limit))" }
          ?? "\(url) sent more than \(ByteSizeText.format(limit))",
        "raise network.maxBytes for this job, or drop the item"
      )
    case .nonsense(let detail):
      (
        "protocol", "\(url) sent a response that is not valid HTTP: \(detail)",
        "check that the URL's port belongs to a web server; tell the host's owner"
      )
    case .encoding(let name):
      (
        "unsupported-encoding", "\(url) sent its body encoded as \"\(name)\"",
        "the host ignores Accept-Encoding: identity; its owner has to serve the image unencoded"
      )
    case .sink(let record): (record.code, record.message, record.hint)
    case .cancelled: (cancelledCode, "\(url) was given up, since the run is stopping", "")
    }
  }

  private static func timeoutWords(
    _ fault: TransferFault, _ limit: TransferFault.Limit, _ url: ItemURL
  ) -> Words {
    switch limit {
    case .connect:
      (
        "timeout", "\(url): \(fault.reason)",
        "raise network.connectTimeout if the host is slow; the item is tried again later"
      )
    case .idle:
      (
        "timeout", "\(url) sent \(fault.reason)",
        "raise network.idleTimeout if the host is slow; the item is tried again later"
      )
    case .whole:
      (
        "timeout", "\(url) was \(fault.reason)",
        "raise network.timeout if the image is large or the host is slow"
      )
    }
  }

  static func cancelled(_ url: ItemURL, effort: FetchEffort) -> FetchFailure {
    FetchFailure(.cancelled, of: url, report: ExchangeReport(), effort: effort)
  }

  static func badHeader(named name: String, of url: ItemURL) -> FetchFailure {
    FetchFailure(
      "bad-header",
      "\(url) was not asked: the header \"\(name)\" holds a character that HTTP forbids",
      hint: "correct it in network.headers; a value from the environment may end with a line feed",
      .giveUp)
  }

  /// Nothing was sent, since the host is left alone for longer than a run waits.
  ///
  /// - Parameter reason: why it could not be reached; nil where it has asked for that itself.
  static func postponed(
    _ url: ItemURL, until: Timestamp, unreachable reason: String?, effort: FetchEffort
  ) -> FetchFailure {
    let words =
      reason.map { "\(url.host) could not be reached (\($0)) and is left alone until" }
      ?? "\(url.host) wants no requests before"
    var failure = FetchFailure(
      postponedCode, "\(url) was not asked: \(words) \(until)",
      hint: reason == nil
        ? "nothing to do: the item is due again at that time"
        : "the host may be down or unreachable from here; the item is due again at that time",
      .retry(notBefore: until))
    failure.effort = effort
    return failure
  }
}

extension TransferFault {
  /// In a few words that name no URL.
  var reason: String {
    switch self {
    case .timeout(.connect(let limit)): "no connection within \(DurationText.format(limit))"
    case .timeout(.idle(let limit)): "no byte for \(DurationText.format(limit))"
    case .timeout(.whole(let limit)): "not done within \(DurationText.format(limit))"
    case .connection(let detail), .nameLookup(let detail), .handshake(let detail),
      .certificate(let detail), .truncated(_, _, let detail), .unusableRest(let detail),
      .nonsense(let detail):
      detail
    case .blocked(let address, let kind), .blockedProxy(let address, let kind):
      "\(address) is a \(kind) address"
    case .proxy(let detail, _): detail
    case .tooLarge: "too many bytes"
    case .encoding(let name): "encoded as \"\(name)\""
    case .sink(let record): record.message
    case .cancelled: "given up"
    }
  }
}

extension FetchedResponse {
  /// The failure of an item whose origin answered with this status: `http-404`.
  package func statusFailure(of url: ItemURL) -> FetchFailure {
    let kind = BodyKind.name(ofBytes: firstBytes).map { ", with \($0)" } ?? ""
    let peer = address.map { " (\($0))" } ?? ""
    var failure = FetchFailure(
      code: "http-\(status)", message: "\(url)\(peer) answered \(status)\(kind)",
      hint: Self.hint(forStatus: status),
      disposition: RetryTable.disposition(ofStatus: status, notBefore: notBefore))
    failure.seen.status = status
    failure.seen.address = address
    failure.seen.firstBytes = firstBytes
    failure.effort = effort
    return failure
  }

  private static func hint(forStatus status: Int) -> String {
    switch status {
    case 401, 403: "check network.headers for this host's credentials, and whether it bans us"
    case 404, 410: "correct or drop the URL"
    case 407: "give network.proxy the credentials that it asks for"
    case 429: "lower network.perHost or set network.ratePerHost for this host"
    case 500...: "the host is in trouble; the item is tried again later"
    default: "open the URL in a browser to see what the host wants"
    }
  }
}

extension FetchFailure {
  init(code: String, message: String, hint: String, disposition: Disposition) {
    self.init(code, message, hint: hint, disposition)
  }
}
