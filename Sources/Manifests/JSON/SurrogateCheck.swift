import Glibc

/// Finds an escape that stands for half a character: `\ud83d` without its `\ude00`, or the other way
/// round.
///
/// JSON's grammar lets it pass (RFC 8259 §8.2), no text can hold it, and yajl puts something else in its
/// place. Looks at the raw bytes, at nearly nothing but their backslashes.
struct SurrogateCheck {
  private enum State {
    case plain
    case afterBackslash
    /// So many digits of four, and their value.
    case digits(Int, UInt32)
  }

  private var state = State.plain
  /// The escape before was a first half: its second has to follow.
  private var owesSecond = false

  /// - Returns: where in the piece the fault shows.
  mutating func fault(in piece: UnsafeRawBufferPointer) -> Int? {
    var i = 0
    while i < piece.count {
      switch state {
      case .plain:
        if owesSecond, piece[i] != UInt8(ascii: "\\") { return i }
        guard let next = piece.firstBackslash(from: i) else { return nil }
        i = next
        state = .afterBackslash
      case .afterBackslash:
        if piece[i] == UInt8(ascii: "u") {
          state = .digits(0, 0)
        } else if owesSecond {
          return i
        } else {
          state = .plain
        }
      case .digits(let count, let value):
        guard take(digit: piece[i], count, value) else { return i }
      }
      i += 1
    }
    return nil
  }

  /// - Returns: false where the escape is complete and at fault.
  private mutating func take(digit: UInt8, _ count: Int, _ value: UInt32) -> Bool {
    guard let digit = digit.hexValue else {
      (state, owesSecond) = (.plain, false)  // no JSON at all: that is the parser's to say
      return true
    }
    let value = value << 4 | UInt32(digit)
    guard count == 3 else {
      state = .digits(count + 1, value)
      return true
    }
    state = .plain
    let isSecond = value & 0xFC00 == 0xDC00
    guard isSecond == owesSecond else { return false }
    owesSecond = value & 0xFC00 == 0xD800
    return true
  }
}

extension UnsafeRawBufferPointer {
  fileprivate func firstBackslash(from start: Int) -> Int? {
    guard let base = baseAddress,
      let found = memchr(base + start, CInt(UInt8(ascii: "\\")), count - start)
    else { return nil }
    return UnsafeRawPointer(found) - base
  }
}

extension UInt8 {
  fileprivate var hexValue: UInt8? {
    switch self {
    case 0x30...0x39: self - 0x30
    case 0x41...0x46, 0x61...0x66: (self | 0x20) - 0x61 + 10
    default: nil
    }
  }
}
