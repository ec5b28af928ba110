import Hashing
import Vocabulary

/// Makes the values of items that were found to be free of faults.
final class ItemMaker {
  private let variantLists = VariantLists()
  private let hash = SHA256()

  func make(_ item: RawItem, at place: @autoclosure () -> Place) -> ManifestItem {
    let url = String(decoding: item.url.bytes, as: UTF8.self)
    do throws(BadURL) {
      let address = try ItemURL(url)
      let key = EntryKey(address, using: hash)
      return .usable(
        id: givenID(item) ?? ItemID(bareURLKey: key), url: address, key: key,
        variants: item.hasVariants
          ? variantLists.list(item.variants.bytes, at: place()).names : nil,
        meta: item.hasMeta ? meta(item) : nil)
    } catch {
      let unusable = UnusableURL(url, reason: error)
      return .unusable(
        id: givenID(item) ?? ItemIDRules.defaultID(forURL: url, using: hash),
        shownURL: unusable.shown, failure: unusable.failure)
    }
  }

  private func givenID(_ item: RawItem) -> ItemID? {
    // Legal: those that are not were reported as faults.
    item.hasID ? try! ItemID(String(decoding: item.id.bytes, as: UTF8.self)) : nil
  }

  private func meta(_ item: RawItem) -> String? {
    let text = item.meta.text
    return text == "null" ? nil : text
  }
}
