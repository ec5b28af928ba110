import LedgerCore
import Vocabulary

// MARK: A reading's begin and end

extension Transaction {
  /// - Returns: the ticket, and whether the job's settings differ from those that its items were
  ///   settled with.
  func beginReading(
    name: String, settings: String, digest: Digest
  ) throws(LedgerFailure) -> (IngestTicket, settingsChanged: Bool) {
    let known = try connection.first(
      "SELECT number, generation, settings_digest FROM jobs WHERE name = ?", .text(name)
    ) { (number: $0.int(0), generation: $0.int(1), digest: $0.digest(2)) }
    guard let known else {
      try connection.run(
        """
        INSERT INTO jobs (name, settings, settings_digest, generation, arrivals)
        VALUES (?, ?, ?, 1, 0)
        """, .text(name), .text(settings), .digest(digest))
      let number = JobNumber(connection.lastInsertedRow)
      return (IngestTicket(job: number, generation: 1), settingsChanged: false)
    }
    let ticket = IngestTicket(job: JobNumber(known.number), generation: known.generation + 1)
    try connection.run(
      "UPDATE jobs SET settings = ?, generation = ? WHERE number = ?", .text(settings),
      .int(ticket.generation), .int(known.number))
    try forgetManifest(ticket.job)
    return (ticket, settingsChanged: known.digest != digest)
  }

  /// Until a reading ends, the manifest counts as not read.
  func forgetManifest(_ job: JobNumber) throws(LedgerFailure) {
    try connection.run(
      """
      UPDATE jobs SET manifest_path = NULL, manifest_size = NULL, manifest_modified_ns = NULL,
        manifest_inode = NULL, manifest_digest = NULL WHERE number = ?
      """, .int(job.value))
    try connection.run("DELETE FROM sources WHERE job = ?", .int(job.value))
  }

  static let notDueAtOnceQuery: StaticString = """
    SELECT number, job, state, due_at, host, run, failure_disposition FROM items
    WHERE job = ? AND host = ? AND due_at > 0 LIMIT ?
    """

  /// Makes up to `limit` of a host's items due at once.
  /// - Returns: how many there were.
  func makeDueAtOnce(
    job: JobNumber, host: Int64, limit: Int
  ) throws(LedgerFailure) -> Int {
    let items = try connection.all(
      Self.notDueAtOnceQuery, .int(job.value), .int(host), .int(limit)
    ) { ($0.int(0), $0.standing(from: 1)) }
    for (number, standing) in items { try makeDueAtOnce(number, standing) }
    return items.count
  }

  func keepSettingsDigest(_ digest: Digest, of job: JobNumber) throws(LedgerFailure) {
    try connection.run(
      "UPDATE jobs SET settings_digest = ? WHERE number = ?", .digest(digest), .int(job.value))
  }

  func keepEncoders(_ encoders: EncoderVersions) throws(LedgerFailure) {
    try connection.run("UPDATE meta SET encoders = ?", .text(encoders.text))
  }

  /// Whether no other reading of the job has begun since.
  func isNewest(_ ticket: IngestTicket) throws(LedgerFailure) -> Bool {
    try connection.first(
      "SELECT generation FROM jobs WHERE number = ?", .int(ticket.job.value)
    ) { $0.int(0) } == ticket.generation
  }

  func keep(_ identity: ManifestIdentity, of job: JobNumber) throws(LedgerFailure) {
    try connection.run(
      """
      UPDATE jobs SET manifest_path = ?, manifest_size = ?, manifest_modified_ns = ?,
        manifest_inode = ?, manifest_digest = ? WHERE number = ?
      """, .text(identity.path), .int(identity.size), .int(identity.modifiedNanoseconds),
      .int(Int64(bitPattern: identity.inode)), .digest(identity.digest), .int(job.value))
    try connection.run("DELETE FROM sources WHERE job = ?", .int(job.value))
    for (place, source) in identity.sources.enumerated() {
      try connection.run(
        "INSERT INTO sources VALUES (?, ?, ?, ?, ?, ?, ?)", .int(job.value), .int(place),
        .text(source.address), .int(source.size), .int(source.modifiedNanoseconds),
        .int(Int64(bitPattern: source.inode)), .digest(source.digest))
    }
  }
}

// MARK: Items in

extension Transaction {
  enum Arrival { case new(Int64), met(Int64) }

  /// Enters an item, or brings it up to date if the ledger has it by now.
  func enter(_ item: IncomingItem, job: JobNumber) throws(LedgerFailure) -> Arrival {
    let known = try connection.first(
      "SELECT item, signature FROM item_ids WHERE job = ? AND id = ?", .int(job.value),
      .text(item.id.text)
    ) { (number: $0.int(0), signature: $0.int(1)) }
    if let known { return .met(known.number) }
    let number = try insert(item, job: job)
    try connection.run(
      "INSERT INTO item_ids VALUES (?, ?, ?, ?)", .int(job.value), .text(item.id.text),
      .int(number), .int(item.signature))
    return .new(number)
  }

  private func insert(_ item: IncomingItem, job: JobNumber) throws(LedgerFailure) -> Int64 {
    let row = try columns(of: item)
    try connection.run(
      """
      INSERT INTO items (job, id, run, due_at, state, since, host, entry, url, variants, meta,
        failure_code, failure_message, failure_hint, failure_disposition, has_twin)
      VALUES (?, ?, 0, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [.int(job.value), .text(item.id.text), .int(row.state.rawValue)] + row.values
        + [.int(try noteTwins(of: item, job: job.value))])
    tally.enter(
      Standing(job: job.value, state: row.state, dueAt: 0, host: row.host, run: 0))
    if row.host != nil { tally.arrivals.insert(job.value) }
    return connection.lastInsertedRow
  }

  /// Tells the other items of a job that this one names their entry as well.
  /// - Returns: whether there are any.
  private func noteTwins(of item: IncomingItem, job: Int64) throws(LedgerFailure) -> Bool {
    guard case .usable(let item) = item else { return false }
    let known = try connection.first(
      "SELECT has_twin FROM items WHERE entry = ? AND job = ? LIMIT 1", .key(item.key), .int(job)
    ) { $0.int(0) == 1 }
    if known == false {
      try connection.run(
        "UPDATE items SET has_twin = 1 WHERE entry = ? AND job = ?", .key(item.key), .int(job))
    }
    return known != nil
  }

  private struct Columns {
    var state: ItemState
    var host: Int64?
    /// since, host, entry, url, variants, meta and the failure's four.
    var values: [SQLValue]
  }

  private func columns(of item: IncomingItem) throws(LedgerFailure) -> Columns {
    let since = SQLValue.int(try lastToken())
    switch item {
    case .usable(let item):
      let host = try hostNumber(item.url.host)
      return Columns(
        state: .pending, host: host,
        values: [
          since, .int(host), .key(item.key), .text(item.url.unredactedText),
          .text(VariantNames.stored(item.variants)), .text(item.meta),
        ] + FailureRecord.noColumns)
    case .bad(let item):
      return Columns(
        state: .unusable, host: nil,
        values: [since, .null, .null, .text(item.shownURL), .null, .null] + item.failure.columns)
    }
  }

  /// Brings a known item up to date: due at once if its URL or its variants are others, not tried yet
  /// if its URL is.
  /// - Returns: false where the item is gone.
  func update(_ number: Int64, to item: IncomingItem) throws(LedgerFailure) -> Bool {
    let known = try connection.first(
      """
      SELECT job, state, due_at, host, run, failure_disposition, entry, variants,
        item_ids.signature
      FROM items JOIN item_ids USING (job, id) WHERE number = ?
      """, .int(number)
    ) { row in
      (
        standing: row.standing(from: 0), entry: row.key(6), variants: row.optionalText(7),
        signature: row.int(8)
      )
    }
    guard let known else { return false }
    guard known.signature != item.signature else { return true }
    if case .usable(let item) = item, known.entry == item.key,
      known.variants == VariantNames.stored(item.variants)
    {
      try connection.run(
        "UPDATE items SET meta = ? WHERE number = ?", .text(item.meta), .int(number))
    } else if case .usable(let item) = item, known.entry == item.key {
      try connection.run(
        "UPDATE items SET variants = ?, meta = ? WHERE number = ?",
        .text(VariantNames.stored(item.variants)), .text(item.meta), .int(number))
      try takeBack(number, known.standing)
    } else {
      try replace(number, known.standing, by: item)
    }
    try connection.run(
      "UPDATE item_ids SET signature = ? WHERE job = ? AND id = ?", .int(item.signature),
      .int(known.standing.job), .text(item.id.text))
    return true
  }

  /// Due at once, and to be settled again even by the run that settled it.
  private func takeBack(_ number: Int64, _ old: Standing) throws(LedgerFailure) {
    try makeDueAtOnce(number, old)
    var before = old
    before.dueAt = 0
    var after = before
    after.run = 0
    tally.leave(before)
    tally.enter(after)
    try connection.run("UPDATE items SET run = 0 WHERE number = ?", .int(number))
  }

  private func replace(
    _ number: Int64, _ old: Standing, by item: IncomingItem
  ) throws(LedgerFailure) {
    let row = try columns(of: item)
    let hasTwin = try noteTwins(of: item, job: old.job)
    try connection.run(
      """
      UPDATE items SET run = 0, due_at = 0, published = NULL, entry_place = NULL, state = ?, since = ?,
        host = ?, entry = ?, url = ?, variants = ?, meta = ?, failure_code = ?, failure_message = ?,
        failure_hint = ?, failure_disposition = ?, has_twin = ? WHERE number = ?
      """, [.int(row.state.rawValue)] + row.values + [.int(hasTwin), .int(number)])
    tally.leave(old)
    tally.enter(Standing(job: old.job, state: row.state, dueAt: 0, host: row.host, run: 0))
    if row.host != nil { tally.arrivals.insert(old.job) }
  }
}

// MARK: Items out

extension Transaction {
  /// Removes an item that left its manifest.
  func remove(
    _ number: Int64, prune: Bool, _ links: inout LinkChanges
  ) throws(LedgerFailure) {
    guard let old = try standing(of: number) else { return }
    if prune {
      try removeNames(ofItem: number, &links)
    } else {
      try connection.run("UPDATE published SET item = NULL WHERE item = ?", .int(number))
    }
    try connection.run(
      """
      DELETE FROM item_ids WHERE (job, id) = (SELECT job, id FROM items WHERE number = ?)
      """, .int(number))
    try connection.run("DELETE FROM items WHERE number = ?", .int(number))
    tally.leave(old)
  }
}
