/// What stands in front of a JPEG's pixels.
enum JPEGMarkers {
  /// A segment, from after its length on.
  private struct Segment {
    var marker: UInt8
    var content: Slice<UnsafeRawBufferPointer>

    func byte(_ offset: Int) -> UInt8? { content.dropFirst(offset).first }
  }

  /// The colour transform that Adobe's marker (APP14) names; nil without one.
  static func adobeTransform(of file: UnsafeRawBufferPointer) -> Int? {
    segments(of: file).first {
      $0.marker == 0xEE && $0.content.count >= 12 && $0.content.starts(with: "Adobe".utf8)
    }.flatMap { $0.byte(11).map(Int.init) }
  }

  /// Whether all of the picture is in one scan of Huffman codes, which shows by itself where data is
  /// missing: a decoder fills arithmetic codes up with zeros, and scans that never came are not missed.
  static func hasOneScan(_ file: UnsafeRawBufferPointer) -> Bool {
    let segments = segments(of: file)
    // SOF0 and SOF1; the number of components is the sixth byte, in SOS the first.
    guard let frame = segments.first(where: { $0.marker == 0xC0 || $0.marker == 0xC1 }),
      let scan = segments.last, scan.marker == 0xDA
    else { return false }
    return frame.byte(5) == scan.byte(0)
  }

  /// Up to the first scan (SOS), that included.
  private static func segments(of file: UnsafeRawBufferPointer) -> [Segment] {
    var found: [Segment] = []
    var at = 2
    while at + 4 <= file.count, file[at] == 0xFF {
      let marker = file[at + 1]
      // A byte of 0xFF before a marker fills.
      guard marker != 0xFF else {
        at += 1
        continue
      }
      let end = at + 2 + (Int(file[at + 2]) << 8 | Int(file[at + 3]))
      guard end >= at + 4, end <= file.count else { break }
      found.append(Segment(marker: marker, content: file[at + 4..<end]))
      guard marker != 0xDA else { break }
      at = end
    }
    return found
  }
}
