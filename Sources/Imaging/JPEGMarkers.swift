/// What stands in front of a JPEG's pixels.
enum JPEGMarkers {
  /// The colour transform that Adobe's marker (APP14) names; nil without one.
  static func adobeTransform(of file: UnsafeRawBufferPointer) -> Int? {
    var at = 2
    while at + 4 <= file.count, file[at] == 0xFF {
      let marker = file[at + 1]
      // A byte of 0xFF before a marker fills.
      guard marker != 0xFF else {
        at += 1
        continue
      }
      guard marker != 0xDA else { return nil }  // the pixels begin
      let length = Int(file[at + 2]) << 8 | Int(file[at + 3])
      let content = at + 4
      if marker == 0xEE, length >= 14, content + 12 <= file.count,
        file[content..<content + 5].elementsEqual("Adobe".utf8)
      {
        return Int(file[content + 11])
      }
      at += 2 + length
    }
    return nil
  }
}
