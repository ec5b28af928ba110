/// One item's fields as they stand in the document, escapes resolved. One is reused for all items, so
/// that an item costs no allocation before it is known to be wanted.
struct RawItem {
  var id: [UInt8] = []
  var hasID = false
  var url: [UInt8] = []
  var hasURL = false
  /// Each name with `nameEnd` behind it.
  var variants: [UInt8] = []
  var hasVariants = false
  var meta = JSONText()
  var hasMeta = false
  /// Whether a problem was reported, so that the item is not handed on.
  var isFaulty = false

  /// A byte that UTF-8 never holds.
  static let nameEnd: UInt8 = 0xFF

  mutating func clear() {
    id.removeAll(keepingCapacity: true)
    url.removeAll(keepingCapacity: true)
    variants.removeAll(keepingCapacity: true)
    if hasMeta { meta.clear() }
    (hasID, hasURL, hasVariants, hasMeta, isFaulty) = (false, false, false, false, false)
  }
}

extension [UInt8] {
  var isASCII: Bool { withUnsafeBytes { $0.isASCII } }

  /// Whether it is UTF-8 in RFC 3629's strict sense; yajl lets overlong forms and surrogates pass.
  var isStrictUTF8: Bool { isASCII || String(validating: self, as: UTF8.self) != nil }
}

extension UnsafeRawBufferPointer {
  fileprivate var isASCII: Bool {
    var i = 0
    var bits: UInt64 = 0
    while i + 8 <= count {
      bits |= loadUnaligned(fromByteOffset: i, as: UInt64.self)
      i += 8
    }
    while i < count {
      bits |= UInt64(self[i])
      i += 1
    }
    return bits & 0x8080_8080_8080_8080 == 0
  }
}
