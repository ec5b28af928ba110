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

  /// What holds an object is counted at the object, so that its last holder's going is seen at once.
  private static let countedObjects = """
    -- Entries whose original it is.
    ALTER TABLE objects ADD COLUMN entries INTEGER NOT NULL DEFAULT 0 CHECK (entries >= 0);
    -- Variants and published names that are it.
    ALTER TABLE objects ADD COLUMN uses INTEGER NOT NULL DEFAULT 0 CHECK (uses >= 0);
    -- new-bytes, same-bytes, not-modified, redirect, not-stored
    ALTER TABLE entries ADD COLUMN last_answer TEXT;
    -- The first of the 404s that have come in a row.
    ALTER TABLE entries ADD COLUMN missing_since INTEGER;

    -- Objects whose last holder was purged: their files are to go.
    CREATE TABLE removals (
      digest BLOB NOT NULL PRIMARY KEY CHECK (length(digest) = 32)
    ) STRICT, WITHOUT ROWID;

    INSERT INTO objects (digest, bytes, entries)
      SELECT original, max(original_bytes), count(*) FROM entries WHERE original IS NOT NULL
      GROUP BY original
      ON CONFLICT (digest) DO UPDATE SET entries = excluded.entries;
    INSERT INTO objects (digest, bytes, uses)
      SELECT digest, max(bytes), count(*) FROM variants WHERE digest IS NOT NULL GROUP BY digest
      ON CONFLICT (digest) DO UPDATE SET uses = excluded.uses;
    UPDATE objects SET uses = uses + named.n
      FROM (
        SELECT object, count(*) AS n FROM published WHERE object IS NOT NULL GROUP BY object
      ) AS named
      WHERE named.object = digest;
    UPDATE meta SET objects = (SELECT count(*) FROM objects),
      object_bytes = (SELECT coalesce(sum(bytes), 0) FROM objects);

    CREATE TRIGGER entry_holds AFTER INSERT ON entries WHEN NEW.original IS NOT NULL BEGIN
      UPDATE objects SET entries = entries + 1 WHERE digest = NEW.original;
    END;
    CREATE TRIGGER entry_changes AFTER UPDATE OF original ON entries
    WHEN OLD.original IS NOT NEW.original BEGIN
      UPDATE objects SET entries = entries - 1 WHERE digest = OLD.original;
      UPDATE objects SET entries = entries + 1 WHERE digest = NEW.original;
    END;
    CREATE TRIGGER entry_goes AFTER DELETE ON entries WHEN OLD.original IS NOT NULL BEGIN
      UPDATE objects SET entries = entries - 1 WHERE digest = OLD.original;
    END;
    CREATE TRIGGER variant_holds AFTER INSERT ON variants WHEN NEW.digest IS NOT NULL BEGIN
      UPDATE objects SET uses = uses + 1 WHERE digest = NEW.digest;
    END;
    CREATE TRIGGER variant_changes AFTER UPDATE OF digest ON variants
    WHEN OLD.digest IS NOT NEW.digest BEGIN
      UPDATE objects SET uses = uses - 1 WHERE digest = OLD.digest;
      UPDATE objects SET uses = uses + 1 WHERE digest = NEW.digest;
    END;
    CREATE TRIGGER variant_goes AFTER DELETE ON variants WHEN OLD.digest IS NOT NULL BEGIN
      UPDATE objects SET uses = uses - 1 WHERE digest = OLD.digest;
    END;
    CREATE TRIGGER name_holds AFTER INSERT ON published WHEN NEW.object IS NOT NULL BEGIN
      UPDATE objects SET uses = uses + 1 WHERE digest = NEW.object;
    END;
    CREATE TRIGGER name_changes AFTER UPDATE OF object ON published
    WHEN OLD.object IS NOT NEW.object BEGIN
      UPDATE objects SET uses = uses - 1 WHERE digest = OLD.object;
      UPDATE objects SET uses = uses + 1 WHERE digest = NEW.object;
    END;
    CREATE TRIGGER name_goes AFTER DELETE ON published WHEN OLD.object IS NOT NULL BEGIN
      UPDATE objects SET uses = uses - 1 WHERE digest = OLD.object;
    END;
    """

  private static let placeholders = """
    -- "#rrggbb"; NULL until the original was decoded
    ALTER TABLE entries ADD COLUMN original_color TEXT;
    ALTER TABLE entries ADD COLUMN original_thumbhash BLOB
      CHECK ((original_thumbhash IS NULL) = (original_color IS NULL));
    """

  private static let housekeeping = """
    -- No run claims of a paused job.
    ALTER TABLE jobs ADD COLUMN paused INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1));
    -- Runs up to this number claim nothing more.
    ALTER TABLE jobs ADD COLUMN cancelled_through INTEGER NOT NULL DEFAULT 0;

    -- Entries that no item needs, as far as somebody has looked, and since when.
    CREATE TABLE unneeded (
      entry BLOB NOT NULL PRIMARY KEY CHECK (length(entry) = 16),
      since INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    -- How far a look at everything has come that is made in parts.
    CREATE TABLE progress (
      name TEXT NOT NULL PRIMARY KEY,
      place TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    """

  private static let cappedVariants = """
    -- Whether its original had fewer pixels than `cover` was to make.
    ALTER TABLE variants ADD COLUMN capped INTEGER NOT NULL DEFAULT 0 CHECK (capped IN (0, 1));
    """

  private static let hostStandings = """
    -- What was learnt of hosts in trouble; one that is well again stays for a moment, so that others
    -- hear of it.
    CREATE TABLE host_standings (
      -- Grows with each change, so that others read only what is new.
      revision INTEGER PRIMARY KEY AUTOINCREMENT,
      host TEXT NOT NULL UNIQUE,
      -- When an exchange last told of its limit or its failures.
      changed_at INTEGER NOT NULL,
      -- Transfers at a time; NULL: as many as the job allows.
      parallel INTEGER CHECK (parallel >= 1),
      held_until INTEGER,
      -- In a row, to reach it.
      failures INTEGER NOT NULL CHECK (failures >= 0),
      reason TEXT NOT NULL,
      broken_until INTEGER,
      -- The run that tries whether it is back, and until when that is its alone.
      prober INTEGER,
      probing_until INTEGER
    ) STRICT;
    """

  private static let waitingLeases = """
    -- The redirect's target that the lease's claim waits for, since another has it.
    ALTER TABLE leases ADD COLUMN waits_for BLOB CHECK (length(waits_for) = 16);
    """

  private static let originalWarnings = """
    -- What the original's decoder remarked, a line each; NULL: nothing.
    ALTER TABLE entries ADD COLUMN original_warnings TEXT;
    """

  private static let publicationKeys = """
    -- What its names were made from; NULL where one of them has changed since.
    ALTER TABLE items ADD COLUMN published INTEGER;

    CREATE TRIGGER name_changes_item AFTER UPDATE OF item, object ON published
    WHEN OLD.item IS NOT NULL AND (OLD.item IS NOT NEW.item OR OLD.object IS NOT NEW.object) BEGIN
      UPDATE items SET published = NULL WHERE number = OLD.item AND published IS NOT NULL;
    END;
    CREATE TRIGGER name_leaves_item AFTER DELETE ON published WHEN OLD.item IS NOT NULL BEGIN
      UPDATE items SET published = NULL WHERE number = OLD.item AND published IS NOT NULL;
    END;
    """

  private static let unwantedRecipes = """
    -- Recipes that no job asks for, as far as somebody has looked, and since when.
    CREATE TABLE unwanted_recipes (
      recipe BLOB NOT NULL PRIMARY KEY CHECK (length(recipe) = 16),
      since INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    """

  private static let encoders = """
    -- By which encoders variants are made: "format=versions" with commas between.
    ALTER TABLE meta ADD COLUMN encoders TEXT NOT NULL DEFAULT '';
    """

  private static let sources = """
    -- The sources of the manifest that was read to its end, in the order of their reading.
    CREATE TABLE sources (
      job INTEGER NOT NULL,
      place INTEGER NOT NULL,
      -- An absolute path, or a URL with every secret.
      address TEXT NOT NULL,
      -- Of a file; 0 of what came over the network.
      size INTEGER NOT NULL,
      modified_ns INTEGER NOT NULL,
      inode INTEGER NOT NULL,
      digest BLOB NOT NULL CHECK (length(digest) = 32),
      PRIMARY KEY (job, place)
    ) STRICT, WITHOUT ROWID;
    """
}

extension Connection {
  /// What the file says of itself, without changing it.
  private func header() throws(LedgerFailure) -> (application: Int64, version: Int, tables: Int) {
    let application = try first("PRAGMA application_id") { $0.int(0) } ?? 0
    let version = try first("PRAGMA user_version") { $0.count(0) } ?? 0
    let tables = try first("SELECT count(*) FROM sqlite_schema") { $0.count(0) } ?? 0
    return (application, version, tables)
  }

  /// `checkedVersionNow` outside of a transaction: of one state of the file, though another process
  /// may be making it.
  func checkedVersion() throws(LedgerFailure) -> Int {
    try reading { () throws(LedgerFailure) in try checkedVersionNow() }
  }

  /// Refuses what is no ledger, or a newer one.
  /// - Returns: the schema's version; 0 for an empty file.
  private func checkedVersionNow() throws(LedgerFailure) -> Int {
    let header = try header()
    guard header.application == Schema.applicationID || header.tables == 0 else {
      throw .foreign(path: path)
    }
    guard header.version <= Schema.version else {
      throw .newer(path: path, version: header.version, supported: Schema.version)
    }
    return header.version
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
