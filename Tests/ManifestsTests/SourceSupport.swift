import TestSupport
import Testing
import Vocabulary

@testable import Manifests

/// What a source's file gives: a line for each item, `LINE ID URL` and what else it has, or
/// `LINE! REASON`; where it breaks off, `! REASON` last.
func readSource(_ bytes: [UInt8], named name: String, most: Int = 1000) -> [String] {
  let file = ManifestTestFile(bytes, named: name)
  let order = SourceReader.Order(
    path: file.path, shown: "s", place: "sources[0]", format: SourceFormat(name: name),
    variants: ["thumb", "big"])
  var out: [String] = []
  do throws(SourceFailure) {
    let reader = try SourceReader(order)
    while case let page = try reader.next(atMost: most), !page.isEmpty {
      out += zip(page.items, page.lines).map(described)
    }
    out += reader.children.map { "\($0.line)> \($0.url)" }
  } catch {
    out.append("! \(error.message)")
  }
  return out
}

func readSource(_ text: String, named name: String, most: Int = 1000) -> [String] {
  readSource(Array(text.utf8), named: name, most: most)
}

private func described(_ item: ManifestItem, line: Int) -> String {
  switch item {
  case .usable(let id, let url, let key, let variants, let meta):
    let ownID = id == ItemID(bareURLKey: key) ? "-" : id.text
    return
      (["\(line) \(ownID) \(url.unredactedText)", variants?.joined(separator: "+"), meta]
      .compactMap(\.self)).joined(separator: " ")
  case .unusable(let id, _, let failure):
    let start = "s, line \(line): "
    guard failure.message.hasPrefix(start) else { return "\(line) \(failure.code) somewhere" }
    guard failure.code == "bad-item" else { return "\(line) \(failure.code)" }
    return id.text == "sources[0]:\(line)"
      ? "\(line)! \(failure.message.dropFirst(start.count))" : "\(line)! but as \(id)"
  }
}

struct SourceRow: CustomTestStringConvertible {
  let testDescription: String
  let name: String
  let bytes: [UInt8]
  let expected: [String]

  init(_ note: String, _ name: String, _ bytes: [UInt8], _ expected: String...) {
    self.init(note, name, bytes, expected)
  }

  init(_ note: String, _ name: String, _ bytes: [UInt8], _ expected: [String]) {
    testDescription = note
    self.name = name
    self.bytes = bytes
    self.expected = expected
  }

  init(_ note: String, _ name: String, _ text: String, _ expected: String...) {
    self.init(note, name, Array(text.utf8), expected)
  }
}
