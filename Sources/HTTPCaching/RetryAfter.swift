import Vocabulary

/// When the server asks to be asked again; never before `now`.
///
/// A number of seconds or any of HTTP's dates. Several lines: the latest. What is neither is passed
/// over.
///
/// - Source: RFC 9110 §10.2.3.
package func retryAfter(_ fields: HTTPFields, now: Timestamp) -> Timestamp? {
  fields["Retry-After"].compactMap { retryTime($0, now: now) }.max()
}

private func retryTime(_ text: String, now: Timestamp) -> Timestamp? {
  let bytes = text.utf8.span
  if let seconds = bytes.deltaSeconds(in: bytes.trimmed(0..<bytes.count)) {
    return now + .seconds(seconds)
  }
  return parseHTTPDate(text, near: now).map { max($0, now) }
}
