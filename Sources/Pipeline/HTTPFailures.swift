import Vocabulary

// Answers that came whole and are of no use. What a status means stands in
// `FetchedResponse.statusFailure`.

extension FailureRecord {
  static func unaskedNotModified(_ url: ItemURL) -> FailureRecord {
    FailureRecord(
      code: "protocol", message: "\(url) answered 304 to a request without conditions",
      hint: "this is a fault of the server's: tell its owner", disposition: .retry(notBefore: nil))
  }

  static func emptyBody(_ url: ItemURL) -> FailureRecord {
    FailureRecord(
      code: "not-an-image", message: "\(url) sent an empty body",
      hint: "open the URL in a browser", disposition: .retry(notBefore: nil))
  }

  static func noLocation(_ status: Int, at url: ItemURL) -> FailureRecord {
    FailureRecord(
      code: "bad-redirect", message: "\(url) redirects (\(status)) and names no Location",
      hint: "open the URL in a browser", disposition: .retry(notBefore: nil))
  }

  static func badLocation(_ reason: BadURL, status: Int, at url: ItemURL) -> FailureRecord {
    FailureRecord(
      code: "bad-redirect",
      message: "\(url) redirects (\(status)) to what cannot be fetched: \(reason.message)",
      hint: "open the URL in a browser", disposition: .retry(notBefore: nil))
  }

  static func tooManyRedirects(limit: Int, from url: ItemURL) -> FailureRecord {
    FailureRecord(
      code: "too-many-redirects", message: "\(url) leads over more than \(limit) redirects",
      hint: "raise network.maxRedirects, or give the final URL", disposition: .retry(notBefore: nil)
    )
  }

  static func redirectLoop(at url: ItemURL) -> FailureRecord {
    FailureRecord(
      code: "too-many-redirects", message: "redirects lead back to \(url)",
      hint: "give the final URL", disposition: .retry(notBefore: nil))
  }
}

extension FailureRecord {
  /// What came from a URL, as a decoder sees it: it knows the bytes only.
  func naming(_ url: ItemURL) -> FailureRecord {
    var named = self
    named.message = "\(url): \(message)"
    return named
  }
}
