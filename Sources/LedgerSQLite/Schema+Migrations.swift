// What the schema's later versions add. Each text stands for itself: a released one is never edited.

extension Schema {
  /// What holds an object is counted at the object, so that its last holder's going is seen at once.
  static let countedObjects = """
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

  static let placeholders = """
    -- "#rrggbb"; NULL until the original was decoded
    ALTER TABLE entries ADD COLUMN original_color TEXT;
    ALTER TABLE entries ADD COLUMN original_thumbhash BLOB
      CHECK ((original_thumbhash IS NULL) = (original_color IS NULL));
    """

  static let housekeeping = """
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

  static let cappedVariants = """
    -- Whether its original had fewer pixels than `cover` was to make.
    ALTER TABLE variants ADD COLUMN capped INTEGER NOT NULL DEFAULT 0 CHECK (capped IN (0, 1));
    """

  static let hostStandings = """
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

  static let waitingLeases = """
    -- The redirect's target that the lease's claim waits for, since another has it.
    ALTER TABLE leases ADD COLUMN waits_for BLOB CHECK (length(waits_for) = 16);
    """

  static let originalWarnings = """
    -- What the original's decoder remarked, a line each; NULL: nothing.
    ALTER TABLE entries ADD COLUMN original_warnings TEXT;
    """

  static let publicationKeys = """
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

  static let unwantedRecipes = """
    -- Recipes that no job asks for, as far as somebody has looked, and since when.
    CREATE TABLE unwanted_recipes (
      recipe BLOB NOT NULL PRIMARY KEY CHECK (length(recipe) = 16),
      since INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    """

  static let encoders = """
    -- By which encoders variants are made: "format=versions" with commas between.
    ALTER TABLE meta ADD COLUMN encoders TEXT NOT NULL DEFAULT '';
    """

  static let sources = """
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

  /// Entries lie in the order in which they came, which is nearly that in which they fall due: so those that
  /// are settled together share pages, where those of like keys have nothing to do with each other.
  static let entriesInOrder = """
    CREATE TABLE entries_in_order (
      key BLOB NOT NULL UNIQUE CHECK (length(key) = 16),
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
      -- new-bytes, same-bytes, not-modified, redirect, not-stored
      last_answer TEXT,
      -- The first of the 404s that have come in a row.
      missing_since INTEGER,
      -- "#rrggbb"; NULL until the original was decoded
      original_color TEXT,
      original_thumbhash BLOB,
      -- What the original's decoder remarked, a line each; NULL: nothing.
      original_warnings TEXT,
      CHECK ((status IS NULL) = (response_time IS NULL)),
      CHECK ((original IS NULL) = (original_bytes IS NULL)),
      CHECK ((failure_code IS NULL) = (failure_count IS NULL)),
      CHECK ((original_thumbhash IS NULL) = (original_color IS NULL))
    ) STRICT;
    -- The order of the items that name them, then those that only redirects lead to.
    INSERT OR IGNORE INTO entries_in_order
      SELECT entries.* FROM items CROSS JOIN entries ON entries.key = items.entry
      ORDER BY items.number;
    INSERT OR IGNORE INTO entries_in_order SELECT * FROM entries;
    DROP TABLE entries;
    ALTER TABLE entries_in_order RENAME TO entries;
    CREATE INDEX entries_redirect ON entries (redirect) WHERE redirect IS NOT NULL;

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
    """

  static let failureCounts = """
    -- A worker of an older program that runs on would bring the counters below along no more. Each of its
    -- changes to items comes by this table: under another name it fails, and is taken back.
    ALTER TABLE due_counts RENAME TO due_by_minute;

    -- Failed items that no other try is expected to mend, or that are never due again.
    ALTER TABLE jobs ADD COLUMN dead INTEGER NOT NULL DEFAULT 0 CHECK (dead >= 0);
    UPDATE jobs SET dead = counted.n
      FROM (
        SELECT job, count(*) AS n FROM items NOT INDEXED
        WHERE state = 2 AND (failure_disposition = -1 OR due_at >= 253402300799999)
        GROUP BY job
      ) AS counted
      WHERE counted.job = number;

    -- Failed items that another try may mend, in the order of the tries.
    CREATE INDEX items_mendable ON items (job, host, due_at)
      WHERE state = 2 AND failure_disposition >= 0;
    -- How many of them a host has, and when the first of them is due.
    CREATE TABLE host_failures (
      job INTEGER NOT NULL, host INTEGER NOT NULL, n INTEGER NOT NULL CHECK (n >= 0),
      next_try INTEGER NOT NULL CHECK (next_try >= 0),
      PRIMARY KEY (job, host)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO host_failures
      SELECT job, host, count(*), min(due_at) FROM items INDEXED BY items_mendable
      WHERE state = 2 AND failure_disposition >= 0 GROUP BY job, host;
    -- The hosts with most of them that are left alone for now.
    CREATE INDEX host_failures_most ON host_failures (job, n, next_try);
    """

  /// What is due lies together, and so do its entries; but the indexes by their keys have a page of their own
  /// for each of them, once they are larger than memory. Claims do without.
  static let entryPlaces = """
    -- The row that its entry has, where it still has it: the entry's key tells. NULL: found by the key.
    ALTER TABLE items ADD COLUMN entry_place INTEGER;
    -- Whether another item of its job has named the same entry, since it was first read.
    ALTER TABLE items ADD COLUMN has_twin INTEGER NOT NULL DEFAULT 0 CHECK (has_twin IN (0, 1));
    UPDATE items SET has_twin = 1 WHERE (entry, job) IN (
      SELECT entry, job FROM items WHERE entry IS NOT NULL GROUP BY entry, job HAVING count(*) > 1);
    """
}
