import Vocabulary

extension FailureRecord {
  /// A complete response that is no success.
  static func httpStatus(_ status: Int) -> FailureRecord {
    let (message, hint): (String, String) =
      switch status {
      case 404: ("the server has no such file (404)", "correct the URL, or drop the item")
      case 410: ("the server says that the file is gone for good (410)", "drop the item")
      case 401, 403:
        (
          "the server refuses access (\(status))",
          "give credentials in network.headers, or ask the site's owner"
        )
      case 429:
        (
          "the server asks for fewer requests (429)",
          "lower network.perHost or set network.ratePerHost for this host"
        )
      case 500...599:
        ("the server failed (\(status))", "nothing to do: it is tried again at its time")
      default: ("the server answered with status \(status)", "open the URL in a browser")
      }
    return FailureRecord(
      code: "http-\(status)", message: message, hint: hint, disposition: .retry(notBefore: nil))
  }

  static let unaskedNotModified = FailureRecord(
    code: "protocol", message: "the server answered 304 to a request without conditions",
    hint: "this is a fault of the server's: tell its owner", disposition: .retry(notBefore: nil))

  static let emptyBody = FailureRecord(
    code: "not-an-image", message: "the server sent an empty body",
    hint: "open the URL in a browser", disposition: .retry(notBefore: nil))

  static func noLocation(_ status: Int) -> FailureRecord {
    FailureRecord(
      code: "bad-redirect", message: "a redirect (\(status)) that names no Location",
      hint: "open the URL in a browser", disposition: .retry(notBefore: nil))
  }

  static func badLocation(_ reason: BadURL, status: Int) -> FailureRecord {
    FailureRecord(
      code: "bad-redirect",
      message: "a redirect (\(status)) to what cannot be fetched: \(reason.message)",
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
