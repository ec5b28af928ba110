// HTTPCaching: RFC 9111's rules for a shared batch cache as pure functions. What comes in: response
// heads, settings, times. What goes out: decisions. No clock, no store, no network.

import Vocabulary

/// The fields of a message in the order received; names compare without case.
package struct HTTPFields: Sendable, Hashable {
  package struct Line: Sendable, Hashable {
    /// As received.
    package var name: String
    /// As received, blanks around it removed.
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
    let wanted = name.utf8
    return lines.filter { $0.name.utf8.equalsIgnoringASCIICase(wanted) }.map(\.value)
  }

  package func contains(_ name: String) -> Bool {
    lines.contains { $0.name.utf8.equalsIgnoringASCIICase(name.utf8) }
  }

  package mutating func removeAll(named name: String) {
    lines.removeAll { $0.name.utf8.equalsIgnoringASCIICase(name.utf8) }
  }
}

extension Substring.UTF8View {
  func equalsIgnoringASCIICase(_ other: Substring.UTF8View) -> Bool {
    elementsEqual(other) { asciiLowercased($0) == asciiLowercased($1) }
  }
}

extension String.UTF8View {
  func equalsIgnoringASCIICase(_ other: String.UTF8View) -> Bool {
    count == other.count && elementsEqual(other) { asciiLowercased($0) == asciiLowercased($1) }
  }
}

@inline(__always)
private func asciiLowercased(_ byte: UInt8) -> UInt8 {
  (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
}

/// What a server said of one URL, and when: all that freshness depends on.
///
/// The ledger keeps it as it was said; each job's settings are applied when that job looks.
package struct StoredResponse: Sendable, Hashable {
  package var status: Int
  /// The fields that matter later (see `HTTPFields.worthStoring`).
  package var fields: HTTPFields
  /// When the request left (RFC 9111 §4.2.3 `request_time`).
  package var requestTime: Timestamp
  /// When the response's head had come (`response_time`).
  package var responseTime: Timestamp
  /// The request's values of the fields that `Vary` names; they are compared, never sent.
  package var varyValues: HTTPFields

  package init(
    status: Int, fields: HTTPFields, requestTime: Timestamp, responseTime: Timestamp,
    varyValues: HTTPFields = HTTPFields()
  ) {
    self.status = status
    self.fields = fields
    self.requestTime = requestTime
    self.responseTime = responseTime
    self.varyValues = varyValues
  }
}
