/// A place in a document, written as one would reach it: `items[3].variants[0]`.
struct Place: Hashable, CustomStringConvertible {
  let text: String

  static let document = Place(text: "")
  static func item(_ index: Int) -> Place { Place(text: "items[\(index)]") }

  subscript(index: Int) -> Place { Place(text: "\(text)[\(index)]") }

  /// A key that is no plain word is quoted, so that nothing that it holds can be taken for our words.
  subscript(key: String) -> Place {
    guard !key.isEmpty, key.utf8.count <= 64, key.utf8.allSatisfy(\.isPlain) else {
      return Place(text: "\(text)[\(Shown.quoted(key))]")
    }
    return Place(text: text.isEmpty ? key : "\(text).\(key)")
  }

  var description: String { text }
}

extension UInt8 {
  fileprivate var isPlain: Bool {
    (0x61...0x7A).contains(self | 0x20) || (0x30...0x39).contains(self) || self == 0x5F
      || self == 0x2D || self == 0x24
  }
}
