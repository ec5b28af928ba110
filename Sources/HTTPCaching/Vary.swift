import Vocabulary

/// The names in a response's Vary fields.
struct VaryNames: Hashable {
  /// `*` stands anywhere among them: no request's fields can tell whether the response fits.
  private(set) var isStar = false
  /// In lower case, each once.
  private(set) var names: [String] = []

  init(of fields: HTTPFields) {
    for line in fields.lines where line.isNamed("Vary") {
      for member in line.value.split(separator: ",") {
        let name = member.trimmingBlanks.lowercased()
        if name == "*" { isStar = true }
        if !name.isEmpty, name != "*", !names.contains(name) { names.append(name) }
      }
    }
  }
}

/// Whether Vary has a member `*`, without building the list.
func varyHasStar(_ value: Span<UInt8>) -> Bool {
  var start = 0
  while start < value.count {
    let end = value.next(UInt8(ascii: ","), from: start)
    let member = value.trimmed(start..<end)
    if member.count == 1, value[member.lowerBound] == UInt8(ascii: "*") { return true }
    start = end + 1
  }
  return false
}

extension HTTPFields {
  /// This request's values of the fields that a response varies by: one line for each that was sent.
  ///
  /// A credential's value never reaches the ledger: a mark stands for it. So does one for an
  /// Authorization that was sent even where the response does not vary by it, because what a shared
  /// cache may do with the response depends on it (RFC 9111 §3.5).
  package func valuesWorthComparing(vary fields: HTTPFields, hadAuthorization: Bool) -> HTTPFields {
    guard hadAuthorization || fields.contains("Vary") else { return HTTPFields() }
    var values = VaryNames(of: fields).names.compactMap { name in
      comparable(name).map { Line(name: name, value: $0) }
    }
    if hadAuthorization, !values.contains(where: { $0.isNamed("authorization") }) {
      values.append(Line(name: "authorization", value: credentialMark))
    }
    return HTTPFields(values)
  }

  /// The lines of that name as one value (RFC 9111 §4.1); nil where there is none.
  fileprivate func comparable(_ name: String) -> String? {
    let values = self[name]
    guard !values.isEmpty else { return nil }
    if NetworkSettings.Header.isCredential(name: name) { return credentialMark }
    return values.joined(separator: ", ")
  }
}

extension StoredResponse {
  /// Whether the request that brought it carried an Authorization field.
  package var answeredAuthorization: Bool { varyValues.contains("authorization") }

  /// The first field that the response varies by and that the request would now send with another
  /// value; nil where it fits.
  package func mismatchedField(with requestFields: HTTPFields) -> String? {
    guard fields.contains("Vary") else { return nil }
    return VaryNames(of: fields).names.first { name in
      requestFields.comparable(name) != varyValues.first(name)
    }
  }
}

extension Substring {
  fileprivate var trimmingBlanks: Substring {
    var rest = self
    while let first = rest.utf8.first, first.isBlank { rest.removeFirst() }
    while let last = rest.utf8.last, last.isBlank { rest.removeLast() }
    return rest
  }
}

private let credentialMark = "(sent)"
