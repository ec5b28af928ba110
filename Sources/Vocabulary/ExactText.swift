/// A text that equals only one of the same bytes.
///
/// Swift's own comparison takes an `é` of one scalar for an `é` of two. As ids, paths and URLs they are
/// different: keys of sets and dictionaries are made of this.
package struct ExactText: Sendable, Hashable, Comparable {
  package let text: String

  package init(_ text: String) { self.text = text }

  package static func == (a: ExactText, b: ExactText) -> Bool {
    a.text.utf8.elementsEqual(b.text.utf8)
  }

  package static func < (a: ExactText, b: ExactText) -> Bool {
    a.text.utf8.lexicographicallyPrecedes(b.text.utf8)
  }

  package func hash(into hasher: inout Hasher) {
    for byte in text.utf8 { hasher.combine(byte) }
    hasher.combine(UInt8.max)
  }
}

extension String {
  /// The parts between slashes, the empty ones too. A slash that a combining mark follows is one Character
  /// with it, but the file system sees the slash.
  package var partsBetweenSlashes: [String] {
    utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
  }
}
