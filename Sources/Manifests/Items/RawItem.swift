/// One item's fields as they stand in the document, escapes resolved. One is reused for all items, so
/// that an item costs no allocation before it is known to be wanted.
final class RawItem {
  let id = ByteBuffer()
  var hasID = false
  let url = ByteBuffer()
  var hasURL = false
  /// Each name with `nameEnd` behind it.
  let variants = ByteBuffer()
  var hasVariants = false
  let meta = JSONText()
  var hasMeta = false
  /// Whether a problem was reported, so that the item is not handed on.
  var isFaulty = false

  /// A byte that UTF-8 never holds.
  static let nameEnd: UInt8 = 0xFF

  func clear() {
    id.clear()
    url.clear()
    variants.clear()
    meta.clear()
    (hasID, hasURL, hasVariants, hasMeta, isFaulty) = (false, false, false, false, false)
  }
}

extension RawItem {
  static let mostMetaBytes = 64 << 10

  /// Looks over an item that is complete.
  ///
  /// - Parameter fault: is told a field's name and what is wrong with it.
  func check(_ fault: (_ field: String, _ message: String) -> Void) {
    if !hasURL { fault("url", "is missing") }
    if !url.bytes.isStrictUTF8 { fault("url", "is not UTF-8") }
    if hasMeta {
      if meta.bytes.count > Self.mostMetaBytes {
        fault("meta", "has over 64 KiB as compact JSON")
      } else if !meta.bytes.isStrictUTF8 {
        fault("meta", "is not UTF-8")
      }
    }
    if let wrong = ItemIDRules.fault(of: self) { fault("id", wrong) }
  }
}
