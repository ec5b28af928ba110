import HTTPCaching
import Hashing
import Synchronization
import Vocabulary

/// The header fields of a request, in the order in which they are sent.
struct RequestFields: Sendable {
  /// As they go out, without Host and Accept-Encoding, which the transfer adds.
  private(set) var sent: [HTTPFields.Line]
  /// As they may be kept: credentials' values replaced by their SHA-256.
  private(set) var kept: HTTPFields
  let hasAuthorization: Bool

  static let defaultUserAgent = "thumbworker/0.1.0 (+contact unset)"
  /// Plain, so that no origin picks a format by what we happen to accept.
  static let defaultAccept = "image/*,*/*;q=0.8"

  /// Those that a job's settings ask for, the same for each of its requests to a host.
  init(_ settings: NetworkSettings, withCredentials: Bool) {
    let own = settings.headers.filter { withCredentials || !$0.isCredential }
    func sets(_ name: String) -> Bool { own.contains { $0.name.lowercased() == name } }
    sent = []
    if !sets("user-agent") {
      let userAgent = settings.userAgent ?? Self.defaultUserAgent
      sent.append(.init(name: "User-Agent", value: String(fieldText: userAgent)))
    }
    if !sets("accept") { sent.append(.init(name: "Accept", value: Self.defaultAccept)) }
    kept = HTTPFields(sent)
    if !sets("accept-encoding") {
      kept.lines.append(.init(name: "Accept-Encoding", value: "identity"))
    }
    for header in own {
      let value = String(fieldText: header.value)
      sent.append(.init(name: header.name, value: value))
      kept.lines.append(
        .init(
          name: header.name,
          value: header.isCredential ? Digest(of: header.value).description : value))
    }
    hasAuthorization = sets("authorization")
  }

  /// With If-None-Match or If-Modified-Since.
  func adding(_ conditions: HTTPFields) -> RequestFields {
    guard !conditions.lines.isEmpty else { return self }
    var fields = self
    fields.sent = sent + conditions.lines
    fields.kept.lines = kept.lines + conditions.lines
    return fields
  }

  /// The name of a field that would break the request's frame.
  var illegalName: String? { sent.first { !$0.isLegal }?.name }
}

/// One host's network settings, ready for its requests: making and checking their fields anew for each
/// costs more than the rest of a fetch's own work.
package final class RequestManner: Sendable {
  package let settings: NetworkSettings
  let startSpacing: Duration
  private let plain: Checked
  /// Nil: no header is a credential.
  private let credentialed: Checked?

  private struct Checked {
    let fields: RequestFields
    let illegalName: String?

    init(_ settings: NetworkSettings, withCredentials: Bool) {
      fields = RequestFields(settings, withCredentials: withCredentials)
      illegalName = fields.illegalName
    }
  }

  package init(_ settings: NetworkSettings) {
    self.settings = settings
    startSpacing = settings.startSpacing
    plain = Checked(settings, withCredentials: false)
    credentialed =
      settings.headers.contains(where: \.isCredential)
      ? Checked(settings, withCredentials: true) : nil
  }

  /// The fields that a request would carry, as they may be kept: what `Vary` is compared with.
  package func keptFields(sendsCredentials: Bool) -> HTTPFields {
    checked(sendsCredentials).fields.kept
  }

  /// - Throws: `bad-header`.
  func fields(for request: FetchRequest) throws(FetchFailure) -> RequestFields {
    let own = checked(request.sendsCredentials)
    if let name = own.illegalName { throw .badHeader(named: name, of: request.url) }
    if let line = request.conditions.lines.first(where: { !$0.isLegal }) {
      throw .badHeader(named: line.name, of: request.url)
    }
    return own.fields.adding(request.conditions)
  }

  private func checked(_ sendsCredentials: Bool) -> Checked {
    sendsCredentials ? credentialed ?? plain : plain
  }
}

extension HTTPFields.Line {
  /// RFC 9110 §5.1 and §5.5: a token, and bytes without a control character but the tab.
  fileprivate var isLegal: Bool {
    let bytes = name.utf8.span
    guard !bytes.isEmpty else { return false }
    for i in bytes.indices where !bytes[i].isTokenByte { return false }
    return value.isLegalValue
  }
}

extension String {
  fileprivate var isLegalValue: Bool {
    let bytes = utf8.span
    var isPlain = true
    for i in bytes.indices where !(0x20..<0x7F).contains(bytes[i]) { isPlain = false }
    return isPlain
      || unicodeScalars.allSatisfy { scalar in
        (0x20...0xFF).contains(scalar.value) && scalar.value != 0x7F || scalar.value == 0x09
      }
  }
}

extension UInt8 {
  fileprivate var isTokenByte: Bool {
    switch self {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    case 0x21...0x7E: !"()<>@,;:\\\"/[]?={}".utf8.contains(self)
    default: false
    }
  }
}
