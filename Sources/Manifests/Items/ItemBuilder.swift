import Hashing
import Vocabulary

/// The second pass: makes each item's values and queues them for the reader.
final class ItemBuilder: ItemSink {
  private var items: [ManifestItem] = []
  /// How many of `items` were given away.
  private var given = 0
  private let variantLists = VariantLists()
  private let hash = SHA256()

  /// Items in memory, given away or not.
  var held: Int { items.count }

  var count: Int { items.count - given }

  /// Gives up to `most` of the oldest items away.
  func takeFirst(_ most: Int) -> [ManifestItem] {
    let end = min(given + most, items.count)
    let first = given == 0 && end == items.count ? items : Array(items[given..<end])
    given = end
    // What was given away is dropped in one go with at least as much as moves up for it.
    if given * 2 >= items.count {
      items.removeFirst(given)
      given = 0
    }
    return first
  }

  func take(_ item: RawItem, at index: Int, _: Problems) {
    guard !item.isFaulty else { return }
    let url = String(decoding: item.url.bytes, as: UTF8.self)
    do throws(BadURL) {
      let address = try ItemURL(url)
      let key = EntryKey(address, using: hash)
      items.append(
        .usable(
          id: givenID(item) ?? ItemID(bareURLKey: key), url: address, key: key,
          variants: names(item, at: index), meta: item.hasMeta ? meta(item) : nil))
    } catch {
      let unusable = UnusableURL(url, reason: error)
      items.append(
        .unusable(
          id: givenID(item) ?? ItemIDRules.defaultID(forURL: url, using: hash),
          shownURL: unusable.shown, failure: unusable.failure))
    }
  }

  private func givenID(_ item: RawItem) -> ItemID? {
    // Legal: the scanner has reported those that are not as faults.
    item.hasID ? try! ItemID(String(decoding: item.id.bytes, as: UTF8.self)) : nil
  }

  private func names(_ item: RawItem, at index: Int) -> [String]? {
    guard item.hasVariants else { return nil }
    return variantLists.list(item.variants.bytes, at: .item(index)).names
  }

  private func meta(_ item: RawItem) -> String? {
    let text = item.meta.text
    return text == "null" ? nil : text
  }
}
