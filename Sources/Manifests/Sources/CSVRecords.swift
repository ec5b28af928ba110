/// Cuts CSV text into records and fields (RFC 4180; a line feed alone ends a record too).
final class CSVRecords {
  /// One record: its fields, quotes resolved.
  struct Record {
    fileprivate let bytes: UnsafeBufferPointer<UInt8>
    fileprivate let ends: [Int]

    var count: Int { ends.count }
    /// A line with nothing on it.
    var isBlank: Bool { ends.count == 1 && ends[0] == 0 }

    /// Lent for the call that gave the record.
    subscript(i: Int) -> UnsafeBufferPointer<UInt8> {
      UnsafeBufferPointer(rebasing: bytes[(i == 0 ? 0 : ends[i - 1])..<ends[i]])
    }
  }

  private enum State {
    case fieldStart
    case unquoted
    case quoted
    /// A quote within quotes: the field's end, or the first of two.
    case afterQuote
    /// In a record that is refused, up to the end of its line.
    case refused
    /// In a record that is too long, up to its end, which may be some lines on: between its quotes and
    /// outside of them.
    case overlongInQuotes, overlong
  }

  static let mostBytes = LineSplitter.mostBytes

  /// Where the record that is given out has begun, counted from 1.
  private(set) var line = 1
  private var lineNow = 1
  private var state = State.fieldStart
  private let bytes = ByteBuffer(capacity: 4096)
  private var ends: [Int] = []
  /// A quoted field is empty, or there is another before: no blank line.
  private var isOpen = false

  /// Whether the text has ended within quotes.
  var endsInQuotes: Bool { state == .quoted || state == .overlongInQuotes }

  /// - Parameter take: is given each record, or why what begins at `line` is none.
  func feed(_ piece: UnsafeRawBufferPointer, _ take: (Result<Record, Refusal>) -> Void) {
    let piece = piece.bindMemory(to: UInt8.self)
    var i = 0
    while i < piece.count {
      let byte = piece[i]
      switch state {
      case .unquoted where byte.isPlain, .fieldStart where byte.isPlain:
        var end = i + 1
        while end < piece.count, piece[end].isPlain { end += 1 }
        append(piece[i..<end], take)
        if state == .fieldStart { state = .unquoted }
        i = end
        continue
      case .quoted where byte != UInt8(ascii: "\""):
        var end = i
        while end < piece.count, piece[end] != UInt8(ascii: "\"") {
          if piece[end] == UInt8(ascii: "\n") { lineNow += 1 }
          end += 1
        }
        append(piece[i..<end], take)
        i = end
        continue
      default: step(byte, take)
      }
      i += 1
    }
  }

  /// The text has ended: its last record may have no end.
  func finish(_ take: (Result<Record, Refusal>) -> Void) {
    switch state {
    case .fieldStart, .unquoted, .afterQuote:
      if isOpen || bytes.count > 0 || !ends.isEmpty { endRecord(take) }
    case .quoted, .refused, .overlong, .overlongInQuotes: break
    }
  }

  struct Refusal: Error { let reason: String }

  private func step(_ byte: UInt8, _ take: (Result<Record, Refusal>) -> Void) {
    switch (byte, state) {
    case (UInt8(ascii: "\n"), .refused), (UInt8(ascii: "\n"), .overlong):
      lineNow += 1
      beginRecord()
    case (UInt8(ascii: "\n"), .overlongInQuotes): lineNow += 1
    case (UInt8(ascii: "\""), .overlongInQuotes): state = .overlong
    case (UInt8(ascii: "\""), .overlong): state = .overlongInQuotes
    case (_, .refused), (_, .overlong), (_, .overlongInQuotes): break
    case (UInt8(ascii: "\""), .fieldStart): (state, isOpen) = (.quoted, true)
    case (UInt8(ascii: "\""), .quoted): state = .afterQuote
    case (UInt8(ascii: "\""), .afterQuote):
      state = .quoted
      withUnsafePointer(to: byte) { append(UnsafeBufferPointer(start: $0, count: 1)[...], take) }
    case (UInt8(ascii: "\""), .unquoted):
      refuse("a quote in a field that does not begin with one", take)
    case (UInt8(ascii: ","), _):
      state = .fieldStart
      guard hasRoom(for: 1, take) else { return }
      ends.append(bytes.count)
    case (UInt8(ascii: "\n"), _):
      endRecord(take)
      lineNow += 1
      beginRecord()
    // Before a line feed it belongs to it.
    case (UInt8(ascii: "\r"), _): break
    case (_, .afterQuote): refuse("something follows a field's closing quote", take)
    default: break  // plain bytes were taken before
    }
  }

  private func append(
    _ more: Slice<UnsafeBufferPointer<UInt8>>, _ take: (Result<Record, Refusal>) -> Void
  ) {
    if hasRoom(for: more.count, take) { bytes.append(UnsafeBufferPointer(rebasing: more)) }
  }

  /// Whether the record may grow by so many bytes, commas included; else it is refused.
  private func hasRoom(
    for more: Int, _ take: (Result<Record, Refusal>) -> Void
  ) -> Bool {
    if bytes.count + ends.count + more <= Self.mostBytes { return true }
    let next = state == .quoted ? State.overlongInQuotes : .overlong
    refuse(tooLong, take)
    state = next
    return false
  }

  private func refuse(_ reason: String, _ take: (Result<Record, Refusal>) -> Void) {
    bytes.clear()
    state = .refused
    take(.failure(Refusal(reason: reason)))
  }

  private func endRecord(_ take: (Result<Record, Refusal>) -> Void) {
    let isBlank = !isOpen && ends.isEmpty && bytes.count == 0
    ends.append(bytes.count)
    if !isBlank { take(.success(Record(bytes: bytes.bytes, ends: ends))) }
  }

  private func beginRecord() {
    line = lineNow
    bytes.clear()
    ends.removeAll(keepingCapacity: true)
    (state, isOpen) = (.fieldStart, false)
  }
}

extension UInt8 {
  /// In an unquoted field it stands for itself.
  fileprivate var isPlain: Bool {
    self != UInt8(ascii: ",") && self != UInt8(ascii: "\n") && self != UInt8(ascii: "\r")
      && self != UInt8(ascii: "\"")
  }
}
