import LedgerCore
import Vocabulary

// Names in each other's way: `thumb/a.jpg` of one item is a folder of another's `thumb/a.jpg/b.jpg`. The
// folder wins, whichever comes first: the item whose one name it is fails, in every run until the
// manifest mends.

extension Transaction {
  static let nestedIDQuery: StaticString = """
    SELECT item_ids.id FROM item_ids CROSS JOIN items ON items.number = item_ids.item
    WHERE item_ids.job = ?1 AND item_ids.id > ?2 AND item_ids.id < ?3 AND items.state <> 4
    ORDER BY item_ids.job, item_ids.id LIMIT 1
    """

  /// Takes an item's names from it that are folders of others', and says why; nil where none is.
  func giveUpFolders(
    of item: inout ItemSettlement, job: Int64
  ) throws(LedgerFailure) -> FailureRecord? {
    var failure: FailureRecord?
    var kept: [Publication] = []
    for name in item.publications ?? [] {
      if let start = name.folderOfIDs, let other = try id(startingWith: start, job: job) {
        failure = .folder(of: other, at: name.path)
      } else {
        kept.append(name)
      }
    }
    guard let failure else { return nil }
    item.publications = kept
    item.outcome = .failed
    item.state = .failed
    item.dueAt = .distantPast
    item.failure = failure
    return failure
  }

  /// - Parameter start: ends with a slash, whose successor among the bytes is 0.
  private func id(startingWith start: String, job: Int64) throws(LedgerFailure) -> String? {
    try connection.first(
      Self.nestedIDQuery, .int(job), .text(start), .text(start.dropLast() + "0")
    ) { $0.text(0) }
  }

  /// Removes names that stand where an item's folders are to be; their items look again, and fail.
  func clearFolders(
    for names: [Publication], ofID id: String, item: Int64, job: Int64, _ links: inout LinkChanges
  ) throws(LedgerFailure) {
    guard id.utf8.contains(UInt8(ascii: "/")) else { return }
    var cleared: Set<ExactText> = []
    for name in names {
      var parts = name.path.partsBetweenSlashes
      while parts.removeLast() != "", !parts.isEmpty {
        let folder = parts.joined(separator: "/")
        guard cleared.insert(ExactText(folder)).inserted else { break }
        try clear(folder, for: item, job: job, &links)
      }
    }
  }

  private func clear(
    _ folder: String, for item: Int64, job: Int64, _ links: inout LinkChanges
  ) throws(LedgerFailure) {
    let other = try connection.first(
      """
      SELECT item FROM published
      WHERE job = ? AND path = ? AND object IS NOT NULL AND item IS NOT NULL
      """, .int(job), .text(folder)
    ) { $0.int(0) }
    guard let other, other != item else { return }
    try removeName(folder, job: job, &links)
    if let standing = try standing(of: other) { try makeDueAtOnce(other, standing) }
  }

  /// The name is forgotten, and its item has failed.
  func refuse(_ refused: RefusedLink) throws(LedgerFailure) {
    let link = refused.link
    let item = try connection.first(
      "SELECT item FROM published WHERE job = ? AND path = ? AND object = ?",
      .int(link.job.value), .text(link.path), .digest(link.object)
    ) { $0.int(0) }
    guard let item, let old = try standing(of: item) else { return }
    try connection.run(
      "DELETE FROM published WHERE job = ? AND path = ?", .int(link.job.value), .text(link.path))
    var new = old
    new.state = .failed
    new.dueAt = 1
    new.failure = refused.failure.disposition
    try connection.run(
      """
      UPDATE items SET state = 2, due_at = 1, failure_code = ?, failure_message = ?,
        failure_hint = ?, failure_disposition = ? WHERE number = ?
      """, refused.failure.columns + [.int(item)])
    tally.leave(old)
    tally.enter(new)
  }
}

extension FailureRecord {
  fileprivate static func folder(of id: String, at path: String) -> FailureRecord {
    FailureRecord(
      code: "bad-item", message: "its name \(path) is a folder of the item \(id)'s",
      hint: "give one of the two another id, or change publish.path", disposition: .giveUp)
  }
}
