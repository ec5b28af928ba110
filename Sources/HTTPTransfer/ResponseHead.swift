import Decompression
import Glibc
import HTTPCaching

/// A response's head as it arrives, line by line, interim responses skipped.
///
/// An origin says most things in each response: what the line before in the same place has said is
/// kept where the bytes are equal, instead of being read anew.
struct ResponseHead {
  private(set) var status = 0
  /// Of this head once it is complete; before that they may end with lines of the head before.
  private(set) var lines: [HTTPFields.Line] = []
  /// The bytes of each of `lines`; empty where they are not to be compared.
  private var texts: [[UInt8]] = []
  /// Of `lines`, those of this head.
  private var count = 0
  private(set) var isComplete = false
  private var bytes = 0

  static let maxBytes = 256 << 10

  mutating func reset() {
    status = 0
    count = 0
    isComplete = false
    bytes = 0
  }

  enum Progress: Equatable {
    case more
    /// The final response's head is whole.
    case complete
    case nonsense(String)
  }

  /// - Parameter line: with its line end.
  mutating func take(_ line: UnsafeRawBufferPointer) -> Progress {
    guard !isComplete else { return .more }  // trailers
    bytes += line.count
    guard bytes <= Self.maxBytes else { return .nonsense("its head has over 256 KiB") }
    let text = line.trimmingLineEnd
    guard let first = text.first else { return end() }
    if first == UInt8(ascii: "H"), text.startsStatusLine { return takeStatusLine(text) }
    if first == 0x20 || first == 0x09 { return takeFolded(text) }
    return takeField(text)
  }

  private mutating func takeField(_ text: UnsafeRawBufferPointer) -> Progress {
    if count < texts.count, texts[count].isEqual(to: text) {
      count += 1
      return .more
    }
    guard let colon = text.firstIndex(of: UInt8(ascii: ":")), colon > 0 else {
      return .nonsense("a header line has no name")
    }
    add(
      HTTPFields.Line(name: text[..<colon].trimmedText, value: text[(colon + 1)...].trimmedText),
      text)
    return .more
  }

  private mutating func add(_ line: HTTPFields.Line, _ text: UnsafeRawBufferPointer) {
    if count < lines.count {
      lines[count] = line
      texts[count].removeAll(keepingCapacity: true)
      texts[count].append(contentsOf: text)
    } else {
      lines.append(line)
      texts.append(Array(text))
    }
    count += 1
  }

  private mutating func takeStatusLine(_ text: UnsafeRawBufferPointer) -> Progress {
    count = 0
    guard let blank = text.firstIndex(of: 0x20) else {
      return .nonsense("its status line has no status")
    }
    var number = 0
    var end = blank + 1
    while end < text.count, text[end] != 0x20 {
      guard (0x30...0x39).contains(text[end]), end - blank <= 3 else {
        return .nonsense("its status line has no status")
      }
      number = number * 10 + Int(text[end] & 15)
      end += 1
    }
    guard number >= 100 else { return .nonsense("its status line has no status") }
    status = number
    return .more
  }

  /// RFC 9112 §5.2: a line that begins with a blank goes on with the one before.
  private mutating func takeFolded(_ text: UnsafeRawBufferPointer) -> Progress {
    guard count > 0 else { return .nonsense("its first header line begins with a blank") }
    lines[count - 1].value += " " + text[...].trimmedText
    texts[count - 1] = []
    return .more
  }

  private mutating func end() -> Progress {
    guard status >= 200 else { return .more }  // 100, 103: another head follows
    if lines.count > count {
      lines.removeLast(lines.count - count)
      texts.removeLast(texts.count - count)
    }
    isComplete = true
    return .complete
  }
}

/// What the head says of the body's frame.
struct BodyFrame: Equatable {
  /// Content-Length, where it counts.
  var length: Int?
  /// How the bytes on the wire are encoded; nil: not at all.
  var coding: ContentCoding?

  init(_ lines: [HTTPFields.Line]) throws(TransferFault) {
    var length: Substring?
    var encodings: [String] = []
    var codings: [String] = []
    for line in lines {
      // The length of the name rules out nearly every line at once.
      switch line.name.utf8.count {
      case 14 where line.name == "Content-Length" || line.isNamed("Content-Length"):
        for member in line.value.listMembers {
          guard length ?? member == member else {
            throw .nonsense("it declares the lengths \(length!) and \(member)")
          }
          length = member
        }
      case 16 where line.isNamed("Content-Encoding"):
        encodings += line.value.lowercased().listMembers.map(String.init)
      case 17 where line.isNamed("Transfer-Encoding"):
        codings += line.value.lowercased().listMembers.map(String.init)
      default: break
      }
    }
    guard codings.allSatisfy({ $0 == "chunked" || $0 == "identity" }) else {
      throw .nonsense("its transfer encoding is \"\(codings.joined(separator: ", "))\"")
    }
    encodings.removeAll { $0 == "identity" || $0 == "none" }
    let coding = encodings.first.flatMap { ContentCoding(name: $0) }
    guard encodings.isEmpty || encodings.count == 1 && coding != nil else {
      throw .encoding(encodings.joined(separator: ", "))
    }
    self.coding = coding
    // RFC 9112 §6.3: a transfer coding overrides the length.
    self.length = codings.isEmpty ? length.flatMap { Int($0) } : nil
  }
}

extension String {
  /// Of a comma-separated list, without blanks around them; empty ones are left out.
  fileprivate var listMembers: [Substring] {
    guard utf8.contains(UInt8(ascii: ",")) else { return isEmpty ? [] : [self[...]] }
    return split(separator: ",").map { member in
      let start = member.drop { $0 == " " || $0 == "\t" }
      return start[
        ..<(start.lastIndex { $0 != " " && $0 != "\t" }.map(start.index(after:)) ?? start.startIndex)
      ]
    }
    .filter { !$0.isEmpty }
  }
}

extension [UInt8] {
  fileprivate func isEqual(to text: UnsafeRawBufferPointer) -> Bool {
    count == text.count && !isEmpty
      && withUnsafeBytes { memcmp($0.baseAddress!, text.baseAddress!, count) == 0 }
  }
}

extension UnsafeRawBufferPointer {
  fileprivate var trimmingLineEnd: UnsafeRawBufferPointer {
    var end = count
    while end > 0, self[end - 1] == 0x0A || self[end - 1] == 0x0D { end -= 1 }
    return UnsafeRawBufferPointer(start: baseAddress, count: end)
  }

  fileprivate var startsStatusLine: Bool {
    count >= 5 && memcmp(baseAddress!, "HTTP/", 5) == 0
  }

  fileprivate func firstIndex(of byte: UInt8) -> Int? {
    guard let baseAddress, let found = memchr(baseAddress, CInt(byte), count) else { return nil }
    return UnsafeRawPointer(found) - baseAddress
  }
}

extension Slice<UnsafeRawBufferPointer> {
  /// Without blanks around it.
  fileprivate var trimmedText: String {
    var (start, end) = (startIndex, endIndex)
    while start < end, base[start] == 0x20 || base[start] == 0x09 { start += 1 }
    while end > start, base[end - 1] == 0x20 || base[end - 1] == 0x09 { end -= 1 }
    return String(fieldBytes: UnsafeRawBufferPointer(rebasing: base[start..<end]))
  }
}
