// One rule for every field value in the program: a scalar stands for a byte, U+0000 to U+00FF for 0x00
// to 0xFF (ISO 8859-1). So what an origin sends comes back to it byte for byte, whatever encoding it had
// in mind, and no two values are taken for one. What is text to us (a manifest's headers, a Location)
// is turned into that form, or out of it, where it enters or leaves.

extension String {
  /// A field value as it came over the wire.
  // Inlinable, as every head's every new line comes through here: without it each byte is a call.
  @inlinable
  package init(fieldBytes bytes: some Collection<UInt8>) {
    guard bytes.contains(where: { $0 >= 0x80 }) else {
      self.init(decoding: bytes, as: UTF8.self)
      return
    }
    self.init(decoding: bytes.lazy.map { UInt16($0) }, as: UTF16.self)
  }

  /// A field value that says a text of ours: it goes out as UTF-8.
  package init(fieldText text: String) { self.init(fieldBytes: text.utf8) }

  /// The bytes that a field value stands for on the wire; nil where a scalar stands for none.
  package var fieldBytes: [UInt8]? {
    if utf8.allSatisfy({ $0 < 0x80 }) { return Array(utf8) }
    var bytes: [UInt8] = []
    for scalar in unicodeScalars {
      guard scalar.value <= 0xFF else { return nil }
      bytes.append(UInt8(scalar.value))
    }
    return bytes
  }
}
