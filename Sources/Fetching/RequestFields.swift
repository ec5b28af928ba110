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
    fields.sent += conditions.lines
    fields.kept.lines += conditions.lines
    return fields
  }

  /// The name of a field that would break the request's frame.
  var illegalName: String? { sent.first { !$0.isLegal }?.name }
}

/// Keeps the last job's fields: making and checking them anew for each request costs more than the
/// rest of a fetch's own work.
final class RequestFieldsCache: Sendable {
  private struct Kept {
    var headers: [NetworkSettings.Header]
    var userAgent: String?
    var withCredentials: Bool
    var fields: RequestFields
    var illegalName: String?
  }

  private let kept = Mutex<Kept?>(nil)

  /// - Throws: `bad-header`.
  func fields(for request: FetchRequest) throws(FetchFailure) -> RequestFields {
    let base = base(request.settings, withCredentials: request.sendsCredentials)
    if let name = base.illegalName { throw .badHeader(named: name, of: request.url) }
    if let line = request.conditions.lines.first(where: { !$0.isLegal }) {
      throw .badHeader(named: line.name, of: request.url)
    }
    return base.fields.adding(request.conditions)
  }

  private func base(
    _ settings: NetworkSettings, withCredentials: Bool
  ) -> (fields: RequestFields, illegalName: String?) {
    kept.withLock { kept in
      if let kept, kept.headers == settings.headers, kept.userAgent == settings.userAgent,
        kept.withCredentials == withCredentials
      {
        return (kept.fields, kept.illegalName)
      }
      let fields = RequestFields(settings, withCredentials: withCredentials)
      let illegalName = fields.illegalName
      kept = Kept(
        headers: settings.headers, userAgent: settings.userAgent,
        withCredentials: withCredentials, fields: fields, illegalName: illegalName)
      return (fields, illegalName)
    }
  }
}

extension Fetcher {
  /// The fields that a request would carry, as they may be kept: what `Vary` is compared with.
  package static func requestFields(
    settings: NetworkSettings, sendsCredentials: Bool
  ) -> HTTPFields {
    RequestFields(settings, withCredentials: sendsCredentials).kept
  }
}

extension HTTPFields.Line {
  /// RFC 9110 §5.1 and §5.5: a token, and bytes without a control character but the tab.
  fileprivate var isLegal: Bool {
    let separators = "()<>@,;:\\\"/[]?={} \t".utf8
    return !name.isEmpty
      && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !separators.contains($0) }
      && value.unicodeScalars.allSatisfy { scalar in
        (0x20...0xFF).contains(scalar.value) && scalar.value != 0x7F || scalar.value == 0x09
      }
  }
}
