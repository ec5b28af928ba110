import Hashing
import Vocabulary

/// One reading of a manifest's file from its start to its end, a piece at a time.
final class DocumentPass {
  private static let pieceBytes = 64 << 10

  private let file: DocumentFile
  private let parser: JSONParser
  private let hash: SHA256?
  private let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceBytes, alignment: 16)
  private var offset = 0
  /// Bytes of a byte order mark, which the parser does not see.
  private var markBytes = 0
  private(set) var isAtEnd = false

  /// - Parameter hash: is fed every byte of the file.
  init(over file: DocumentFile, events: JSONEvents, hash: SHA256? = nil) {
    self.file = file
    self.hash = hash
    parser = JSONParser(events)
  }

  deinit { piece.deallocate() }

  func run() throws(ManifestFailure) {
    while !isAtEnd { try step() }
  }

  /// Reads one piece; at the end, sees to it that the document is whole and the file the same.
  func step() throws(ManifestFailure) {
    let count = try file.read(into: piece, at: offset)
    let bytes = UnsafeRawBufferPointer(rebasing: piece[..<count])
    hash?.update(bytes)
    do throws(JSONParser.Stop) {
      if offset == 0 {
        try feedFirst(bytes)
      } else if count > 0 {
        try parser.feed(bytes)
      } else {
        try parser.finish()
      }
    } catch {
      throw try failure(error)
    }
    offset += count
    if count == 0 {
      isAtEnd = true
      try file.checkUnchanged()
    }
  }

  private func feedFirst(_ bytes: UnsafeRawBufferPointer) throws(JSONParser.Stop) {
    if bytes.isEmpty { throw JSONParser.Stop(offset: 0, reason: "the file is empty") }
    if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) {
      throw JSONParser.Stop(offset: 0, reason: "the file is UTF-16: save it as UTF-8")
    }
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { markBytes = 3 }
    try parser.feed(UnsafeRawBufferPointer(rebasing: bytes[markBytes...]))
  }

  private func failure(_ stop: JSONParser.Stop) throws(ManifestFailure) -> ManifestFailure {
    try file.checkUnchanged()
    var place = ""
    if stop.offset > 0 {
      let position = try textPosition(upTo: stop.offset)
      place = "line \(position.line), column \(position.column)"
    }
    return ManifestFailure(
      source: file.path, problems: [Problem(place: place, message: stop.reason)])
  }

  /// Of the last of so many bytes behind the byte order mark. Reads the file again: only a faulty
  /// manifest pays for the counting.
  private func textPosition(
    upTo count: Int
  ) throws(ManifestFailure) -> (line: Int, column: Int) {
    var line = 1
    var column = 0
    var at = 0
    while at < count {
      let read = try file.read(into: piece, at: markBytes + at)
      guard read > 0 else { break }
      for byte in piece[..<min(read, count - at)] {
        if byte == UInt8(ascii: "\n") {
          (line, column) = (line + 1, 0)
        } else if byte & 0xC0 != 0x80 {
          column += 1
        }
      }
      at += read
    }
    return (line, max(column, 1))
  }
}
