/// A small JSON document in memory: a manifest's head, never its items.
enum JSONValue: Hashable {
  case null
  case boolean(Bool)
  /// As it is written.
  case number(String)
  case string(String)
  case array([JSONValue])
  /// In the order of the text; a key may stand in it twice.
  case object([Member])

  struct Member: Hashable {
    var key: String
    var value: JSONValue
  }

  /// For messages: "a string".
  var kind: String {
    switch self {
    case .null: "null"
    case .boolean: "true or false"
    case .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }

  /// Without blanks, the keys of each object in the order of their bytes: equal documents have equal
  /// texts whatever the order they were written in.
  var canonicalText: String {
    let out = JSONText()
    write(to: out)
    return out.text
  }

  private func write(to out: JSONText) {
    switch self {
    case .null: out.raw("null")
    case .boolean(let value): out.raw(value ? "true" : "false")
    case .number(let text): out.raw(text)
    case .string(let text): out.string(text)
    case .array(let values):
      out.open("[")
      for value in values {
        out.separate()
        value.write(to: out)
      }
      out.close("]")
    case .object(let members):
      out.open("{")
      for member in members.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
        out.key(member.key)
        member.value.write(to: out)
      }
      out.close("}")
    }
  }
}
