import Hashing
import Vocabulary

/// What an item's id is, and whether it may be one.
enum ItemIDRules {
  /// What is wrong with an id that was given; nil for a good one and for none.
  static func fault(of item: RawItem) -> String? {
    guard item.hasID, !isPlainlyLegal(item.id.bytes) else { return nil }
    guard let text = String(validating: item.id.bytes, as: UTF8.self) else { return "is not UTF-8" }
    do throws(BadItemID) {
      _ = try ItemID(text)
      return nil
    } catch {
      return "\(Shown.quoted(text)): \(error.reason)"
    }
  }

  /// Nearly every id is plain ASCII of one segment, which needs no closer look.
  private static func isPlainlyLegal(_ id: UnsafeBufferPointer<UInt8>) -> Bool {
    guard (1...200).contains(id.count), id[0] != UInt8(ascii: ".") else { return false }
    for byte in id where byte <= 0x20 || byte >= 0x7F || byte == UInt8(ascii: "/") { return false }
    return true
  }

  /// The id of an item without one: the first 16 hexadecimal digits of its URL's key, or of the
  /// SHA-256 of what stands in the URL's place where that is none.
  static func defaultID(forURL text: String, using hash: SHA256) -> ItemID {
    if let url = try? ItemURL(text) { return ItemID(bareURLKey: EntryKey(url, using: hash)) }
    return ItemID(bareURLKey: EntryKey(hash.digest(of: text)))
  }
}
