/// An item's name within its job: what its published files are called.
///
/// 1 to 512 bytes of UTF-8. It may hold `/`, for folders; it may not leave its folder, so no segment
/// is empty, `.` or `..`, none starts with `.tw-` (our temporary names), and none is over 200 bytes.
package struct ItemID: Sendable, Hashable, Comparable, CustomStringConvertible {
  package let text: String

  package init(_ text: String) throws(BadItemID) {
    guard !Self.isPlainlyLegal(text) else {
      self.text = text
      return
    }
    let bytes = text.utf8
    guard !bytes.isEmpty else { throw BadItemID(reason: "an id must not be empty") }
    guard bytes.count <= 512 else {
      throw BadItemID(reason: "an id has at most 512 bytes, this one \(bytes.count)")
    }
    guard !bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
      throw BadItemID(reason: "an id must not hold control characters")
    }
    for segment in text.partsBetweenSlashes {
      switch segment {
      case "": throw BadItemID(reason: "an id must not start or end with / or hold //")
      case ".", "..": throw BadItemID(reason: "an id must not hold the segment \"\(segment)\"")
      default: break
      }
      guard segment.utf8.count <= 200 else {
        throw BadItemID(reason: "a part of an id between slashes has at most 200 bytes")
      }
      guard !segment.utf8.starts(with: ".tw-".utf8) else {
        throw BadItemID(reason: "an id's part must not start with \".tw-\"")
      }
    }
    self.text = text
  }

  /// Nearly every id is plain ASCII of one segment, which needs no closer look.
  private static func isPlainlyLegal(_ text: String) -> Bool {
    text.utf8.withContiguousStorageIfAvailable { bytes in
      guard (1...200).contains(bytes.count), bytes[0] != UInt8(ascii: ".") else { return false }
      for byte in bytes where byte <= 0x20 || byte >= 0x7F || byte == UInt8(ascii: "/") {
        return false
      }
      return true
    } ?? false
  }

  /// The id of a bare URL: the first 16 hexadecimal digits of its key.
  package init(bareURLKey key: EntryKey) {
    text = String(key.description.prefix(16))
  }

  package var description: String { text }
  package static func == (a: ItemID, b: ItemID) -> Bool { ExactText(a.text) == ExactText(b.text) }
  package static func < (a: ItemID, b: ItemID) -> Bool { ExactText(a.text) < ExactText(b.text) }
  package func hash(into hasher: inout Hasher) { ExactText(text).hash(into: &hasher) }
}

/// Why a text cannot be an id.
package struct BadItemID: WorkerFailure, Hashable {
  package let reason: String

  package init(reason: String) { self.reason = reason }

  package var code: String { "bad-item" }
  package var message: String { reason }
  package var hint: String { "correct the id in the manifest" }
  package var disposition: Disposition { .giveUp }
}
