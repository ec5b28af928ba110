/// Reads a whole small document into a `JSONValue`.
final class JSONTree: JSONEvents {
  private var builder = JSONTreeBuilder()
  private var whole: JSONValue?

  static func parse(_ text: String) throws(JSONParser.Stop) -> JSONValue {
    let tree = JSONTree()
    let parser = JSONParser(tree)
    let bytes = Array(text.utf8)
    var stop: JSONParser.Stop?
    bytes.withUnsafeBytes { bytes in
      do throws(JSONParser.Stop) { try parser.feed(bytes) } catch { stop = error }
    }
    if let stop { throw stop }
    try parser.finish()
    return tree.whole ?? .null
  }

  private func add(_ value: JSONValue) -> Bool {
    if let value = builder.add(value) { whole = value }
    return !builder.isTooLarge || stop("the document is too large for a manifest's settings")
  }

  private func close() -> Bool {
    if let value = builder.close() { whole = value }
    return true
  }

  override func null() -> Bool { add(.null) }
  override func boolean(_ value: Bool) -> Bool { add(.boolean(value)) }

  override func number(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    add(.number(String(decoding: text, as: UTF8.self)))
  }

  override func string(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let value = builder.string(text) else { return stop("a string that is not UTF-8") }
    return add(value)
  }

  override func key(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    builder.key(text) || stop("a key that is not UTF-8")
  }

  override func openObject() -> Bool {
    builder.openObject()
    return true
  }

  override func openArray() -> Bool {
    builder.openArray()
    return true
  }

  override func closeObject() -> Bool { close() }
  override func closeArray() -> Bool { close() }
}
