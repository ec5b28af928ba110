import Vocabulary

/// One item as a manifest gives it.
package enum ManifestItem: Sendable, Hashable {
  /// - `variants`: names of the job's variants; nil is all.
  /// - `meta`: compact JSON text of at most 64 KiB; nil is none.
  case usable(id: ItemID, url: ItemURL, key: EntryKey, variants: [String]?, meta: String?)
  /// Its URL cannot be fetched: the item's failure, not the manifest's.
  ///
  /// - `shownURL`: as the manifest has it, secrets removed and cut short.
  case unusable(id: ItemID, shownURL: String, failure: FailureRecord)

  package var id: ItemID {
    switch self {
    case .usable(let id, _, _, _, _), .unusable(let id, _, _): id
    }
  }
}
