import LedgerCore
import Vocabulary

extension LedgerReader {
  func jobs() throws(LedgerFailure) -> [JobOverview] {
    try live().all(
      """
      SELECT number, name, (SELECT coalesce(sum(n), 0) FROM job_counts WHERE job = number), paused,
        last_run, settings
      FROM jobs ORDER BY name
      """
    ) { row in
      JobOverview(
        number: JobNumber(row.int(0)), name: row.text(1), items: row.count(2),
        isPaused: row.int(3) == 1, lastRun: row.optionalTime(4), settings: row.text(5))
    }
  }

  static let objectsQuery: StaticString = """
    SELECT digest, bytes, entries + uses > 0 FROM objects
    WHERE digest > ? ORDER BY digest LIMIT ?
    """

  func objects(after digest: Digest?, limit: Int) throws(LedgerFailure) -> [ObjectOverview] {
    try live().all(Self.objectsQuery, .digest(after: digest), .int(limit)) {
      ObjectOverview(digest: $0.digest(0)!, bytes: $0.count(1), isUsed: $0.int(2) == 1)  // NOT NULL
    }
  }

  static let variantKeysQuery: StaticString = """
    SELECT original, recipe,
      EXISTS (SELECT 1 FROM objects WHERE objects.digest = original AND entries > 0) FROM variants
    WHERE (original, recipe) > (?, ?) ORDER BY original, recipe LIMIT ?
    """

  func variants(
    after variant: VariantKey?, limit: Int
  ) throws(LedgerFailure) -> [(variant: VariantKey, hasEntry: Bool)] {
    try live().all(
      Self.variantKeysQuery, .digest(after: variant?.original), .key(after: variant?.recipe.key),
      .int(limit)
    ) {
      // NOT NULL, both
      (VariantKey(original: $0.digest(0)!, recipe: $0.recipe(1)!), $0.int(2) == 1)
    }
  }

  func unwantedRecipes() throws(LedgerFailure) -> [RecipeKey: Timestamp] {
    let rows = try live().all("SELECT recipe, since FROM unwanted_recipes") {
      (recipe: $0.recipe(0)!, since: $0.time(1))  // NOT NULL, of 16 bytes
    }
    return Dictionary(rows.map { ($0.recipe, $0.since) }) { first, _ in first }
  }

  func objectTotals() throws(LedgerFailure) -> (count: Int, bytes: Int) {
    try live().objectTotals()
  }

  static let namesQuery: StaticString = """
    SELECT job, name, path, object FROM published JOIN jobs ON number = job
    WHERE job = ? AND path > ? AND pending_since IS NULL ORDER BY path LIMIT ?
    """

  func names(
    of job: JobNumber, after path: String, limit: Int
  ) throws(LedgerFailure) -> [LinkTask] {
    try live().all(Self.namesQuery, .int(job.value), .text(path), .int(limit)) { row in
      LinkTask(
        job: JobNumber(row.int(0)), jobName: row.text(1), path: row.text(2), object: row.digest(3))
    }
  }

  func paths(
    _ paths: [String], notPublishedBy job: JobNumber
  ) throws(LedgerFailure) -> [String] {
    let connection = try live()
    var strange: [String] = []
    for path in paths {
      let isKnown = try connection.first(
        "SELECT 1 FROM published WHERE job = ? AND path = ?", .int(job.value), .text(path)
      ) { _ in true }
      if isKnown == nil { strange.append(path) }
    }
    return strange
  }

  func place(of look: String) throws(LedgerFailure) -> String? {
    try live().first("SELECT place FROM progress WHERE name = ?", .text(look)) { $0.text(0) }
  }
}

extension LedgerReader {
  func backup(to file: String) throws(LedgerFailure) { try live().backup(to: file) }
}

// MARK: Entries and who needs them

extension LedgerReader {
  static let overviewQuery: StaticString = """
    SELECT key, url, coalesce(original_bytes, 0), original,
      max(coalesce(validated_at, 0), coalesce(failure_at, 0)),
      (SELECT since FROM unneeded WHERE entry = key)
    FROM entries WHERE key > ? ORDER BY key LIMIT ?
    """

  /// In one state of the ledger, a page of some hundreds: short enough for the WAL.
  func entries(after key: EntryKey?, limit: Int) throws(LedgerFailure) -> [EntryOverview] {
    let connection = try live()
    return try connection.reading { () throws(LedgerFailure) in
      let page = try connection.all(Self.overviewQuery, .key(after: key), .int(limit)) { row in
        (overview: Self.overview(row), original: row.digest(3))
      }
      var entries: [EntryOverview] = []
      for (overview, original) in page {
        guard var entry = overview else { continue }
        if let original { try addFiles(of: original, to: &entry) }
        try addNeed(to: &entry)
        entries.append(entry)
      }
      return entries
    }
  }

  /// Nil for what a damaged row holds.
  private static func overview(_ row: Row) -> EntryOverview? {
    guard let key = row.key(0), let url = try? ItemURL(row.text(1)) else { return nil }
    let lastSeen = row.int(4)
    return EntryOverview(
      key: key, url: url, bytes: row.count(2), files: 0, jobs: [],
      unneededSince: row.optionalTime(5),
      lastSeen: lastSeen > 0 ? Timestamp(milliseconds: lastSeen) : nil, dueAt: nil)
  }

  private func addFiles(
    of original: Digest, to entry: inout EntryOverview
  ) throws(LedgerFailure) {
    let variants = try live().first(
      """
      SELECT count(*), coalesce(sum(bytes), 0) FROM variants
      WHERE original = ? AND digest IS NOT NULL
      """, .digest(original)
    ) { (count: $0.count(0), bytes: $0.count(1)) }
    entry.files = 1 + (variants?.count ?? 0)
    entry.bytes += variants?.bytes ?? 0
  }

  /// Items may name it, or redirects that lead to it.
  private func addNeed(to entry: inout EntryOverview) throws(LedgerFailure) {
    let connection = try live()
    var open = [(entry.key, entry.url.unredactedText)]
    var seen: Set<EntryKey> = [entry.key]
    while let (key, url) = open.popLast() {
      let items = try connection.all(
        "SELECT job, min(due_at) FROM items WHERE entry = ? GROUP BY job", .key(key)
      ) { (job: JobNumber($0.int(0)), dueAt: $0.time(1)) }
      for item in items {
        entry.jobs.insert(item.job)
        entry.dueAt = min(entry.dueAt ?? item.dueAt, item.dueAt)
      }
      let sources = try connection.all(
        "SELECT key, url FROM entries WHERE redirect = ?", .text(url)
      ) { ($0.key(0), $0.text(1)) }
      for case (let source?, let url) in sources where seen.insert(source).inserted {
        open.append((source, url))
      }
    }
  }
}
