// Reporting: what people and scripts are told. The only target that words things for them.
// In: snapshots, summaries, what was looked up. Out: text and JSON. It prints nothing itself.

import Vocabulary

/// A JSON value that keeps its keys in the order given.
package indirect enum JSONText: Sendable {
  case object([(String, JSONText)])
  case array([JSONText])
  case string(String)
  case number(Int64)
  /// In ten-thousandths.
  case decimal(Int64)
  case bool(Bool)
  /// JSON already, on one line.
  case verbatim(String)
  case null

  package static func number(_ value: Int) -> JSONText { .number(Int64(value)) }
  package static func time(_ time: Timestamp?) -> JSONText {
    time.map { .string("\($0)") } ?? .null
  }
  package static func string(_ text: String?) -> JSONText { text.map { .string($0) } ?? .null }
  package static func number(_ value: Int?) -> JSONText {
    value.map { .number(Int64($0)) } ?? .null
  }

  /// 0 to 1, rounded down to four digits.
  package static func fraction(_ part: Int, of whole: Int) -> JSONText {
    .decimal(whole == 0 ? 0 : Int64(part) * 10_000 / Int64(whole))
  }

  /// RFC 8259, on one line.
  package var text: String {
    var out = ""
    write(to: &out)
    return out
  }

  private func write(to out: inout String) {
    switch self {
    case .object(let members):
      out += "{"
      for (i, (key, value)) in members.enumerated() {
        if i > 0 { out += "," }
        Self.write(key, to: &out)
        out += ":"
        value.write(to: &out)
      }
      out += "}"
    case .array(let elements):
      out += "["
      for (i, element) in elements.enumerated() {
        if i > 0 { out += "," }
        element.write(to: &out)
      }
      out += "]"
    case .string(let text): Self.write(text, to: &out)
    case .number(let value): out += String(value)
    case .decimal(let value):
      let digits = String(value % 10_000)
      out += "\(value / 10_000)." + String(repeating: "0", count: 4 - digits.utf8.count) + digits
    case .verbatim(let text): out += text
    case .bool(let value): out += value ? "true" : "false"
    case .null: out += "null"
    }
  }

  private static func write(_ text: String, to out: inout String) {
    out += "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": out += "\\\""
      case "\\": out += "\\\\"
      case "\n": out += "\\n"
      case "\r": out += "\\r"
      case "\t": out += "\\t"
      case _ where scalar.value < 0x20:
        let hex = String(scalar.value, radix: 16)
        out += "\\u" + String(repeating: "0", count: 4 - hex.utf8.count) + hex
      default: out.unicodeScalars.append(scalar)
      }
    }
    out += "\""
  }
}
