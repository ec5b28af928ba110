import CCurl
import Glibc
import Vocabulary

/// What an easy handle is told of URLs: the origin, which libcurl takes apart once for as long as it stays
/// the same, and the target as the request's own.
struct OriginURL: ~Copyable {
  private let parsed = curl_url()!
  /// The one that the handle has, with a path.
  private var text: [CChar] = []

  deinit { curl_url_cleanup(parsed) }

  mutating func tell(_ easy: UnsafeMutableRawPointer, _ url: ItemURL) {
    url.unredactedText.withCString { start in
      // The parser's own idea of the path never reaches the wire. Path and query are the text's end.
      let authority = start + (url.isSecure ? "https://" : "http://").utf8.count
      let target = strchr(authority, CInt(UInt8(ascii: "/")))!
      let origin = UnsafeBufferPointer(start: start, count: UnsafePointer(target) - start + 1)
      if !isTold(origin) { tell(easy, origin) }
      tw_easy_set_text(easy, CURLOPT_REQUEST_TARGET, target)
    }
  }

  /// - Parameter origin: with the slash behind it.
  private func isTold(_ origin: UnsafeBufferPointer<CChar>) -> Bool {
    text.withUnsafeBufferPointer { told in
      told.count == origin.count + 1
        && memcmp(told.baseAddress!, origin.baseAddress!, origin.count) == 0
    }
  }

  private mutating func tell(
    _ easy: UnsafeMutableRawPointer, _ origin: UnsafeBufferPointer<CChar>
  ) {
    text = Array(origin) + [0]
    // Where it is no URL to libcurl, that is the exchange's to find out.
    tw_easy_set_text(easy, CURLOPT_URL, text)
    let isParsed =
      curl_url_set(
        parsed, CURLUPART_URL, text, CUnsignedInt(CURLU_PATH_AS_IS | CURLU_DISALLOW_USER))
      == CURLUE_OK
    tw_easy_set_pointer(easy, CURLOPT_CURLU, isParsed ? UnsafeMutableRawPointer(parsed) : nil)
  }
}
