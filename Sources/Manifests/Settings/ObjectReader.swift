import Vocabulary

/// Takes the values out of one object of a manifest's head, each checked; what is wrong goes to
/// `problems`, and the value is then nil as if the key were absent.
struct ObjectReader {
  let place: Place
  let problems: Problems
  private var values: [String: JSONValue] = [:]

  /// - Parameters:
  ///   - keys: those that the object may hold; any other is a problem, as is one that stands twice.
  ///   - unsupported: those of `keys` that are refused for now.
  /// - Returns: nil for anything but an object.
  init?(
    _ value: JSONValue, at place: Place, keys: [String], unsupported: Set<String> = [],
    problems: Problems
  ) {
    self.place = place
    self.problems = problems
    guard case .object(let members) = value else {
      problems.add(place, "must be an object, not \(value.kind)")
      return nil
    }
    for member in members {
      if !keys.contains(member.key) {
        problems.add(
          place[member.key], "unknown key\(Suggestion.text(for: member.key, among: keys))")
      } else if values.updateValue(member.value, forKey: member.key) != nil {
        problems.add(place[member.key], "given twice")
      } else if unsupported.contains(member.key) {
        problems.add(place[member.key], Unsupported.message)
      }
    }
    for key in unsupported { values[key] = nil }
  }

  func has(_ key: String) -> Bool { values[key] != nil }

  func value(_ key: String) -> JSONValue? { values[key] }

  func reject(_ key: String, _ message: String) { problems.add(place[key], message) }

  private func wrongType(_ key: String, _ expected: String, _ value: JSONValue) {
    reject(key, "must be \(expected), not \(value.kind)")
  }

  // MARK: Plain values

  func boolean(_ key: String) -> Bool? {
    switch values[key] {
    case .boolean(let value): return value
    case let other?: wrongType(key, "true or false", other)
    case nil: break
    }
    return nil
  }

  func string(_ key: String) -> String? {
    switch values[key] {
    case .string(let value): return value
    case let other?: wrongType(key, "a string", other)
    case nil: break
    }
    return nil
  }

  func array(_ key: String) -> [JSONValue]? {
    switch values[key] {
    case .array(let value): return value
    case let other?: wrongType(key, "an array", other)
    case nil: break
    }
    return nil
  }

  /// Its strings; each other element is a problem of its own.
  func strings(_ key: String) -> [(place: Place, text: String)]? {
    array(key)?.enumerated().compactMap { i, element in
      let place = place[key][i]
      if case .string(let text) = element { return (place, text) }
      problems.add(place, "must be a string, not \(element.kind)")
      return nil
    }
  }

  func integer(_ key: String, in range: ClosedRange<Int>) -> Int? {
    guard let value = values[key] else { return nil }
    return integer(value, at: place[key], in: range)
  }

  func integer(_ value: JSONValue, at place: Place, in range: ClosedRange<Int>) -> Int? {
    guard case .number(let text) = value else {
      problems.add(place, "must be a whole number, not \(value.kind)")
      return nil
    }
    let number = WholeNumber(text)
    if case .value(let number) = number, range.contains(number) { return number }
    problems.add(
      place,
      number == .fraction
        ? "must be a whole number, not \(Shown.plain(text, most: 40))"
        : "must be from \(range.lowerBound) to \(range.upperBound), not "
          + Shown.plain(text, most: 40))
    return nil
  }

  func choice<Value: RawRepresentable<String> & CaseIterable>(_ key: String) -> Value? {
    guard let text = string(key) else { return nil }
    let known = Value.allCases.map(\.rawValue)
    guard let value = Value(rawValue: text) else {
      reject(
        key,
        "\(Shown.quoted(text)) is not \(Shown.alternatives(known))"
          + Suggestion.text(for: text, among: known))
      return nil
    }
    return value
  }

  // MARK: Quantities

  /// A text with a unit, or a plain number of seconds.
  func duration(_ key: String, in range: ClosedRange<Duration>) -> Duration? {
    guard let value = values[key] else { return nil }
    let parsed: Duration?
    let shown: String
    switch value {
    case .string(let text):
      (parsed, shown) = (DurationText.parse(text), Shown.quoted(text, most: 40))
      if parsed == nil {
        reject(
          key,
          "\(shown) is no duration: write a number with ms, s, m, h or d, such as \"30s\"")
        return nil
      }
    case .number(let text):
      (parsed, shown) = (Double(text).flatMap(DurationText.parse(seconds:)), Shown.plain(text))
    default:
      wrongType(key, "a duration such as \"30s\"", value)
      return nil
    }
    // The vocabulary cuts what is longer than `never`: only the word itself means it.
    if let parsed, range.contains(parsed), parsed < DurationText.never || shown == "\"never\"" {
      return parsed
    }
    reject(
      key,
      "must be from \(DurationText.format(range.lowerBound)) to "
        + "\(DurationText.format(range.upperBound)), not \(shown)")
    return nil
  }

  /// A text with a unit, or a plain number of bytes.
  func byteSize(_ key: String, in range: ClosedRange<Int>) -> Int? {
    guard let value = values[key] else { return nil }
    let parsed: Int?
    let shown: String
    switch value {
    case .string(let text):
      (parsed, shown) = (ByteSizeText.parse(text), Shown.quoted(text, most: 40))
      if parsed == nil {
        reject(
          key, "\(shown) is no size: write a number with KiB, MiB or GiB, such as \"64MiB\"")
        return nil
      }
    case .number(let text):
      shown = Shown.plain(text, most: 40)
      let number = WholeNumber(text)
      if number == .fraction {
        reject(key, "must be a whole number of bytes, not \(shown)")
        return nil
      }
      parsed = if case .value(let bytes) = number { bytes } else { nil }
    default:
      wrongType(key, "a size such as \"64MiB\"", value)
      return nil
    }
    if let parsed, range.contains(parsed) { return parsed }
    reject(
      key,
      "must be from \(ByteSizeText.format(range.lowerBound)) to "
        + "\(ByteSizeText.format(range.upperBound)), not \(shown)")
    return nil
  }
}

/// A JSON number as a whole one. `5.0` and `5e0` are whole too, as JSON Schema has it.
enum WholeNumber: Hashable {
  case value(Int)
  case fraction
  /// More than an `Int` holds.
  case huge

  init(_ text: String) {
    if let value = Int(text) {
      self = .value(value)
    } else if let number = Double(text), number.magnitude < 9e15, !text.utf8.allSatisfy(\.isDigit) {
      self = number == number.rounded() ? .value(Int(number)) : .fraction
    } else {
      self = .huge
    }
  }
}

extension UInt8 {
  fileprivate var isDigit: Bool { (0x30...0x39).contains(self) }
}

extension Optional {
  /// Lays a value that was given over one that was not.
  func assign(to target: inout Wrapped) {
    if let self { target = self }
  }
}
