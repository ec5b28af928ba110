/// The fields of a message in the order received; names compare without case.
package struct HTTPFields: Sendable, Hashable {
  package struct Line: Sendable, Hashable {
    /// As received.
    package var name: String
    /// As received, blanks around it removed; a scalar for each byte (see `String.fieldBytes`).
    package var value: String

    package init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  package var lines: [Line]

  package init(_ lines: [Line] = []) { self.lines = lines }

  package init(pairs: [(String, String)]) {
    lines = pairs.map { Line(name: $0.0, value: $0.1) }
  }

  /// The value of each line of that name, in order.
  package subscript(name: String) -> [String] {
    lines.filter { $0.isNamed(name) }.map(\.value)
  }

  package func contains(_ name: String) -> Bool {
    lines.contains { $0.isNamed(name) }
  }

  package mutating func removeAll(named name: String) {
    lines.removeAll { $0.isNamed(name) }
  }

  /// The one value of a field that may stand only once: nil where it is missing or empty, or where
  /// its lines differ.
  package func singleton(_ name: String) -> String? {
    var only: String?
    for line in lines where line.isNamed(name) {
      guard only == nil || only == line.value else { return nil }
      only = line.value
    }
    return only?.isEmpty == true ? nil : only
  }

  /// The value of the first line of that name.
  package func first(_ name: String) -> String? {
    lines.first { $0.isNamed(name) }?.value
  }
}

extension HTTPFields.Line {
  package func isNamed(_ other: String) -> Bool {
    name.utf8.equalsIgnoringASCIICase(other.utf8)
  }
}

extension String.UTF8View {
  func equalsIgnoringASCIICase(_ other: String.UTF8View) -> Bool {
    // Nearly all differ in length already.
    guard count == other.count else { return false }
    let (bytes, others) = (span, other.span)
    for i in bytes.indices where bytes[i].asciiLowercased != others[i].asciiLowercased {
      return false
    }
    return true
  }
}
