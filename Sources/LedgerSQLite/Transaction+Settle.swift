import HTTPCaching
import LedgerCore
import Threading
import Vocabulary

extension Transaction {
  /// Writes one claim's results if its leases still hold; they end with it.
  func settle(_ settlement: Settlement) throws(LedgerFailure) -> SettlementResult {
    let leases = [settlement.lease] + settlement.targets
    var held = 0
    for lease in leases where try end(lease) { held += 1 }
    guard held == leases.count else { return .leaseLost }
    if let receipt = try confirm(settlement) { return .committed(receipt) }
    let items = try rows(of: settlement)
    // Names that stand hold the original and its variants.
    let namesStand = items.allSatisfy(\.namesStand)
    guard namesStand else { return .leaseLost }
    if !settlement.restsOnNames {
      guard try objectsStand(for: settlement) else { return .leaseLost }
    }
    return try write(settlement, items)
  }

  /// The short way, for what nearly every settlement of a nightly run is: one item's response was
  /// confirmed, and nothing else has come of it.
  ///
  /// - Returns: nil where it is more than that, or something has changed since the claim; the long way writes
  ///   the same once more.
  private func confirm(_ settlement: Settlement) throws(LedgerFailure) -> SettlementReceipt? {
    guard settlement.items.count == 1, settlement.entries.count == 1, settlement.restsOnNames,
      settlement.objects.isEmpty, case .confirmed(let entry, let since) = settlement.entries[0],
      let before = settlement.items[0].before, settlement.items[0].state == .well
    else { return nil }
    let item = settlement.items[0]
    guard try moveOn(item, from: before, settlement),
      try refresh(entry, at: before.entryPlace, since: since)
    else { return nil }
    var receipt = SettlementReceipt()
    receipt.items = [item.item]
    CrashSeam.settlementWritten.reached()
    return receipt
  }

  /// - Returns: false where it does not stand as it did; nothing was changed.
  private func moveOn(
    _ item: ItemSettlement, from before: ItemStanding, _ settlement: Settlement
  ) throws(LedgerFailure) -> Bool {
    // Whichever host it has, it keeps it.
    let old = Standing(
      job: settlement.job.value, state: .well, dueAt: before.dueAt.milliseconds, host: 0,
      run: before.run.value, failure: nil)
    var new = old
    (new.dueAt, new.run) = (item.settledDueAt, settlement.run.value)
    let moved = try connection.run(
      """
      UPDATE items SET due_at = ?, run = ?, entry_place = ?
      WHERE number = ? AND job = ? AND entry = ? AND published = ? AND since < ? AND state = 1
        AND due_at = ? AND run = ?
      """
    ) {
      $0.bind(1, .int(new.dueAt))
      $0.bind(2, .int(new.run))
      $0.bind(3, before.entryPlace.map { .int($0) } ?? .null)
      $0.bind(4, .int(item.item.value))
      $0.bind(5, .int(settlement.job.value))
      $0.bind(6, .key(settlement.lease.entry))
      $0.bind(7, item.published.map { .int($0.rawValue) } ?? .null)
      $0.bind(8, .int(settlement.lease.token))
      $0.bind(9, .int(old.dueAt))
      $0.bind(10, .int(old.run))
    }
    guard moved == 1 else { return false }
    tally.leave(old)
    tally.enter(new)
    return true
  }

  private func write(
    _ settlement: Settlement, _ items: [SettledItem]
  ) throws(LedgerFailure) -> SettlementResult {
    var links = LinkChanges()
    var receipt = SettlementReceipt()
    for object in settlement.objects where try keep(object) { receipt.stored += object.bytes }
    for variant in settlement.variants { try keep(variant) }
    let purged = try originals(purgedBy: settlement.entries)
    let changes = try write(settlement.entries)
    try propagate(changes, of: settlement, &links)
    for item in items { try settle(item, settlement, &links, &receipt) }
    for original in purged.union(changes.left) { try letGo(original) }
    receipt.links = links.tasks
    CrashSeam.settlementWritten.reached()
    return .committed(receipt)
  }

  private func keep(_ variant: VariantRecord) throws(LedgerFailure) {
    // Never REPLACE: it would take the old row away without a word to the object's count.
    try connection.run(
      """
      INSERT INTO variants VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (original, recipe) DO UPDATE SET digest = excluded.digest,
        bytes = excluded.bytes, format = excluded.format, width = excluded.width,
        height = excluded.height, failure_code = excluded.failure_code,
        failure_message = excluded.failure_message, failure_hint = excluded.failure_hint,
        failure_disposition = excluded.failure_disposition, capped = excluded.capped
      """, variant.columns)
  }
}

// MARK: Entries

/// What a settlement did to entries that others may rely on.
private struct EntryChanges {
  /// Other bytes, another redirect or other validators than before.
  var replaced: [Entry] = []
  var purged: [Entry] = []
  /// Originals that entries had before and have no more.
  var left: Set<Digest> = []
}

extension Transaction {
  private func write(_ changes: [EntryChange]) throws(LedgerFailure) -> EntryChanges {
    var result = EntryChanges()
    for change in changes {
      switch change {
      case .confirmed(let entry, let since):
        if try !refresh(entry, at: nil, since: since) { try replace(with: entry, &result) }
      case .stored(let entry):
        try replace(with: entry, &result)
      case .purged(let entry):
        result.purged.append(entry)
        try write(entry.stub)
      }
    }
    return result
  }

  private func replace(
    with entry: Entry, _ changes: inout EntryChanges
  ) throws(LedgerFailure) {
    let before = try standing(of: entry)
    if before.differs { changes.replaced.append(entry) }
    try write(entry)
    if let original = before.original, original != entry.original?.digest {
      changes.left.insert(original)
    }
  }

  /// Moves the freshness of the response that has been in force since then, and nothing else.
  ///
  /// - Parameter place: the row that it had; nil: it is found by its key.
  /// - Returns: false where another is in force by now, or it failed: nothing was changed.
  private func refresh(
    _ entry: Entry, at place: Int64?, since: Timestamp
  ) throws(LedgerFailure) -> Bool {
    guard let response = entry.response, let original = entry.original else { return false }
    var place = place
    if place == nil { place = try self.place(of: entry.key) }
    guard let place else { return false }
    let changed = try connection.run(
      """
      UPDATE entries SET fields = ?, vary_values = ?, request_time = ?, response_time = ?,
        validated_at = ?, last_answer = ?
      WHERE rowid = ? AND key = ? AND response_time = ? AND original = ? AND failure_code IS NULL
      """
    ) {
      $0.bind(1, response.fields.stored)
      $0.bind(2, response.varyValues.stored)
      $0.bind(3, .time(response.requestTime))
      $0.bind(4, .time(response.responseTime))
      $0.bind(5, .time(entry.validatedAt))
      $0.bind(6, .text(entry.lastAnswer?.rawValue))
      $0.bind(7, .int(place))
      $0.bind(8, .key(entry.key))
      $0.bind(9, .time(since))
      $0.bind(10, .digest(original.digest))
    }
    return changed == 1
  }

  private func place(of key: EntryKey) throws(LedgerFailure) -> Int64? {
    try connection.first("SELECT rowid FROM entries WHERE key = ?", .key(key)) { $0.int(0) }
  }

  private func write(_ entry: Entry) throws(LedgerFailure) {
    // Never REPLACE: it would take the old row away without a word to the object's count.
    try connection.run(
      """
      INSERT INTO entries VALUES
        (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
         ?, ?, ?)
      ON CONFLICT (key) DO UPDATE SET url = excluded.url, status = excluded.status,
        fields = excluded.fields, vary_values = excluded.vary_values,
        request_time = excluded.request_time, response_time = excluded.response_time,
        redirect = excluded.redirect, original = excluded.original,
        original_bytes = excluded.original_bytes, original_format = excluded.original_format,
        original_width = excluded.original_width, original_height = excluded.original_height,
        validated_at = excluded.validated_at, failure_code = excluded.failure_code,
        failure_message = excluded.failure_message, failure_hint = excluded.failure_hint,
        failure_disposition = excluded.failure_disposition,
        failure_status = excluded.failure_status, failure_at = excluded.failure_at,
        failure_count = excluded.failure_count, failure_next_try = excluded.failure_next_try,
        failure_is_servers_word = excluded.failure_is_servers_word,
        failing_since = excluded.failing_since, last_answer = excluded.last_answer,
        missing_since = excluded.missing_since, original_color = excluded.original_color,
        original_thumbhash = excluded.original_thumbhash,
        original_warnings = excluded.original_warnings
      """, entry.columns)
  }

  /// What the ledger has of an entry: whether its bytes, redirect or validators are others, and its bytes.
  private func standing(
    of entry: Entry
  ) throws(LedgerFailure) -> (differs: Bool, original: Digest?) {
    let known = try connection.first(
      "SELECT original, redirect, fields FROM entries WHERE key = ?", .key(entry.key)
    ) { row in
      let original = row.digest(0)
      let isSame =
        original == entry.original?.digest
        && row.optionalText(1) == entry.redirectTarget?.unredactedText
        && Validators(stored: row.utf8(2)) == Validators(entry.response?.fields)
      return (differs: !isSame, original: original)
    }
    return known ?? (differs: entry.response != nil, original: nil)
  }

  /// Items that others' work left behind: those of a replaced entry look again, those of a purged one
  /// lose their names as well. Redirects that lead to the entry pass it on to the items naming them.
  private func propagate(
    _ changes: EntryChanges, of settlement: Settlement, _ links: inout LinkChanges
  ) throws(LedgerFailure) {
    guard !changes.replaced.isEmpty || !changes.purged.isEmpty else { return }
    let settled = Set(settlement.items.map(\.item.value))
    for key in try keysLeading(to: changes.replaced + changes.purged) {
      for (number, standing) in try standings(naming: key) where !settled.contains(number) {
        // What is due by now is looked at anyway.
        guard standing.dueAt > settlement.at.milliseconds else { continue }
        try makeDueAtOnce(number, standing)
      }
    }
    for key in try keysLeading(to: changes.purged) {
      for (number, _) in try standings(naming: key) { try removeNames(ofItem: number, &links) }
    }
  }

  /// The keys of these entries and of all entries whose redirects lead to them.
  func keysLeading(to entries: [Entry]) throws(LedgerFailure) -> [EntryKey] {
    var keys = entries.map(\.key)
    var open = entries.map(\.url.unredactedText)
    var seen = Set(open)
    while let url = open.popLast() {
      let sources = try connection.all(
        "SELECT key, url FROM entries WHERE redirect = ?", .text(url)
      ) { ($0.key(0), $0.text(1)) }
      for (key, source) in sources where seen.insert(source).inserted {
        if let key { keys.append(key) }
        open.append(source)
      }
    }
    return keys
  }

  func standings(
    naming key: EntryKey
  ) throws(LedgerFailure) -> [(number: Int64, standing: Standing)] {
    try connection.all(
      """
      SELECT number, job, state, due_at, host, run, failure_disposition FROM items WHERE entry = ?
      """, .key(key)
    ) { ($0.int(0), $0.standing(from: 1)) }
  }
}

/// The fields by which a later request asks whether anything changed, as bytes: they are compared for each
/// entry that is settled.
private struct Validators: Equatable {
  private var etag: [[UInt8]] = []
  private var lastModified: [[UInt8]] = []

  init(_ fields: HTTPFields?) {
    etag = (fields?["ETag"] ?? []).map { Array($0.utf8) }
    lastModified = (fields?["Last-Modified"] ?? []).map { Array($0.utf8) }
  }

  /// - Parameter stored: a `name:value` line each, as `HTTPFields.stored` writes them.
  init(stored: UnsafeBufferPointer<UInt8>) {
    for line in stored.split(separator: UInt8(ascii: "\n")) {
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
      let name = line[..<colon]
      if name.isSpelt("etag") {
        etag.append(Array(line[colon...].dropFirst()))
      } else if name.isSpelt("last-modified") {
        lastModified.append(Array(line[colon...].dropFirst()))
      }
    }
  }
}

extension Slice<UnsafeBufferPointer<UInt8>> {
  /// - Parameter name: in lower case.
  fileprivate func isSpelt(_ name: StaticString) -> Bool {
    guard count == name.utf8CodeUnitCount else { return false }
    for (i, byte) in enumerated() {
      let isUpper = byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z")
      guard (isUpper ? byte | 0x20 : byte) == name.utf8Start[i] else { return false }
    }
    return true
  }
}

extension Entry {
  /// What remains of a purged entry for `show`: no bytes, no redirect, no validator.
  fileprivate var stub: Entry {
    var stub = self
    stub.original = nil
    stub.redirectTarget = nil
    stub.response?.fields.removeAll(named: "ETag")
    stub.response?.fields.removeAll(named: "Last-Modified")
    return stub
  }
}

// MARK: Items

/// An item's result beside what the ledger has of it.
private struct SettledItem {
  struct Row {
    var standing: Standing
    /// The token when it was last made due at once.
    var since: Int64
    var id: String
    var published: PublicationKey?
  }

  var item: ItemSettlement
  /// Nil where it has left the manifest, or names another entry by now.
  var row: Row?

  /// Whether names that the settlement takes for granted are those that it has.
  var namesStand: Bool {
    guard item.restsOnNames, let row else { return true }
    return row.published == item.published
  }
}

extension ItemSettlement {
  /// 0 is kept for what is made due at once: nothing settled stands among that.
  fileprivate var settledDueAt: Int64 { max(1, dueAt.milliseconds) }

  fileprivate var restsOnNames: Bool { publications == nil && published != nil }
}

extension Settlement {
  /// Whether all that it refers to is held by names that stand.
  fileprivate var restsOnNames: Bool {
    variants.isEmpty && !items.isEmpty && items.allSatisfy(\.restsOnNames)
  }
}

extension Transaction {
  private func rows(of settlement: Settlement) throws(LedgerFailure) -> [SettledItem] {
    var items: [SettledItem] = []
    for item in settlement.items {
      items.append(SettledItem(item: item, row: try row(of: item, settlement)))
    }
    return items
  }

  private func row(
    of item: ItemSettlement, _ settlement: Settlement
  ) throws(LedgerFailure) -> SettledItem.Row? {
    try connection.first(
      """
      SELECT job, state, due_at, host, run, failure_disposition, since, id, published FROM items
      WHERE number = ? AND job = ? AND entry = ?
      """,
      binding: {
        $0.bind(1, .int(item.item.value))
        $0.bind(2, .int(settlement.job.value))
        $0.bind(3, .key(settlement.lease.entry))
      }
    ) {
      SettledItem.Row(
        standing: $0.standing(from: 0), since: $0.int(6), id: $0.text(7),
        published: $0.publicationKey(8))
    }
  }

  private func settle(
    _ settled: SettledItem, _ settlement: Settlement, _ links: inout LinkChanges,
    _ receipt: inout SettlementReceipt
  ) throws(LedgerFailure) {
    var item = settled.item
    // Those before it in the settlement may have taken names from it.
    let row =
      item.restsOnNames || settlement.items.count == 1
      ? settled.row : try row(of: item, settlement)
    // It left the manifest, or changed there after it was claimed: the result is not for it.
    guard let old = row, old.since < settlement.lease.token else { return }
    receipt.items.insert(item.item)
    receipt.refused[item.item] = try giveUpFolders(of: &item, job: settlement.job.value)
    if let names = item.publications {
      try clearFolders(
        for: names, ofID: old.id, item: item.item.value, job: settlement.job.value, &links)
      try publish(names, item: item.item.value, job: settlement.job.value, &links)
      try notePublished(receipt.refused[item.item] == nil ? item.published : nil, of: item.item)
    }
    var new = old.standing
    new.state = item.state
    new.dueAt = item.settledDueAt
    new.run = settlement.run.value
    new.failure = item.failure?.disposition
    try connection.run(
      """
      UPDATE items SET state = ?, due_at = ?, run = ?, failure_code = ?, failure_message = ?,
        failure_hint = ?, failure_disposition = ?,
        entry_place = (SELECT rowid FROM entries WHERE key = items.entry)
      WHERE number = ?
      """,
      [.int(new.state.rawValue), .int(new.dueAt), .int(new.run)]
        + (item.failure?.columns ?? FailureRecord.noColumns) + [.int(item.item.value)])
    tally.leave(old.standing)
    tally.enter(new)
  }
}
