import LedgerCore
import Vocabulary

/// A manifest's reading under way in this process.
struct Reading {
  var generation: Int64
  var met = MetItems()
}

/// The items that a reading met: a bit for each row number, 1.25 MB for ten million.
struct MetItems {
  private var words: [UInt64] = []
  private(set) var count = 0

  func contains(_ number: Int64) -> Bool {
    let word = Int(number >> 6)
    return word < words.count && words[word] & (1 << UInt64(number & 63)) != 0
  }

  /// - Returns: whether it had not been met before.
  mutating func insert(_ number: Int64) -> Bool {
    let word = Int(number >> 6)
    if word >= words.count {
      words.append(
        contentsOf: repeatElement(0, count: max(word + 1 - words.count, words.count / 2)))
    }
    let bit: UInt64 = 1 << UInt64(number & 63)
    guard words[word] & bit == 0 else { return false }
    words[word] |= bit
    count += 1
    return true
  }
}
