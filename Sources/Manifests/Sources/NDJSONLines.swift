/// An item on each line: an object as in a manifest's `items`, or a URL as a string. Blank lines and
/// those that begin with `#` are passed over.
final class NDJSONLines: SourceParser {
  private let items: SourceItems
  private let lines = LineSplitter()
  private let scanner: ItemScanner
  private var events: ItemEvents
  private var parser: JSONParser
  private var fault: SourceFault?
  /// Whether the line under way has no end.
  private var isUnended = false

  init(into items: SourceItems) {
    self.items = items
    scanner = ItemScanner(sink: items, problems: items.problems) { _ in .document }
    events = ItemEvents(scanner)
    parser = JSONParser(events, manyValues: true)
  }

  func feed(_ piece: UnsafeRawBufferPointer) { lines.feed(piece, take) }

  func finish() throws(SourceFault) {
    isUnended = true
    lines.finish(take)
    if let fault { throw fault }
  }

  private func take(_ line: UnsafeBufferPointer<UInt8>?) {
    items.line = lines.number
    guard let line else { return items.refuse(tooLong) }
    guard let first = line.first(where: { !$0.isBlank }), first != UInt8(ascii: "#") else { return }
    do throws(JSONParser.Stop) {
      try parser.feed(UnsafeRawBufferPointer(line))
      try withUnsafeBytes(of: UInt8(ascii: "\n")) { blank throws(JSONParser.Stop) in
        try parser.feed(blank)
      }
      if events.depth != 0 { throw JSONParser.Stop(offset: 0, reason: "the object has no end") }
    } catch {
      _ = items.problems.takeSentence()  // the text is worse
      if isUnended {
        fault = .cutOff(line: lines.number, error.reason)
      } else {
        items.refuse(error.reason)
      }
      return startAnew()
    }
    items.endLine()
  }

  /// What was left open in a line does not go on in the next.
  private func startAnew() {
    scanner.abandonItem()
    events = ItemEvents(scanner)
    parser = JSONParser(events, manyValues: true)
  }
}

/// Hands the events of values outside of any array to a scanner.
private final class ItemEvents: JSONEvents {
  private let scanner: ItemScanner

  init(_ scanner: ItemScanner) { self.scanner = scanner }

  override func null() -> Bool { word("null", .null) }
  override func boolean(_ value: Bool) -> Bool { word(value ? "true" : "false", .boolean(value)) }

  private func word(_ text: StaticString, _ value: JSONValue) -> Bool {
    text.withUTF8Buffer { scanner.scalar($0, kind: value) }
    return true
  }

  override func number(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    scanner.scalar(text, kind: .number(""))
    return true
  }

  override func string(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    scanner.string(text)
    return true
  }

  override func key(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    scanner.key(text)
    return true
  }

  override func openObject() -> Bool {
    scanner.openObject()
    return true
  }

  override func openArray() -> Bool {
    scanner.openArray()
    return true
  }

  override func closeObject() -> Bool {
    scanner.closeObject()
    return true
  }

  override func closeArray() -> Bool {
    _ = scanner.closeArray()
    return true
  }
}
