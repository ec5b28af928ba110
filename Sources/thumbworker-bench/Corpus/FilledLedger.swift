import Glibc

/// Makes every item of a ledger as if it had been fetched: an original, four variants and four names each,
/// fresh for a month. By SQL, since a run would take days.
struct FilledLedger {
  let path: String

  func fill(scriptsIn folder: String) throws {
    let parts = try schemaParts()
    let script = "\(folder)/fill.sql"
    let text =
      Self.pragmas + parts.map(\.dropping).joined() + Self.rows + Self.counters
      + parts.map(\.making).joined()
    try write(Array(text.utf8), to: script)
    _ = try sqlite(".read \(script)")
  }

  private func sqlite(_ command: String) throws -> String {
    let program = "/usr/bin/sqlite3"
    guard access(program, X_OK) == 0 else {
      throw BenchFailure(message: "sqlite3 is not installed")
    }
    return try ChildProcess.run([program, "-batch", "-bail", path, command]).output
  }

  /// An index or a trigger, which would cost more kept up to date than made anew.
  private struct SchemaPart {
    var dropping: String
    var making: String
  }

  private func schemaParts() throws -> [SchemaPart] {
    let listed = try sqlite(
      """
      SELECT 'DROP ' || type || ' ' || name || ';' || char(10) || char(2) || sql || ';' || char(10) || char(3)
      FROM sqlite_schema WHERE type IN ('index', 'trigger') AND sql IS NOT NULL
        AND name <> 'items_entry' ORDER BY type
      """)
    return listed.split(separator: "\u{3}").compactMap { part in
      let halves = part.split(separator: "\u{2}")
      guard halves.count == 2 else { return nil }
      return SchemaPart(dropping: String(halves[0]), making: String(halves[1]))
    }
  }

  private static let pragmas = """
    PRAGMA journal_mode = DELETE;
    PRAGMA journal_mode = OFF;
    PRAGMA synchronous = OFF;
    PRAGMA cache_size = -1000000;
    CREATE TEMP TABLE now AS SELECT strftime('%s', 'now') * 1000 AS t;
    CREATE TEMP TABLE sizes AS SELECT 0 AS n, x'00000000000000000000000000000001' AS recipe
      UNION ALL SELECT 1, x'00000000000000000000000000000002'
      UNION ALL SELECT 2, x'00000000000000000000000000000003'
      UNION ALL SELECT 3, x'00000000000000000000000000000004';

    """

  private static let rows = """
    INSERT INTO entries (key, url, status, fields, vary_values, request_time, response_time, original,
      original_bytes, original_format, original_width, original_height, validated_at, last_answer,
      original_color, original_thumbhash)
      SELECT entry, url, 200,
        'Date:Mon, 30 Nov 2026 00:00:00 GMT' || char(10) || 'Content-Type:image/jpeg' || char(10)
          || 'ETag:"5f3c-' || number || '"' || char(10) || 'Cache-Control:max-age=2592000',
        '', t, t, sha3('o' || number, 256), 90000, 'jpeg', 1200, 900, t, 'new-bytes', '#a0b0c0',
        randomblob(21)
      FROM items CROSS JOIN now WHERE entry IS NOT NULL ORDER BY items.number;
    INSERT INTO variants (original, recipe, digest, bytes, format, width, height)
      SELECT original, recipe, sha3('v' || n || number, 256), 9000, 'jpeg', 320, 240
      FROM (SELECT sha3('o' || number, 256) AS original, number FROM items ORDER BY original)
        CROSS JOIN sizes ORDER BY original, recipe;
    INSERT INTO objects (digest, bytes, entries, uses)
      SELECT original AS digest, 90000, 1, 0 FROM entries
      UNION ALL SELECT digest, 9000, 0, 2 FROM variants ORDER BY 1;
    INSERT INTO published (job, path, item, variant, object)
      SELECT job, 'w' || n || '/' || id || '.jpg', item, 'w' || n,
        sha3('v' || n || item, 256)
      FROM sizes CROSS JOIN item_ids ORDER BY job, 2;
    UPDATE items SET state = 1, run = 1, published = number,
      entry_place = (SELECT rowid FROM entries WHERE key = items.entry),
      due_at = (SELECT t FROM now) + 2592000000 + number % 86400000;

    """

  private static let counters = """
    INSERT INTO runs (job, owner, started_at, finished_at) SELECT number, 'bench', t, t FROM jobs, now;
    UPDATE jobs SET last_run = (SELECT t FROM now);
    DELETE FROM job_counts;
    INSERT INTO job_counts SELECT job, state, count(*) FROM items GROUP BY 1, 2;
    DELETE FROM due_by_minute;
    INSERT INTO due_by_minute SELECT job, state, due_at / 60000, count(*) FROM items GROUP BY 1, 2, 3;
    INSERT INTO run_counts SELECT run, state, count(*) FROM items GROUP BY 1, 2;
    UPDATE meta SET objects = (SELECT count(*) FROM objects),
      object_bytes = (SELECT sum(bytes) FROM objects);

    """
}
