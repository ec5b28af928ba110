import CCurl
import HTTPCaching

/// The fields of a request as libcurl takes them.
///
/// A job's requests begin alike and end with what each is asked under: of the list of the one before,
/// what stays the same stays.
struct FieldList: ~Copyable {
  /// Nil only before the first request.
  private(set) var first: UnsafeMutablePointer<curl_slist>?
  /// All of the list, `first` included.
  private var nodes: [UnsafeMutablePointer<curl_slist>] = []
  /// What the list says, but for a line of our own before them.
  private var fields: [HTTPFields.Line] = []
  /// Whether there is that line: plain bytes are asked for where the fields do not name a coding.
  private var asksForIdentity = false

  deinit { curl_slist_free_all(first) }

  /// No exchange may be using the list.
  /// - Returns: whether its first has moved, so that libcurl has to be told.
  mutating func list(_ fields: [HTTPFields.Line]) -> Bool {
    let former = first
    let asksForIdentity = !fields.contains { $0.isNamed("Accept-Encoding") }
    if first == nil || asksForIdentity != self.asksForIdentity {
      cut(to: 0)
      self.fields = []
      self.asksForIdentity = asksForIdentity
      if asksForIdentity { append("Accept-Encoding: identity") }
    }
    var kept = 0
    while kept < min(fields.count, self.fields.count), fields[kept] == self.fields[kept] {
      kept += 1
    }
    cut(to: kept + (asksForIdentity ? 1 : 0))
    for field in fields[kept...] { field.withWireText { append($0) } }
    self.fields = fields
    return first != former
  }

  private mutating func cut(to count: Int) {
    guard count < nodes.count else { return }
    curl_slist_free_all(nodes[count])
    if count == 0 { first = nil } else { nodes[count - 1].pointee.next = nil }
    nodes.removeLast(nodes.count - count)
  }

  private mutating func append(_ text: UnsafePointer<CChar>) {
    let list = curl_slist_append(nodes.last, text)!
    if first == nil { first = list }
    nodes.append(nodes.last == nil ? list : list.pointee.next)
  }
}

extension HTTPFields.Line {
  /// As libcurl takes it: `name: value`, or `name;` for an empty value. A value that cannot stand on the
  /// wire goes out without what cannot; whoever makes requests has refused it before.
  fileprivate func withWireText(_ body: (UnsafePointer<CChar>) -> Void) {
    var text = Array(name.utf8)
    if value.isEmpty {
      text.append(UInt8(ascii: ";"))
    } else {
      text += ": ".utf8
      text += value.fieldBytes ?? []
    }
    text.append(0)
    text.withUnsafeBytes { body($0.baseAddress!.assumingMemoryBound(to: CChar.self)) }
  }
}
