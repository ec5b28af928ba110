import Glibc
import HTTPCaching

/// A response's head as it arrives, line by line, interim responses skipped.
struct ResponseHead {
  private(set) var status = 0
  private(set) var lines: [HTTPFields.Line] = []
  private(set) var isComplete = false
  private var bytes = 0
  /// Of the head before: an origin says most things in each response, and an equal text is kept
  /// instead of made anew.
  private var former: [HTTPFields.Line] = []

  static let maxBytes = 256 << 10

  mutating func reset() {
    status = 0
    if !lines.isEmpty { former = lines }
    lines = []
    lines.reserveCapacity(former.count)
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
    if text.isEmpty { return end() }
    if text.starts(with: "HTTP/".utf8) { return takeStatusLine(text) }
    if text.first == 0x20 || text.first == 0x09 { return takeFolded(text) }
    guard let colon = text.firstIndex(of: UInt8(ascii: ":")), colon > text.startIndex else {
      return .nonsense("a header line has no name")
    }
    let before = lines.count < former.count ? former[lines.count] : nil
    lines.append(
      HTTPFields.Line(
        name: Self.text(text[..<colon].trimmingBlanks, orEqual: before?.name),
        value: Self.text(text[(colon + 1)...].trimmingBlanks, orEqual: before?.value)))
    return .more
  }

  private static func text(
    _ bytes: Slice<UnsafeRawBufferPointer>, orEqual known: String?
  ) -> String {
    let bytes = UnsafeRawBufferPointer(rebasing: bytes)
    guard !bytes.contains(where: { $0 >= 0x80 }) else { return String(fieldBytes: bytes) }
    // A short text lies in the string itself.
    if bytes.count > 15, var known, known.utf8.count == bytes.count {
      let isEqual = known.withUTF8 {
        memcmp($0.baseAddress!, bytes.baseAddress!, bytes.count) == 0
      }
      if isEqual { return known }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private mutating func takeStatusLine(_ text: Slice<UnsafeRawBufferPointer>) -> Progress {
    lines.removeAll(keepingCapacity: true)
    guard let blank = text.firstIndex(of: 0x20) else {
      return .nonsense("its status line has no status")
    }
    let digits = text[(blank + 1)...].prefix { $0 != 0x20 }
    let isNumber = digits.count == 3 && digits.allSatisfy { (0x30...0x39).contains($0) }
    let number = digits.reduce(0) { $0 * 10 + Int($1 & 15) }
    guard isNumber, number >= 100 else { return .nonsense("its status line has no status") }
    status = number
    return .more
  }

  /// RFC 9112 §5.2: a line that begins with a blank goes on with the one before.
  private mutating func takeFolded(_ text: Slice<UnsafeRawBufferPointer>) -> Progress {
    guard !lines.isEmpty else { return .nonsense("its first header line begins with a blank") }
    lines[lines.count - 1].value += " " + String(fieldBytes: text.trimmingBlanks)
    return .more
  }

  private mutating func end() -> Progress {
    guard status >= 200 else { return .more }  // 100, 103: another head follows
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
    var lengths: [Substring] = []
    var encodings: [String] = []
    var codings: [String] = []
    for line in lines {
      // The length of the name rules out nearly every line at once.
      switch line.name.utf8.count {
      case 14 where line.name.lowercased() == "content-length":
        lengths += line.value.listMembers
      case 16 where line.name.lowercased() == "content-encoding":
        encodings += line.value.lowercased().listMembers.map(String.init)
      case 17 where line.name.lowercased() == "transfer-encoding":
        codings += line.value.lowercased().listMembers.map(String.init)
      default: break
      }
    }
    guard codings.allSatisfy({ $0 == "chunked" || $0 == "identity" }) else {
      throw .nonsense("its transfer encoding is \"\(codings.joined(separator: ", "))\"")
    }
    guard lengths.dropFirst().allSatisfy({ $0 == lengths[0] }) else {
      throw .nonsense("it declares the lengths \(lengths.joined(separator: " and "))")
    }
    encodings.removeAll { $0 == "identity" || $0 == "none" }
    let coding = encodings.first.flatMap { ContentCoding(name: $0) }
    guard encodings.isEmpty || encodings.count == 1 && coding != nil else {
      throw .encoding(encodings.joined(separator: ", "))
    }
    self.coding = coding
    // RFC 9112 §6.3: a transfer coding overrides the length.
    length = codings.isEmpty ? lengths.first.flatMap { Int($0) } : nil
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

extension UnsafeRawBufferPointer {
  fileprivate var trimmingLineEnd: Slice<UnsafeRawBufferPointer> {
    var end = endIndex
    while end > startIndex, self[end - 1] == 0x0A || self[end - 1] == 0x0D { end -= 1 }
    return self[..<end]
  }
}

extension BidirectionalCollection<UInt8> {
  fileprivate var trimmingBlanks: SubSequence {
    let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
    guard let first = firstIndex(where: { !isBlank($0) }),
      let last = lastIndex(where: { !isBlank($0) })
    else { return self[endIndex...] }
    return self[first...last]
  }
}
