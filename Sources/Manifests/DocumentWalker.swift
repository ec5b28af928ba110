import Vocabulary

/// Walks a manifest's document: its items go to a scanner one by one, all else is kept as the head.
final class DocumentWalker: JSONEvents {
  private enum Region {
    /// Outside of the document's object, or at one of its keys.
    case document
    /// In the value of a key that is kept.
    case head
    case items
  }

  private let scanner: ItemScanner
  private let problems: Problems
  private var region = Region.document
  private var key = ""
  private var hasItems = false
  private var builder = JSONTreeBuilder()
  private var members: [JSONValue.Member] = []

  /// - Parameter sink: takes the items; their problems and those of `items` itself go to `problems`.
  init(sink: any ItemSink, problems: Problems) {
    self.problems = problems
    scanner = ItemScanner(sink: sink, problems: problems)
  }

  /// All but `items`, in the order of the text.
  var head: JSONValue { .object(members) }
  var itemCount: Int { scanner.index }

  // MARK: Scalars

  override func string(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    if region == .items {
      scanner.string(text)
      return true
    }
    guard let value = builder.string(text) else { return stop("a string that is not UTF-8") }
    return keep(value)
  }

  override func number(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    if region == .items {
      scanner.scalar(text, kind: .number(""))
      return true
    }
    return keep(.number(String(decoding: text, as: UTF8.self)))
  }

  override func null() -> Bool { word("null", .null) }

  override func boolean(_ value: Bool) -> Bool { word(value ? "true" : "false", .boolean(value)) }

  private func word(_ text: StaticString, _ value: JSONValue) -> Bool {
    guard region == .items else { return keep(value) }
    text.withUTF8Buffer { scanner.scalar($0, kind: value) }
    return true
  }

  private func keep(_ value: JSONValue) -> Bool {
    if depth == 0 { return stop("a manifest must be an object, not \(value.kind)") }
    if let whole = builder.add(value) { endMember(whole) }
    return !builder.isTooLarge || stop("all but the items must have less than 16 MiB")
  }

  private func endMember(_ value: JSONValue) {
    region = .document
    if key == "items" {
      problems.add(Place.document[key], "must be an array, not \(value.kind)")
    } else {
      members.append(JSONValue.Member(key: key, value: value))
    }
  }

  // MARK: Objects and arrays

  override func key(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    switch region {
    case .items: scanner.key(text)
    case .head: return builder.key(text) || stop("a key that is not UTF-8")
    case .document:
      guard let name = String(validating: text, as: UTF8.self) else {
        return stop("a key that is not UTF-8")
      }
      key = name
      region = .head
    }
    return true
  }

  override func openObject() -> Bool {
    switch region {
    case .items: scanner.openObject()
    case .head: builder.openObject()
    case .document: break
    }
    return true
  }

  override func openArray() -> Bool {
    switch region {
    case .items: scanner.openArray()
    case .head where depth == 2 && key == "items":
      guard !hasItems else { return stop("\"items\" is given twice") }
      (region, hasItems) = (.items, true)
    case .head: builder.openArray()
    case .document: return stop("a manifest must be an object, not an array")
    }
    return true
  }

  override func closeObject() -> Bool {
    switch region {
    case .items: scanner.closeObject()
    case .head: if let whole = builder.close() { endMember(whole) }
    case .document: break
    }
    return true
  }

  override func closeArray() -> Bool {
    if region == .items {
      if scanner.closeArray() { region = .document }
    } else if let whole = builder.close() {
      endMember(whole)
    }
    return true
  }
}
