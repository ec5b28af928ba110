import LedgerCore
import Vocabulary

extension LedgerReader {
  /// In the order of ids, which the table has.
  static let knownItemsQuery: StaticString = """
    SELECT i.number, j.name, i.id, url, entry, state, due_at, failure_code, failure_message,
      failure_hint, failure_disposition, variants, meta
    FROM jobs AS j CROSS JOIN item_ids AS n ON n.job = j.number AND n.id > ?2
      CROSS JOIN items AS i ON i.number = n.item
    WHERE j.number = ?1 ORDER BY n.id LIMIT ?3
    """

  /// One read transaction, so that a page is of one state; it is over before anything is written out.
  func knownItems(
    of job: JobNumber, after id: String, limit: Int
  ) throws(LedgerFailure) -> [KnownItem] {
    let connection = try live()
    return try connection.reading { () throws(LedgerFailure) in
      let found = try connection.all(
        Self.knownItemsQuery, .int(job.value), .text(id), .int(limit)
      ) { row in (row.itemView(), VariantNames.read(row.optionalText(11)), row.optionalText(12)) }
      let views = try views(found.map(\.0), connection)
      // An item whose id no longer may be one has no view, in both lists.
      let usable = found.filter { $0.0 != nil }
      var items: [KnownItem] = []
      for (view, (_, variants, meta)) in zip(views, usable) {
        var item = KnownItem(view: view, variants: variants, meta: meta)
        if let key = view.key { item.entry = try entry(key) }
        if let original = item.entry?.original {
          item.records = try self.variants(of: original.digest)
        }
        items.append(item)
      }
      return items
    }
  }
}
