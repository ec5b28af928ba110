import Glibc
import Hashing
import Vocabulary

/// A small file beside a temporary file: up to where its bytes are right, and what else it takes to go on
/// with them. It is written while the bytes come, since nobody writes anything when a process is killed.
///
///     thumbworker beginning 1
///     2f9a… 212                 SHA-256 and length of the record that follows
///     …                         the record, which this target does not read
///     262144 5d1b…              so many bytes of the file have this SHA-256
///     1310720 77c0…             and so many this one
///
/// Whoever reads it believes no line that is not whole, and no byte that is not under a digest.
struct BeginningNote {
  private static let firstLine = "thumbworker beginning 1\n"

  struct Mark: Hashable {
    let bytes: Int
    let digest: Digest
    /// Of the note, up to this mark's end.
    let noteBytes: Int
  }

  let record: [UInt8]
  /// Each with more bytes than the one before.
  let marks: [Mark]

  static func text(of record: [UInt8]) -> [UInt8] {
    Array("\(firstLine)\(digest(of: record)) \(record.count)\n".utf8) + record
  }

  static func text(ofMark bytes: Int, _ digest: Digest) -> [UInt8] {
    Array("\(bytes) \(digest)\n".utf8)
  }

  /// - Returns: nil for what is no such file or has a damaged record.
  init?(_ text: [UInt8]) {
    var lines = Lines(text)
    guard let first = lines.next(), first + "\n" == Self.firstLine, let head = lines.next(),
      case let words = head.split(separator: " "), words.count == 2, let count = Int(words[1]),
      let record = lines.take(count), Digest(hex: words[0]) == Self.digest(of: record)
    else { return nil }
    self.record = record
    var marks: [Mark] = []
    while let line = lines.next() {
      let words = line.split(separator: " ")
      guard words.count == 2, let bytes = Int(words[0]), bytes > marks.last?.bytes ?? 0,
        let digest = Digest(hex: words[1])
      else { break }
      marks.append(Mark(bytes: bytes, digest: digest, noteBytes: lines.offset))
    }
    self.marks = marks
  }

  private static func digest(of record: [UInt8]) -> Digest {
    let hash = SHA256()
    record.withUnsafeBytes { hash.update($0) }
    return hash.finish()
  }

  private struct Lines {
    let text: [UInt8]
    var offset = 0

    init(_ text: [UInt8]) { self.text = text }

    /// - Returns: the next line that has its end.
    mutating func next() -> String? {
      guard let end = text[offset...].firstIndex(of: UInt8(ascii: "\n")) else { return nil }
      defer { offset = end + 1 }
      return String(decoding: text[offset..<end], as: UTF8.self)
    }

    mutating func take(_ count: Int) -> [UInt8]? {
      guard count >= 0, count <= text.count - offset else { return nil }
      defer { offset += count }
      return Array(text[offset..<(offset + count)])
    }
  }
}
