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
