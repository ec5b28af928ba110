import HTTPCaching
import Hashing
import Vocabulary

/// The header fields of a request, in the order in which they are sent.
struct RequestFields {
  /// As they go out, without Host and Accept-Encoding, which the transfer adds.
  let sent: [HTTPFields.Line]
  /// As they may be kept: credentials' values replaced by their SHA-256.
  let kept: HTTPFields
  let hasAuthorization: Bool

  static let defaultUserAgent = "thumbworker/0.1.0 (+contact unset)"
  /// Plain, so that no origin picks a format by what we happen to accept.
  static let defaultAccept = "image/*,*/*;q=0.8"

  /// - Throws: `FetchFailure` with `bad-header` where a field would break the request's frame.
  init(_ request: FetchRequest) throws(FetchFailure) {
    let settings = request.settings
    let own = settings.headers.filter { request.sendsCredentials || !$0.isCredential }
    var lines: [HTTPFields.Line] = []
    if !own.contains(where: { $0.name.lowercased() == "user-agent" }) {
      lines.append(.init(name: "User-Agent", value: settings.userAgent ?? Self.defaultUserAgent))
    }
    if !own.contains(where: { $0.name.lowercased() == "accept" }) {
      lines.append(.init(name: "Accept", value: Self.defaultAccept))
    }
    let common = lines.count
    lines += own.map { .init(name: $0.name, value: $0.value) }
    let conditions = lines.count
    lines += request.conditions.lines
    if let bad = lines.first(where: { !$0.isLegal }) {
      throw .badHeader(named: bad.name, of: request.url)
    }
    sent = lines

    var visible = lines
    for (index, header) in zip(common..<conditions, own) where header.isCredential {
      visible[index].value = Digest(of: header.value).description
    }
    if !own.contains(where: { $0.name.lowercased() == "accept-encoding" }) {
      visible.append(.init(name: "Accept-Encoding", value: "identity"))
    }
    kept = HTTPFields(visible)
    hasAuthorization = own.contains { $0.name.lowercased() == "authorization" }
  }
}

extension HTTPFields.Line {
  /// RFC 9110 §5.1 and §5.5: a token, and no control character but the tab.
  fileprivate var isLegal: Bool {
    let separators = "()<>@,;:\\\"/[]?={} \t".utf8
    return !name.isEmpty
      && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !separators.contains($0) }
      && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
  }
}
