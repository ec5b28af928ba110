import TestSupport

/// All that the fault origin can do, in the order in which `/` lists it.
///
/// The limits that some of them rely on are those of `FaultManifest`.
enum FaultCatalogue {
  /// - Parameter lateOrigin: the URL of a picture on an origin that takes its connections late.
  static func faults(lateOrigin: String) -> [Fault] {
    good(lateOrigin) + slow + broken + tooMuch + encoded + redirects + refusals + noPicture
  }

  private static func good(_ lateOrigin: String) -> [Fault] {
    [
      Fault("ok", "answers as it should", .fetched) { _ in .ok(picture("ok")) },
      Fault("no-store", "forbids to store it", .notStored) { _ in
        .ok(picture("no-store"), [("Cache-Control", "no-store")])
      },
      Fault("delayed-accept", "leads to a server that takes connections a second late", .fetched) {
        _ in .redirect(to: lateOrigin)
      },
    ]
  }

  private static let slow = [
    Fault("slow", "sends its picture in pieces, a second in all", .fetched) { _ in
      let body = picture("slow")
      let head = OriginResponse.head(200, [("Content-Length", "\(body.count)")])
      let pieces = stride(from: 0, to: body.count, by: body.count / 10 + 1).map {
        Array(body[$0..<min(body.count, $0 + body.count / 10 + 1)])
      }
      return .steps(
        [.sendBytes(head)] + pieces.flatMap { [.sendBytes($0), .pause(.milliseconds(100))] })
    },
    Fault("never", "takes the request and never answers", .failed("timeout")) { _ in
      .steps([.hang])
    },
    Fault("stalls", "stops in the middle of the body, and says no more", .failed("timeout")) { _ in
      .steps([.sendBytes(half(of: picture("stalls"))), .hang])
    },
    Fault("endless", "sends a byte every 200 ms, for ever", .failed("timeout")) { _ in
      .steps([.send("HTTP/1.1 200 OK\r\n\r\n"), .trickle("x", every: .milliseconds(200))])
    },
    Fault("endless-head", "sends header lines for ever", .failed("timeout")) { _ in
      .steps([.send("HTTP/1.1 200 OK\r\n"), .trickle("X-A: b\r\n", every: .milliseconds(200))])
    },
  ]

  private static let broken = [
    Fault("half", "closes the connection in the middle of the body", .failed("truncated")) { _ in
      .steps([.sendBytes(half(of: picture("half"))), .close])
    },
    Fault("half-once", "the same for the first request; the rest can be asked for", .fetched) {
      request in
      let body = picture("half-once", width: 640)
      let tag = ("ETag", "\"half-once\"")
      if let first = request["range"].flatMap({ Int($0.dropFirst(6).dropLast()) }),
        first < body.count
      {
        let range = ("Content-Range", "bytes \(first)-\(body.count - 1)/\(body.count)")
        return .status(206, Array(body[first...]), [tag, range])
      }
      return request.number == 1
        ? .steps([.sendBytes(half(of: body, [tag])), .close]) : .ok(body, [tag])
    },
    Fault("reset", "resets the connection before it answers", .failed("connect")) { _ in
      .steps([.reset])
    },
    Fault("reset-in-body", "resets it in the middle of the body", .failed("truncated")) { _ in
      .steps([.sendBytes(half(of: picture("reset"))), .pause(.milliseconds(50)), .reset])
    },
    Fault("wrong-length", "declares ten bytes more than come", .failed("truncated")) { _ in
      let body = picture("wrong-length")
      return .steps([
        .sendBytes(OriginResponse.head(200, [("Content-Length", "\(body.count + 10)")]) + body),
        .close,
      ])
    },
    Fault("two-lengths", "declares two lengths", .failed("protocol")) { _ in
      .raw("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello")
    },
    Fault("garbage", "answers with what is no HTTP", .failed("protocol")) { _ in
      .raw("220 mail.example ESMTP\r\n")
    },
    Fault("cut-file", "sends a picture whose file ends early, in order", .failed("truncated")) {
      _ in
      .ok(Array(picture("cut-file").prefix(3000)))
    },
  ]

  private static let tooMuch = [
    Fault("flood", "sends zeros as fast as it can, for ever", .failed("too-large")) { _ in
      .steps([
        .send("HTTP/1.1 200 OK\r\n\r\n"),
        .trickle(String(repeating: "\0", count: 64 << 10), every: .zero),
      ])
    },
    Fault("too-large", "declares more than the limit", .failed("too-large")) { _ in
      .steps([
        .sendBytes(OriginResponse.head(200, [("Content-Length", "\(5 << 30)")])),
        .trickle("x", every: .milliseconds(100)),
      ])
    },
    Fault("gzip-bomb", "sends 400 KB that unpack to 64 MB", .failed("too-large")) { _ in
      .ok(bomb, [("Content-Encoding", "gzip")])
    },
  ]

  private static let bomb = OriginGzip.zeros(64_000_000)

  private static let encoded = [
    Fault("gzip", "sends its picture gzipped, though nobody asked for that", .fetched) { _ in
      .ok(OriginGzip.stored(picture("gzip")), [("Content-Encoding", "gzip")])
    },
    Fault("gzip-twice", "sends it gzipped twice", .failed("unsupported-encoding")) { _ in
      .ok(
        OriginGzip.stored(OriginGzip.stored(picture("gzip-twice"))),
        [("Content-Encoding", "gzip, gzip")])
    },
    Fault("chunked", "sends it in chunks, and declares another length", .fetched) { _ in
      let body = picture("chunked")
      let head = OriginResponse.head(
        200, [("Transfer-Encoding", "chunked"), ("Content-Length", "7")])
      let size = Array("\(String(body.count, radix: 16))\r\n".utf8)
      return .steps([.sendBytes(head + size + body + Array("\r\n0\r\n\r\n".utf8)), .close])
    },
  ]

  private static let redirects = [
    Fault("redirect", "redirects to a picture", .fetched) { request in
      request.target.hasSuffix("?there")
        ? .ok(picture("redirect")) : .redirect(308, to: "redirect?there")
    },
    Fault("redirect-loop", "redirects in a circle", .failed("too-many-redirects")) { request in
      .redirect(to: request.target.hasSuffix("?b") ? "redirect-loop" : "redirect-loop?b")
    },
    Fault("redirect-chain", "redirects ever further", .failed("too-many-redirects")) { request in
      .redirect(to: request.target + (request.target.contains("?") ? "x" : "?x"))
    },
    Fault("redirect-nowhere", "redirects without a target", .failed("bad-redirect")) { _ in
      .status(302)
    },
    Fault("redirect-inside", "redirects to a cloud's inner service", .failed("blocked-address")) {
      _ in .redirect(to: "http://169.254.169.254/latest/meta-data/")
    },
  ]

  private static let refusals = [
    Fault("429", "asks for fewer requests, then answers", .fetched) { request in
      request.number == 1
        ? .status(429, [], [("Retry-After", "1")]) : .ok(picture("429"))
    },
    Fault("503", "is in trouble, then answers", .fetched) { request in
      request.number == 1 ? .status(503) : .ok(picture("503"))
    },
    Fault("500", "is in trouble for good", .failed("http-500")) { _ in .status(500) },
    Fault("403", "refuses, with a picture", .failed("http-403")) { _ in
      .status(403, picture("403"))
    },
    Fault("404", "has no such file", .failed("http-404")) { _ in .status(404) },
  ]

  private static let noPicture = [
    Fault("html", "sends an error page with status 200", .failed("not-an-image")) { _ in
      .ok("<!doctype html><title>Not here</title>", [("Content-Type", "image/jpeg")])
    },
    Fault("empty", "sends nothing with status 200", .failed("not-an-image")) { _ in .ok("") },
  ]

  private static func half(of body: [UInt8], _ fields: [(String, String)] = []) -> [UInt8] {
    let length = ("Content-Length", "\(body.count)")
    return OriginResponse.head(200, fields + [length]) + body[..<(body.count / 2)]
  }
}
