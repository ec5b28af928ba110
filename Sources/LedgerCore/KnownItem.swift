import Vocabulary

/// An item with what is known of its URL.
package struct KnownItem: Sendable, Hashable {
  package var view: ItemView
  /// Names of the job's variants that it wants; nil is all.
  package var variants: [String]?
  /// The manifest's `meta`, as compact JSON text.
  package var meta: String?
  /// Of its URL; a redirect's target is to be looked up.
  package var entry: Entry?
  /// What was made of the entry's original.
  package var records: [VariantRecord]

  package init(
    view: ItemView, variants: [String]?, meta: String?, entry: Entry? = nil,
    records: [VariantRecord] = []
  ) {
    self.view = view
    self.variants = variants
    self.meta = meta
    self.entry = entry
    self.records = records
  }
}
