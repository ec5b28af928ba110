/// Puts events together to one `JSONValue`.
struct JSONTreeBuilder {
  /// More than any manifest's head needs: a head must fit into memory.
  static let mostValues = 100_000
  static let mostBytes = 16 << 20

  private enum Open {
    case array([JSONValue])
    case object([JSONValue.Member], key: String)
  }

  private var open: [Open] = []
  private var values = 0
  private var bytes = 0

  var isTooLarge: Bool { values > Self.mostValues || bytes > Self.mostBytes }

  mutating func openArray() { open.append(.array([])) }
  mutating func openObject() { open.append(.object([], key: "")) }

  /// - Returns: false for what is no UTF-8.
  mutating func key(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let name = String(validating: text, as: UTF8.self),
      case .object(let members, _) = open.popLast()
    else { return false }
    bytes += text.count
    open.append(.object(members, key: name))
    return true
  }

  /// - Returns: the whole value when nothing is open any more.
  mutating func close() -> JSONValue? {
    switch open.popLast() {
    case .array(let values): add(.array(values))
    case .object(let members, _): add(.object(members))
    case nil: nil
    }
  }

  /// - Returns: nil for what is no UTF-8.
  mutating func string(_ text: UnsafeBufferPointer<UInt8>) -> JSONValue? {
    bytes += text.count
    return String(validating: text, as: UTF8.self).map { .string($0) }
  }

  /// - Returns: the whole value when nothing is open any more.
  mutating func add(_ value: JSONValue) -> JSONValue? {
    values += 1
    switch open.popLast() {
    case .array(var elements):
      elements.append(value)
      open.append(.array(elements))
    case .object(var members, let key):
      members.append(JSONValue.Member(key: key, value: value))
      open.append(.object(members, key: key))
    case nil: return value
    }
    return nil
  }
}
