import CSQLite
import LedgerCore
import Threading

/// The ledger's tables, and how older files become what this program knows.
enum Schema {
  /// "TWLG", so that `file` and we can tell a ledger from other databases.
  static let applicationID: Int64 = 0x5457_4C47

  /// Migration n leads from version n to n + 1. A released one is never edited; another is added.
  static let migrations: [String] = [
    initial, countedObjects, placeholders, cappedVariants, hostStandings, waitingLeases,
    originalWarnings, housekeeping, encoders, publicationKeys, unwantedRecipes, sources,
    entriesInOrder, failureCounts, entryPlaces,
  ]

  static var version: Int { migrations.count }

  /// Keys and digests are BLOBs of 16 and 32 bytes, times are milliseconds since 1970.
  private static let initial = """
    -- One row: what the ledger is, and its running totals.
    CREATE TABLE meta (
      only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
      store_id TEXT NOT NULL CHECK (length(store_id) = 32),
      -- The last fencing token: grows with every claim and is never handed out twice.
      token INTEGER NOT NULL CHECK (token >= 0),
      objects INTEGER NOT NULL CHECK (objects >= 0),
      object_bytes INTEGER NOT NULL CHECK (object_bytes >= 0)
    ) STRICT;

    CREATE TABLE jobs (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      name TEXT NOT NULL UNIQUE CHECK (name <> ''),
      settings TEXT NOT NULL,
      settings_digest BLOB NOT NULL CHECK (length(settings_digest) = 32),
      -- Grows with each reading of the manifest; only the last one to begin may remove items.
      generation INTEGER NOT NULL CHECK (generation >= 1),
      -- Grows when items are made due at once, so that runs under way look again.
      arrivals INTEGER NOT NULL CHECK (arrivals >= 0),
      -- The manifest that was read to its end; NULL from a reading's begin to its end.
      manifest_path TEXT,
      manifest_size INTEGER,
      manifest_modified_ns INTEGER,
      manifest_inode INTEGER,
      manifest_digest BLOB CHECK (length(manifest_digest) = 32),
      last_run INTEGER,
      CHECK ((manifest_path IS NULL) = (manifest_digest IS NULL))
    ) STRICT;

    CREATE TABLE hosts (
      number INTEGER PRIMARY KEY,
      name TEXT NOT NULL UNIQUE
    ) STRICT;

    CREATE TABLE items (
      number INTEGER PRIMARY KEY,
      job INTEGER NOT NULL,
      id TEXT NOT NULL,
      -- pending 0, well 1, failed 2, not stored 3, unusable 4
      state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 4),
      -- 0: due at once, which settlements never write.
      due_at INTEGER NOT NULL CHECK (due_at >= 0),
      -- The last run that settled it; 0 before the first and after a change.
      run INTEGER NOT NULL CHECK (run >= 0),
      -- The fencing token when it was last made due at once: leases up to it do not settle it.
      since INTEGER NOT NULL CHECK (since >= 0),
      host INTEGER,
      entry BLOB CHECK (length(entry) = 16),
      -- With every secret; of an unusable item as it may be shown.
      url TEXT NOT NULL,
      -- Names with commas between; NULL is all.
      variants TEXT,
      meta TEXT,
      failure_code TEXT,
      failure_message TEXT,
      failure_hint TEXT,
      -- give up -1, stop the run -2, retry 0, retry not before a time > 0
      failure_disposition INTEGER,
      CHECK ((state = 4) = (entry IS NULL) AND (state = 4) = (host IS NULL)),
      CHECK ((failure_code IS NULL) = (failure_disposition IS NULL))
    ) STRICT;
    -- Claims: what is due of a job, host by host.
    CREATE INDEX items_due ON items (job, host, due_at) WHERE host IS NOT NULL;
    -- Claims of failed items whatever their cool-down.
    CREATE INDEX items_failed ON items (job, host, due_at) WHERE state = 2;
    -- Those whose URL cannot be used: few, told at the end of each run.
    CREATE INDEX items_unusable ON items (job) WHERE state = 4;
    -- Who names an entry.
    CREATE INDEX items_entry ON items (entry, job) WHERE entry IS NOT NULL;

    -- What a manifest's reading looks up, in the order of ids. The signature tells an unchanged item
    -- without a look at its row.
    CREATE TABLE item_ids (
      job INTEGER NOT NULL,
      id TEXT NOT NULL,
      item INTEGER NOT NULL,
      signature INTEGER NOT NULL,
      PRIMARY KEY (job, id)
    ) STRICT, WITHOUT ROWID;

    -- Kept counters: in each transaction that changes an item, never recounted.
    CREATE TABLE job_counts (
      job INTEGER NOT NULL, state INTEGER NOT NULL, n INTEGER NOT NULL CHECK (n >= 0),
      PRIMARY KEY (job, state)
    ) STRICT, WITHOUT ROWID;
    -- By the minute in which they fall due.
    CREATE TABLE due_counts (
      job INTEGER NOT NULL, state INTEGER NOT NULL, minute INTEGER NOT NULL,
      n INTEGER NOT NULL CHECK (n >= 0),
      PRIMARY KEY (job, state, minute)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE host_counts (
      job INTEGER NOT NULL, host INTEGER NOT NULL, n INTEGER NOT NULL CHECK (n >= 0),
      PRIMARY KEY (job, host)
    ) STRICT, WITHOUT ROWID;
    -- Items by the last run that settled them.
    CREATE TABLE run_counts (
      run INTEGER NOT NULL, state INTEGER NOT NULL, n INTEGER NOT NULL CHECK (n >= 0),
      PRIMARY KEY (run, state)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE entries (
      key BLOB NOT NULL PRIMARY KEY CHECK (length(key) = 16),
      url TEXT NOT NULL,
      status INTEGER,
      -- "name:value" lines
      fields TEXT,
      vary_values TEXT,
      request_time INTEGER,
      response_time INTEGER,
      redirect TEXT,
      original BLOB CHECK (length(original) = 32),
      original_bytes INTEGER,
      original_format TEXT,
      original_width INTEGER,
      original_height INTEGER,
      validated_at INTEGER,
      failure_code TEXT,
      failure_message TEXT,
      failure_hint TEXT,
      failure_disposition INTEGER,
      failure_status INTEGER,
      failure_at INTEGER,
      failure_count INTEGER CHECK (failure_count >= 1),
      failure_next_try INTEGER,
      failure_is_servers_word INTEGER,
      failing_since INTEGER,
      CHECK ((status IS NULL) = (response_time IS NULL)),
      CHECK ((original IS NULL) = (original_bytes IS NULL)),
      CHECK ((failure_code IS NULL) = (failure_count IS NULL))
    ) STRICT, WITHOUT ROWID;
    -- Which entries lead to a URL.
    CREATE INDEX entries_redirect ON entries (redirect) WHERE redirect IS NOT NULL;

    CREATE TABLE leases (
      entry BLOB NOT NULL PRIMARY KEY CHECK (length(entry) = 16),
      token INTEGER NOT NULL CHECK (token >= 1),
      owner TEXT NOT NULL,
      run INTEGER NOT NULL,
      expires INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    -- A variant is what a recipe makes of an original, or why it makes nothing.
    CREATE TABLE variants (
      original BLOB NOT NULL CHECK (length(original) = 32),
      recipe BLOB NOT NULL CHECK (length(recipe) = 16),
      digest BLOB CHECK (length(digest) = 32),
      bytes INTEGER,
      format TEXT,
      width INTEGER,
      height INTEGER,
      failure_code TEXT,
      failure_message TEXT,
      failure_hint TEXT,
      failure_disposition INTEGER,
      PRIMARY KEY (original, recipe),
      CHECK ((digest IS NULL) <> (failure_code IS NULL))
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE objects (
      digest BLOB NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
      bytes INTEGER NOT NULL CHECK (bytes >= 0)
    ) STRICT, WITHOUT ROWID;

    -- Names below public/JOB/: wanted, or (without an object) to be removed.
    CREATE TABLE published (
      job INTEGER NOT NULL,
      path TEXT NOT NULL,
      -- NULL: its item has left the job, the name stays.
      item INTEGER,
      variant TEXT NOT NULL,
      object BLOB CHECK (length(object) = 32),
      -- Since when link or removal is not known to be done; NULL: it stands.
      pending_since INTEGER,
      PRIMARY KEY (job, path),
      CHECK (object IS NOT NULL OR (pending_since IS NOT NULL AND item IS NULL))
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX published_item ON published (item) WHERE item IS NOT NULL;
    CREATE INDEX published_pending ON published (pending_since) WHERE pending_since IS NOT NULL;

    CREATE TABLE runs (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      job INTEGER NOT NULL,
      owner TEXT NOT NULL,
      started_at INTEGER NOT NULL,
      finished_at INTEGER,
      -- "outcome=count" with commas between
      counts TEXT
    ) STRICT;
    CREATE INDEX runs_job ON runs (job);
    """
}

extension Connection {
  /// `checkedVersionNow` outside of a transaction: of one state of the file, though another process
  /// may be making it.
  func checkedVersion() throws(LedgerFailure) -> Int {
    try reading { () throws(LedgerFailure) in try checkedVersionNow() }
  }

  /// Refuses what is no ledger, or a newer one.
  /// - Returns: the schema's version; 0 for an empty file.
  private func checkedVersionNow() throws(LedgerFailure) -> Int {
    let application = try first("PRAGMA application_id") { $0.int(0) } ?? 0
    let tables = try first("SELECT count(*) FROM sqlite_schema") { $0.count(0) } ?? 0
    guard application == Schema.applicationID || tables == 0 else { throw .foreign(path: path) }
    return try supportedVersion()
  }

  /// Refuses a newer schema. That of an open file is one where a newer program has brought it there since:
  /// what that keeps besides, this one would not bring along.
  ///
  /// - Returns: the schema's version; 0 for an empty file.
  @discardableResult
  func supportedVersion() throws(LedgerFailure) -> Int {
    let version = try first("PRAGMA user_version") { $0.count(0) } ?? 0
    guard version <= Schema.version else {
      throw .newer(path: path, version: version, supported: Schema.version)
    }
    return version
  }

  /// Brings the file to the newest schema. Each step is one transaction, which looks at the version
  /// again: another process may have been first.
  func migrate() throws(LedgerFailure) {
    while try checkedVersion() < Schema.version {
      try writing { () throws(LedgerFailure) in
        let version = try checkedVersionNow()
        guard version < Schema.version else { return }
        try execute(Schema.migrations[version])
        if version == 0 {
          try execute("PRAGMA application_id = \(Schema.applicationID)")
          try run(
            """
            INSERT INTO meta (only_row, store_id, token, objects, object_bytes)
            VALUES (1, ?, 0, 0, 0)
            """, .text(randomName()))
        }
        try execute("PRAGMA user_version = \(version + 1)")
        CrashSeam.migrationWritten.reached()
      }
      CrashSeam.migrationCommitted.reached()
    }
  }

  /// 128 random bits as 32 hexadecimal digits.
  private func randomName() -> String {
    (0..<4).map { _ in
      let digits = String(UInt32.random(in: 0 ... .max), radix: 16)
      return String(repeating: "0", count: 8 - digits.utf8.count) + digits
    }.joined()
  }
}
