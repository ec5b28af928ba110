import HTTPCaching

/// A response's head as it arrives, line by line, interim responses skipped.
struct ResponseHead {
  private(set) var status = 0
  private(set) var lines: [HTTPFields.Line] = []
  private(set) var isComplete = false
  private var bytes = 0

  static let maxBytes = 256 << 10

  mutating func reset() {
    status = 0
    lines.removeAll(keepingCapacity: true)
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
    lines.append(
      HTTPFields.Line(
        name: String(decoding: text[..<colon].trimmingBlanks, as: UTF8.self),
        value: String(decoding: text[(colon + 1)...].trimmingBlanks, as: UTF8.self)))
    return .more
  }

  private mutating func takeStatusLine(_ text: Slice<UnsafeRawBufferPointer>) -> Progress {
    lines.removeAll(keepingCapacity: true)
    let parts = text.split(separator: 0x20, maxSplits: 2)
    guard parts.count >= 2, parts[1].count == 3,
      let number = Int(String(decoding: parts[1], as: UTF8.self)), number >= 100
    else { return .nonsense("its status line has no status") }
    status = number
    return .more
  }

  /// RFC 9112 §5.2: a line that begins with a blank goes on with the one before.
  private mutating func takeFolded(_ text: Slice<UnsafeRawBufferPointer>) -> Progress {
    guard !lines.isEmpty else { return .nonsense("its first header line begins with a blank") }
    lines[lines.count - 1].value += " " + String(decoding: text.trimmingBlanks, as: UTF8.self)
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
  /// Whether the bytes on the wire are encoded.
  var isEncoded: Bool

  enum Refusal: Error, Equatable {
    case nonsense(String)
    case encoding(String)
  }

  /// - Parameter decodable: encodings that libcurl can undo.
  init(_ lines: [HTTPFields.Line], decodable: Set<String>) throws(Refusal) {
    var lengths: [String] = []
    var encodings: [String] = []
    var codings: [String] = []
    for line in lines {
      switch line.name.utf8.count {
      case 14 where line.name.lowercased() == "content-length":
        lengths += line.value.listMembers
      case 16 where line.name.lowercased() == "content-encoding":
        encodings += line.value.listMembers.map { $0.lowercased() }
      case 17 where line.name.lowercased() == "transfer-encoding":
        codings += line.value.listMembers.map { $0.lowercased() }
      default: break
      }
    }
    guard codings.allSatisfy({ $0 == "chunked" || $0 == "identity" }) else {
      throw .nonsense("its transfer encoding is \"\(codings.joined(separator: ", "))\"")
    }
    guard Set(lengths).count <= 1 else {
      throw .nonsense("it declares the lengths \(lengths.joined(separator: " and "))")
    }
    encodings.removeAll { $0 == "identity" || $0 == "none" }
    guard encodings.count <= 1, encodings.allSatisfy(decodable.contains) else {
      throw .encoding(encodings.joined(separator: ", "))
    }
    isEncoded = !encodings.isEmpty
    // RFC 9112 §6.3: a transfer coding overrides the length.
    length = codings.isEmpty ? lengths.first.flatMap { Int($0) } : nil
  }
}

extension String {
  fileprivate var listMembers: [String] {
    split(separator: ",").map { String(decoding: Array($0.utf8).trimmingBlanks, as: UTF8.self) }
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
