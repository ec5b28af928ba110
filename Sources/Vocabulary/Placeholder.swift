/// What a page can show of a picture before the picture is there.
package struct Placeholder: Sendable, Hashable {
  /// The colour that most of the picture has.
  package var color: VariantSpec.Color
  /// A ThumbHash: a blur of the picture with its shape and transparency, in `hashLengths` bytes.
  package var thumbHash: [UInt8]

  package init(color: VariantSpec.Color, thumbHash: [UInt8]) {
    self.color = color
    self.thumbHash = thumbHash
  }

  /// From a picture of one long row without colour to a square with transparency.
  package static let hashLengths = 5...25

  /// The hash in Base64 (RFC 4648 §4), as ThumbHash's readers take it.
  package var thumbHashText: String {
    let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    var text: [UInt8] = []
    for start in stride(from: 0, to: thumbHash.count, by: 3) {
      let group = thumbHash[start..<min(start + 3, thumbHash.count)]
      let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
      for place in 0..<4 {
        let isThere = place <= group.count
        text.append(isThere ? digits[bits >> (18 - 6 * place) & 63] : UInt8(ascii: "="))
      }
    }
    return String(decoding: text, as: UTF8.self)
  }
}
