import LedgerCore
import Vocabulary

// What holds an object is counted in its row, by triggers: `entries` whose original it is, and `uses`,
// the variants and published names that are it. A row that a settlement refers to is there: it came
// with the settlement, or the settlement is refused.

extension Transaction {
  /// - Returns: whether it was new.
  func keep(_ object: ObjectRecord) throws(LedgerFailure) -> Bool {
    let inserted = try connection.run(
      "INSERT INTO objects (digest, bytes) VALUES (?, ?) ON CONFLICT DO NOTHING",
      .digest(object.digest), .int(object.bytes))
    guard inserted == 1 else { return false }
    tally.objects += 1
    tally.objectBytes += Int64(object.bytes)
    guard try areRemovalsPending() else { return true }
    try connection.run("DELETE FROM removals WHERE digest = ?", .digest(object.digest))
    return true
  }

  /// Nearly always none are: one look for a transaction spares one for each of its objects.
  private func areRemovalsPending() throws(LedgerFailure) -> Bool {
    if let known = hasRemovals { return known }
    let first = try connection.first("SELECT 1 FROM removals LIMIT 1") { _ in true }
    hasRemovals = first != nil
    return first != nil
  }

  /// Whether every object that a settlement refers to comes with it or is known. One that was purged
  /// since the claim is not: its file may be gone.
  func objectsStand(for settlement: Settlement) throws(LedgerFailure) -> Bool {
    let brought = Set(settlement.objects.map(\.digest))
    for digest in settlement.references where !brought.contains(digest) {
      guard try isKnown(digest) else { return false }
    }
    return true
  }

  private func isKnown(_ digest: Digest) throws(LedgerFailure) -> Bool {
    try connection.first("SELECT 1 FROM objects WHERE digest = ?", .digest(digest)) { _ in true }
      ?? false
  }

  /// The originals of entries that are to be purged, as the ledger has them.
  func originals(purgedBy changes: [EntryChange]) throws(LedgerFailure) -> Set<Digest> {
    var originals: Set<Digest> = []
    for case .purged(let entry) in changes {
      let original = try connection.first(
        "SELECT original FROM entries WHERE key = ?", .key(entry.key)
      ) { $0.digest(0) }
      if case let original?? = original { originals.insert(original) }
    }
    return originals
  }

  /// Forgets an original that no entry has any more, its variants too; the objects that nothing refers to
  /// are to be removed.
  func letGo(_ original: Digest) throws(LedgerFailure) {
    let entries = try connection.first(
      "SELECT entries FROM objects WHERE digest = ?", .digest(original)
    ) { $0.int(0) }
    guard (entries ?? 0) == 0 else { return }
    let variants = try connection.all(
      "SELECT digest FROM variants WHERE original = ? AND digest IS NOT NULL", .digest(original)
    ) { $0.digest(0) }
    try connection.run("DELETE FROM variants WHERE original = ?", .digest(original))
    for case let object? in [original] + variants { try removeIfUnused(object) }
  }

  /// - Returns: whether nothing refers to it.
  @discardableResult
  func removeIfUnused(_ object: Digest) throws(LedgerFailure) -> Bool {
    let bytes = try connection.first(
      "SELECT bytes FROM objects WHERE digest = ? AND entries = 0 AND uses = 0", .digest(object)
    ) { $0.int(0) }
    guard let bytes else { return false }
    try connection.run("DELETE FROM objects WHERE digest = ?", .digest(object))
    try connection.run("INSERT INTO removals VALUES (?)", .digest(object))
    hasRemovals = true
    tally.objects -= 1
    tally.objectBytes -= bytes
    return true
  }

  func confirmRemoval(_ digests: [Digest]) throws(LedgerFailure) {
    for digest in digests {
      try connection.run("DELETE FROM removals WHERE digest = ?", .digest(digest))
    }
  }
}

extension Settlement {
  /// Every object that it says something rests on.
  fileprivate var references: [Digest] {
    var references: [Digest] = []
    for change in entries {
      if let original = change.kept?.original { references.append(original.digest) }
    }
    for variant in variants {
      if case .made(let made) = variant.state { references.append(made.digest) }
    }
    for item in items { references += (item.publications ?? []).map(\.object) }
    return references
  }
}

extension LedgerReader {
  func pendingRemovals(limit: Int) throws(LedgerFailure) -> [Digest] {
    try live().all("SELECT digest FROM removals LIMIT ?", .int(limit)) { $0.digest(0)! }
  }

  func objectsKnown(among digests: [Digest]) throws(LedgerFailure) -> Set<Digest> {
    let connection = try live()
    var known: Set<Digest> = []
    for digest in digests {
      let isKnown = try connection.first(
        "SELECT 1 FROM objects WHERE digest = ?", .digest(digest)
      ) { _ in true }
      if isKnown != nil { known.insert(digest) }
    }
    return known
  }
}
