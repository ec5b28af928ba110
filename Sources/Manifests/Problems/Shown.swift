/// Words for messages, whatever a manifest holds: short, on one line, without control characters.
enum Shown {
  static func quoted(_ text: String, most: Int = 60) -> String { "\"\(plain(text, most: most))\"" }

  /// - Parameter most: of characters; what is longer ends in an ellipsis.
  static func plain(_ text: String, most: Int = 60) -> String {
    var shown = ""
    var count = 0
    for scalar in text.unicodeScalars {
      guard count < most else { return shown + "…" }
      count += 1
      if isInvisible(scalar) {
        shown += "\\u{\(String(scalar.value, radix: 16))}"
      } else {
        shown.unicodeScalars.append(scalar)
      }
    }
    return shown
  }

  /// Control characters could drive a terminal, direction marks could turn a line around.
  private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned,
      .privateUse:
      true
    default: false
    }
  }

  /// `a, b or c`.
  static func alternatives(_ words: [String]) -> String {
    guard let last = words.last, words.count > 1 else { return words.first ?? "" }
    return "\(words.dropLast().joined(separator: ", ")) or \(last)"
  }
}
