import Vocabulary

extension HTTPFields {
  /// The field by which the rest of an interrupted body may be asked for (If-Range): a strong entity
  /// tag, or, where there is none of any kind, a strong Last-Modified.
  ///
  /// - Parameter responseTime: dates with two-digit years are near it.
  /// - Returns: `ETag` or `Last-Modified` with its value as it was received; nil where two bodies
  ///   with the same validators may differ.
  /// - Source: RFC 9110 §13.1.5, §8.8.1 and §8.8.2.2.
  package func rangeValidator(near responseTime: Timestamp) -> Line? {
    if contains("ETag") {
      guard let tag = singleton("ETag"), tag.isStrongEntityTag else { return nil }
      return Line(name: "ETag", value: tag)
    }
    return strongLastModified(near: responseTime).map { Line(name: "Last-Modified", value: $0) }
  }

  /// Last-Modified where no second change can have happened within that second: Date is at least one
  /// second later (RFC 9110 §8.8.2.2).
  func strongLastModified(near responseTime: Timestamp) -> String? {
    guard let text = singleton("Last-Modified"), let date = singleton("Date"),
      let changed = parseHTTPDate(text, near: responseTime),
      let answered = parseHTTPDate(date, near: responseTime),
      answered >= changed + .seconds(1)
    else { return nil }
    return text
  }

  /// The fields of the whole, put together from those of its beginning and those of its rest.
  ///
  /// As with a 304: the rest's replace those of the same name, what speaks of the part alone is left
  /// out, and Age and Date go even if the rest has none.
  ///
  /// - Source: RFC 9111 §3.4.
  package func completed(by rest: HTTPFields) -> HTTPFields {
    let ofThePart = ["Content-Range", "Content-Length", "Transfer-Encoding"]
    let news = rest.lines.filter { line in !ofThePart.contains { line.isNamed($0) } }
    let kept = lines.filter { old in
      !old.isNamed("Age") && !old.isNamed("Date")
        && !news.contains { old.isNamed($0.name) }
    }
    return HTTPFields(kept + news)
  }
}

extension String {
  /// RFC 9110 §8.8.3: an opaque tag without the mark of a weak one.
  var isStrongEntityTag: Bool {
    utf8.count >= 2 && utf8.first == UInt8(ascii: "\"") && utf8.last == UInt8(ascii: "\"")
  }
}
