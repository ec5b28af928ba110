import Hashing
import Vocabulary

/// The first pass's look at each item: its id's fingerprint and its variants' names. URLs are looked
/// at only where an item's id follows from one.
final class ItemCheck: ItemSink {
  let fingerprints = IDFingerprints()
  let variantLists = VariantLists()
  private let hash = SHA256()

  func take(_ item: RawItem, at index: Int, _ problems: Problems) {
    if item.hasVariants {
      let list = variantLists.list(item.variants.bytes, at: .item(index))
      if let i = list.repeated {
        problems.add(
          .item(index)["variants"][i], "\(Shown.quoted(list.names[i])) is given twice")
      }
    }
    guard !item.isFaulty else { return }
    if item.hasID {
      fingerprints.insert(IDFingerprints.fingerprint(item.id.bytes))
    } else {
      fingerprints.insert(Self.fingerprint(ofDefaultID: item, using: hash).fingerprint)
    }
  }

  static func fingerprint(
    ofDefaultID item: RawItem, using hash: SHA256
  ) -> (fingerprint: UInt64, id: String) {
    let url = String(decoding: item.url.bytes, as: UTF8.self)
    var id = ItemIDRules.defaultID(forURL: url, using: hash).text
    return (id.withUTF8(IDFingerprints.fingerprint), id)
  }
}

/// Goes over the items once more, only where ids seem to stand twice, to say which and where.
final class DuplicateFinder: ItemSink {
  private let suspects: Set<UInt64>
  private let found: Problems
  private var first: [ExactText: Int] = [:]
  private let hash = SHA256()

  /// - Parameters:
  ///   - suspects: the fingerprints to look at.
  ///   - found: where duplicates are reported.
  init(suspects: Set<UInt64>, found: Problems) {
    self.suspects = suspects
    self.found = found
  }

  func take(_ item: RawItem, at index: Int, _: Problems) {
    guard !item.isFaulty else { return }
    let id: String
    if item.hasID {
      guard suspects.contains(IDFingerprints.fingerprint(item.id.bytes)) else { return }
      id = String(decoding: item.id.bytes, as: UTF8.self)
    } else {
      let known = ItemCheck.fingerprint(ofDefaultID: item, using: hash)
      guard suspects.contains(known.fingerprint) else { return }
      id = known.id
    }
    guard let firstIndex = first[ExactText(id)] else {
      first[ExactText(id)] = index
      return
    }
    let other = Place.item(firstIndex)
    if item.hasID {
      found.add(.item(index)["id"], "\(Shown.quoted(id)) is also the id of \(other)")
    } else {
      found.add(
        .item(index), "has the id of \(other), which is made from its URL: give it one of its own")
    }
  }
}
