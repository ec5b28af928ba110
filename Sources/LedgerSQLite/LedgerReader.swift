import Glibc
import LedgerCore
import Threading
import Vocabulary

/// The reading connection, on a thread of its own: look-ups never wait for a writer.
actor LedgerReader {
  private let thread = ThreadExecutor(name: "ledger-reader")
  let path: String
  private var connection: Connection?

  nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  init(path: String) { self.path = path }

  deinit { thread.stop() }

  func open(patience: Duration) throws(LedgerFailure) {
    connection = try Connection.openForReading(path: path, patience: patience)
  }

  func close() { connection = nil }

  var hasMetDamage: Bool { connection?.hasMetDamage ?? false }

  func live() throws(LedgerFailure) -> Connection {
    guard let connection else { throw .other(path: path, reason: "it was closed") }
    return connection
  }

  func preparedTexts() throws(LedgerFailure) -> [String] { try live().preparedTexts }
}

// MARK: Looking up

extension LedgerReader {
  func job(named name: String) throws(LedgerFailure) -> JobRecord? {
    let connection = try live()
    // One transaction: the identity is of one state with its sources.
    return try connection.reading { () throws(LedgerFailure) in
      var job = try connection.first(
        """
        SELECT number, name, settings, settings_digest, manifest_path, manifest_size,
          manifest_modified_ns, manifest_inode, manifest_digest,
          (SELECT sum(n) FROM job_counts WHERE job = number), last_run,
          (SELECT started_at FROM runs WHERE job = jobs.number ORDER BY runs.number DESC LIMIT 1)
        FROM jobs WHERE name = ?
        """, .text(name), read: { $0.job() })
      if let number = job?.number {
        job?.identity?.sources = try connection.all(
          """
          SELECT address, size, modified_ns, inode, digest FROM sources WHERE job = ?
          ORDER BY place
          """, .int(number.value)
        ) { row in
          SourceIdentity(
            address: row.text(0), size: row.int(1), modifiedNanoseconds: row.int(2),
            inode: UInt64(bitPattern: row.int(3)), digest: row.digest(4)!)  // NOT NULL, of 32 bytes
        }
      }
      return job
    }
  }

  func jobs(readFrom path: String) throws(LedgerFailure) -> [JobRecord] {
    let names = try live().all(
      "SELECT name FROM jobs WHERE manifest_path = ? ORDER BY number DESC", .text(path)
    ) { $0.text(0) }
    var jobs: [JobRecord] = []
    for name in names { if let job = try job(named: name) { jobs.append(job) } }
    return jobs
  }

  /// One search in the counts for each of a job's states.
  func nextDue() throws(LedgerFailure) -> [DueJob] {
    // It is asked for months, and where nothing is due nobody else looks.
    try live().expectInPlace()
    let jobs = try live().all(
      """
      SELECT number, name, (
        SELECT min(minute) FROM (
          SELECT min(minute) AS minute FROM due_by_minute WHERE job = number AND state = 0
          UNION ALL SELECT min(minute) FROM due_by_minute WHERE job = number AND state = 1
          UNION ALL SELECT min(minute) FROM due_by_minute WHERE job = number AND state = 2
          UNION ALL SELECT min(minute) FROM due_by_minute WHERE job = number AND state = 3)),
        last_run,
        (SELECT started_at FROM runs WHERE job = jobs.number ORDER BY runs.number DESC LIMIT 1)
      FROM jobs WHERE paused = 0
      """
    ) { row in
      let minute = row.isNull(2) ? nil : row.int(2)
      return minute.map { minute in
        DueJob(
          number: JobNumber(row.int(0)), name: row.text(1),
          dueAt: Timestamp(
            milliseconds: minute == 0 ? 0 : (minute + 1) * Tally.millisecondsPerMinute),
          lastActive: row.lastActive(from: 3))
      }
    }
    return jobs.compactMap(\.self)
  }

  func entry(_ key: EntryKey) throws(LedgerFailure) -> Entry? {
    try live().first("SELECT * FROM entries WHERE key = ?", .key(key)) { $0.entry() } ?? nil
  }

  func variants(of original: Digest) throws(LedgerFailure) -> [VariantRecord] {
    try live().all(
      "SELECT * FROM variants WHERE original = ? ORDER BY original, recipe", .digest(original)
    ) { $0.variant() }.compactMap(\.self)
  }

  func storeID() throws(LedgerFailure) -> String {
    try live().first("SELECT store_id FROM meta") { $0.text(0) } ?? ""
  }

  func encoders() throws(LedgerFailure) -> EncoderVersions {
    EncoderVersions(text: try live().first("SELECT encoders FROM meta") { $0.text(0) } ?? "")
  }

  static let pendingLinksQuery: StaticString = """
    SELECT job, name, path, object FROM published JOIN jobs ON number = job
    WHERE pending_since IS NOT NULL ORDER BY pending_since LIMIT ?
    """

  func pendingLinks(limit: Int) throws(LedgerFailure) -> [LinkTask] {
    try live().all(Self.pendingLinksQuery, .int(limit)) { row in
      LinkTask(
        job: JobNumber(row.int(0)), jobName: row.text(1), path: row.text(2), object: row.digest(3))
    }
  }

  func unsettled(
    job: JobNumber, run: RunNumber
  ) throws(LedgerFailure) -> [ItemState: Int] {
    let counts = try live().all(
      """
      SELECT state, n - coalesce(
        (SELECT n FROM run_counts WHERE run = ?2 AND run_counts.state = job_counts.state), 0)
      FROM job_counts WHERE job = ?1
      """, .int(job.value), .int(run.value)
    ) { (state: ItemState(rawValue: $0.count(0)), n: $0.count(1)) }
    var result: [ItemState: Int] = [:]
    for count in counts where count.n > 0 {
      if let state = count.state { result[state] = count.n }
    }
    return result
  }
}

extension LedgerReader {
  func due(
    job: JobNumber, run: RunNumber, by rule: DueRule
  ) throws(LedgerFailure) -> [ItemState: Int] {
    let left = try unsettled(job: job, run: run).filter { $0.key != .unusable }
    if rule.takesAll { return left }
    let connection = try live()
    var due = try connection.reading { () throws(LedgerFailure) in
      try StatusReading(connection: connection, now: rule.horizon, mostLookedAt: .max)
        .dueCounts(job.value)
    }
    if rule.takesFailed { due[.failed] = left[.failed] }
    return left.reduce(into: [:]) { $0[$1.key] = min($1.value, due[$1.key] ?? 0) }
  }
}

// MARK: Items

extension LedgerReader {
  static let itemsOfEntryQuery: StaticString = """
    SELECT number, name, id, url, entry, state, due_at, failure_code, failure_message,
      failure_hint, failure_disposition
    FROM (SELECT * FROM items WHERE entry = ?) AS i
      JOIN (SELECT number AS j, name FROM jobs) ON j = i.job
    ORDER BY i.job, i.number
    """
  static let itemsOfIDQuery: StaticString = """
    SELECT i.number, j.name, i.id, url, entry, state, due_at, failure_code, failure_message,
      failure_hint, failure_disposition
    FROM jobs AS j CROSS JOIN item_ids AS n ON n.job = j.number AND n.id = ?
      CROSS JOIN items AS i ON i.number = n.item
    ORDER BY j.number
    """

  static let unusableItemsQuery: StaticString = """
    SELECT i.number, j.name, i.id, url, entry, state, due_at, failure_code, failure_message,
      failure_hint, failure_disposition
    FROM items AS i JOIN jobs AS j ON j.number = i.job
    WHERE i.job = ? AND i.state = 4 ORDER BY i.number LIMIT ?
    """

  func unusableItems(of job: JobNumber, limit: Int) throws(LedgerFailure) -> [ItemView] {
    let connection = try live()
    return try connection.reading { () throws(LedgerFailure) in
      try views(
        connection.all(Self.unusableItemsQuery, .int(job.value), .int(limit)) { $0.itemView() },
        connection)
    }
  }

  func items(naming key: EntryKey) throws(LedgerFailure) -> [ItemView] {
    let connection = try live()
    return try connection.reading { () throws(LedgerFailure) in
      try views(connection.all(Self.itemsOfEntryQuery, .key(key)) { $0.itemView() }, connection)
    }
  }

  func items(withID id: String) throws(LedgerFailure) -> [ItemView] {
    let connection = try live()
    return try connection.reading { () throws(LedgerFailure) in
      try views(connection.all(Self.itemsOfIDQuery, .text(id)) { $0.itemView() }, connection)
    }
  }

  func views(
    _ found: [(number: Int64, view: ItemView)?], _ connection: Connection
  ) throws(LedgerFailure) -> [ItemView] {
    var views: [ItemView] = []
    for case (let number, var view)? in found {
      view.published = try connection.all(
        """
        SELECT path, variant, object FROM published WHERE item = ? ORDER BY job, path
        """, .int(number)
      ) { row in
        Publication(path: row.text(0), variant: row.text(1), object: row.digest(2)!)  // has an item
      }
      views.append(view)
    }
    return views
  }
}

extension Row {
  fileprivate func identity(from column: Int32) -> ManifestIdentity? {
    guard let digest = digest(column + 4) else { return nil }
    return ManifestIdentity(
      path: text(column), size: int(column + 1), modifiedNanoseconds: int(column + 2),
      inode: UInt64(bitPattern: int(column + 3)), digest: digest)
  }

  /// Columns number, job's name, id, url, entry, state, due_at and the failure's four.
  func itemView() -> (number: Int64, view: ItemView)? {
    guard let id = try? ItemID(text(2)) else { return nil }
    let key = key(4)
    // An unusable item's text has been redacted before it was stored.
    let url = key == nil ? nil : try? ItemURL(text(3))
    let view = ItemView(
      job: text(1), id: id, url: url, shownURL: url.map { "\($0)" } ?? text(3), key: key,
      state: ItemState(rawValue: count(5)) ?? .pending, dueAt: time(6), failure: failure(from: 7),
      published: [])
    return (int(0), view)
  }
}

extension Row {
  /// The columns that `LedgerReader.job(named:)` asks for.
  fileprivate func job() -> JobRecord {
    JobRecord(
      number: JobNumber(int(0)), name: text(1), identity: identity(from: 4), settings: text(2),
      settingsDigest: digest(3)!,  // NOT NULL, of 32 bytes
      items: count(9),
      lastActive: lastActive(from: 10))
  }

  /// Columns last_run and the last run's started_at.
  fileprivate func lastActive(from column: Int32) -> Timestamp? {
    [optionalTime(column), optionalTime(column + 1)].compactMap(\.self).max()
  }
}
