import Glibc

/// Cuts a text into its lines, at line feeds and at carriage returns before them.
final class LineSplitter {
  static let mostBytes = 1 << 20

  /// Of the last line that was given out, counted from 1.
  private(set) var number = 0
  /// The beginning of a line whose end has not come.
  private let held = ByteBuffer()
  private var isTooLong = false

  /// - Parameter take: is given each line without its end, lent for the call; nil for one of over 1 MiB.
  func feed(_ piece: UnsafeRawBufferPointer, _ take: (UnsafeBufferPointer<UInt8>?) -> Void) {
    var rest = piece.bindMemory(to: UInt8.self)[...]
    while let end = rest.firstLineEnd {
      give(UnsafeBufferPointer(rebasing: rest[..<end]), take)
      rest = rest[(end + 1)...]
    }
    hold(UnsafeBufferPointer(rebasing: rest))
  }

  /// The text has ended: its last line may have no end.
  func finish(_ take: (UnsafeBufferPointer<UInt8>?) -> Void) {
    if held.count > 0 || isTooLong { give(UnsafeBufferPointer(start: nil, count: 0), take) }
  }

  private func hold(_ bytes: UnsafeBufferPointer<UInt8>) {
    guard !isTooLong else { return }
    guard held.count + bytes.count <= Self.mostBytes else {
      isTooLong = true
      held.clear()
      return
    }
    held.append(bytes)
  }

  private func give(
    _ end: UnsafeBufferPointer<UInt8>, _ take: (UnsafeBufferPointer<UInt8>?) -> Void
  ) {
    number += 1
    if held.count == 0, !isTooLong, end.count <= Self.mostBytes {
      return take(end.withoutCarriageReturn)
    }
    hold(end)
    take(isTooLong ? nil : held.bytes.withoutCarriageReturn)
    held.clear()
    isTooLong = false
  }
}

extension Slice<UnsafeBufferPointer<UInt8>> {
  fileprivate var firstLineEnd: Int? {
    guard let start = base.baseAddress, !isEmpty,
      let found = memchr(start + startIndex, CInt(UInt8(ascii: "\n")), count)
    else { return nil }
    return UnsafeRawPointer(found) - UnsafeRawPointer(start)
  }
}

extension UnsafeBufferPointer<UInt8> {
  fileprivate var withoutCarriageReturn: UnsafeBufferPointer<UInt8> {
    last == UInt8(ascii: "\r") ? UnsafeBufferPointer(rebasing: dropLast()) : self
  }

  /// Without the blanks at both ends.
  var trimmed: UnsafeBufferPointer<UInt8> {
    var (first, end) = (0, count)
    while first < end, self[first].isBlank { first += 1 }
    while end > first, self[end - 1].isBlank { end -= 1 }
    return UnsafeBufferPointer(rebasing: self[first..<end])
  }
}
