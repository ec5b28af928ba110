import LedgerCore
import Vocabulary

/// An item as a manifest's reading brings it: usable or not.
enum IncomingItem {
  case usable(ItemEntry)
  case bad(BadItem)

  var id: ItemID {
    switch self {
    case .usable(let item): item.id
    case .bad(let item): item.id
    }
  }

  /// Of all texts that the ledger keeps of it, its id's aside.
  var textBytes: Int {
    switch self {
    case .usable(let item): item.url.unredactedText.utf8.count + (item.meta?.utf8.count ?? 0)
    case .bad(let item): item.shownURL.utf8.count + item.failure.message.utf8.count
    }
  }

  /// Tells an unchanged item from a changed one: over everything that the ledger keeps of it.
  ///
  /// The key is a cryptographic digest of the URL already; the rest is mixed in by FNV-1a.
  var signature: Int64 {
    var hash = FNV1a()
    switch self {
    case .usable(let item):
      hash.mix(item.key.words.0)
      hash.mix(item.key.words.1)
      if let variants = item.variants {
        for name in variants { hash.mix(name) }
        hash.mix(1)
      }
      if let meta = item.meta {
        hash.mix(meta)
        hash.mix(2)
      }
    case .bad(let item):
      hash.mix(item.shownURL)
      hash.mix(item.failure.code)
      hash.mix(item.failure.message)
      hash.mix(3)
    }
    return Int64(bitPattern: hash.value)
  }
}

/// The 64-bit FNV-1a hash, fed by words and by texts that end.
private struct FNV1a {
  private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

  mutating func mix(_ word: UInt64) {
    value = (value ^ word) &* 0x0000_0100_0000_01B3
    value ^= value >> 29
  }

  mutating func mix(_ text: String) {
    for byte in text.utf8 { value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
    mix(0xFF)
  }
}
