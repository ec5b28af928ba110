import Vocabulary

/// The conditions to ask with: both validators, byte for byte as they were received.
///
/// A field that stands there twice with different values identifies nothing and is left out.
///
/// - Source: RFC 9111 §4.3.1.
package func validators(of response: StoredResponse) -> HTTPFields {
  var conditions = HTTPFields()
  conditions.lines.reserveCapacity(2)
  if let etag = response.fields.singleton("ETag") {
    conditions.lines.append(.init(name: "If-None-Match", value: etag))
  }
  if let lastModified = response.fields.singleton("Last-Modified") {
    conditions.lines.append(.init(name: "If-Modified-Since", value: lastModified))
  }
  return conditions
}

extension StoredResponse {
  /// Whether a later request asks with the same conditions.
  package func hasValidators(of other: StoredResponse) -> Bool {
    fields.hasValues(of: "ETag", in: other.fields)
      && fields.hasValues(of: "Last-Modified", in: other.fields)
  }
}

/// What a 304 means for what is stored.
package enum NotModifiedVerdict: Sendable, Hashable {
  /// It is confirmed; this is how it stands from now on. Whether it may still be kept is for
  /// `storability(of:settings:)` to say.
  case updated(StoredResponse)
  /// The 304 speaks of another representation: ask again without conditions.
  case mismatchedValidator
  /// We set no condition: the origin is at fault, nothing is learnt.
  case unconditional
}

/// Takes a 304 over into what is stored.
///
/// Its fields replace those of the same name; those it lacks stay. Age and Date go even if it has
/// none, since freshness starts anew and the old ones measure the old answer.
///
/// - Source: RFC 9111 §3.2, §4.3.3 and §4.3.4.
package func applying304(
  _ head: ResponseHead, to stored: StoredResponse, request: RequestContext
) -> NotModifiedVerdict {
  guard request.wasConditional else { return .unconditional }
  guard head.fields.confirm(stored) else { return .mismatchedValidator }
  var updated = stored
  updated.fields = stored.fields.updated(by: head.fields)
  updated.requestTime = head.requestTime
  updated.responseTime = head.responseTime
  updated.varyValues = request.fields.valuesWorthComparing(
    vary: updated.fields, hadAuthorization: request.hadAuthorization)
  return .updated(updated)
}

/// They describe bytes that a 304 does not bring.
private let keptFromTheBody = [
  "Content-Length", "Content-Type", "Content-Encoding", "Content-Range",
]

extension HTTPFields.Line {
  fileprivate var isNews: Bool {
    isWorthStoring && !keptFromTheBody.contains { isNamed($0) }
  }
}

extension HTTPFields {
  /// Whether the lines of that name say the same there, in the same order.
  fileprivate func hasValues(of name: String, in other: HTTPFields) -> Bool {
    let own = lines.lazy.filter { $0.isNamed(name) }.map(\.value)
    return own.elementsEqual(other.lines.lazy.filter { $0.isNamed(name) }.map(\.value))
  }

  /// With the fields of a 304 in place of those of the same name.
  fileprivate func updated(by news: HTTPFields) -> HTTPFields {
    var lines: [Line] = []
    lines.reserveCapacity(self.lines.count + news.lines.count)
    for old in self.lines where !old.isNamed("Age") && !old.isNamed("Date") {
      let isReplaced = news.lines.contains { old.isNamed($0.name) && $0.isNews }
      if !isReplaced { lines.append(old) }
    }
    for line in news.lines where line.isNews { lines.append(line) }
    return HTTPFields(lines)
  }

  /// Whether a 304 with these fields can speak of what is stored (RFC 9111 §4.3.4): a strong entity
  /// tag of its own has to be ours. Where ours has none, the same strong Last-Modified will do.
  fileprivate func confirm(_ stored: StoredResponse) -> Bool {
    guard let tag = first("ETag"), tag.isStrongTag else { return true }
    if let ours = stored.fields.first("ETag") { return ours == tag }
    guard let lastModified = singleton("Last-Modified") else { return false }
    return stored.fields.strongLastModified(near: stored.responseTime) == lastModified
  }
}

extension String {
  fileprivate var isStrongTag: Bool { utf8.first == UInt8(ascii: "\"") }
}
