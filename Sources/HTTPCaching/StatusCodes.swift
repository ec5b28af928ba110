/// Whether a response may be held fresh although it says nothing of how long.
///
/// - Source: RFC 9110 §15.1; 206 is not here, since parts are never stored as such.
package func isHeuristicallyCacheable(status: Int) -> Bool {
  switch status {
  case 200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501: true
  default: false
  }
}

/// A redirect that is followed: each is an entry of its own.
package func isRedirect(status: Int) -> Bool {
  switch status {
  case 301, 302, 303, 307, 308: true
  default: false
  }
}

/// Whether we know what the status asks of a cache (RFC 9111 §3, `must-understand`): the final ones
/// of RFC 9110 §15 but 206, whose parts we do not store, and 304, which is never stored.
func isUnderstood(status: Int) -> Bool {
  switch status {
  case 200...205, 300...303, 305, 307, 308, 400...417, 421, 422, 426, 500...505: true
  default: false
  }
}
