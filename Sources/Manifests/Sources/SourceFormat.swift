import Vocabulary

/// How a source's items are written.
package enum SourceFormat: String, Sendable, Hashable, CaseIterable {
  /// An item object, or a URL as a JSON string, on each line.
  case ndjson
  /// RFC 4180, with a header row.
  case csv
  /// A URL on each line; lines that begin with `#` are comments.
  case text
  /// The images of an XML sitemap, or the sitemaps that an index lists.
  case sitemap

  /// By a name's extension, `.gz` and `.zst` aside; nil where that says nothing.
  init?(name: String) {
    var parts = name.lowercased().split(separator: ".").dropFirst()
    if let last = parts.last, last == "gz" || last == "zst" { parts.removeLast() }
    switch parts.last {
    case "ndjson", "jsonl": self = .ndjson
    case "csv": self = .csv
    case "txt": self = .text
    case "xml": self = .sitemap
    default: return nil
    }
  }

  /// By what it begins with.
  init(beginning bytes: UnsafeRawBufferPointer) {
    switch Self.firstOfText(bytes) {
    case UInt8(ascii: "<")?: self = .sitemap
    case UInt8(ascii: "{")?: self = .ndjson
    case UInt8(ascii: "\"")? where !Self.hasHeader(bytes): self = .ndjson
    default: self = Self.hasHeader(bytes) ? .csv : .text
    }
  }

  /// The first byte that is neither blank nor of a line that begins with `#`.
  private static func firstOfText(_ bytes: UnsafeRawBufferPointer) -> UInt8? {
    var rest = bytes[...]
    while let start = rest.firstIndex(where: { !$0.isBlank }) {
      guard rest[start] == UInt8(ascii: "#") else { return rest[start] }
      rest = rest[start...].drop { $0 != UInt8(ascii: "\n") }
    }
    return nil
  }

  /// Whether the first line names a column `url`.
  private static func hasHeader(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let line = bytes.prefix(4096).prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
    return String(decoding: line, as: UTF8.self).split(separator: ",").contains {
      $0.filter { $0 != "\"" && $0 != " " }.lowercased() == "url"
    }
  }
}

extension SourceAddress {
  /// What its name says of its format; nil: its bytes have to tell.
  package var namedFormat: SourceFormat? {
    switch location {
    case .file(let path): SourceFormat(name: String(path.split(separator: "/").last ?? ""))
    case .standardInput: nil
    case .web(let url):
      SourceFormat(
        name: String(
          url.unredactedText.prefix { $0 != "?" }.split(separator: "/").dropFirst(2).last ?? ""))
    }
  }
}

extension UInt8 {
  /// A space, a tab or an end of a line.
  var isBlank: Bool { self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0D }
}
