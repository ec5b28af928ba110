import LedgerCore

/// How one kind of kept counters is counted anew, and how what contradicts that is put right.
///
/// One read of everything that it counts: minutes, for tens of millions of items.
struct Recount {
  let kind: String
  /// Rows, of wrong counters only: the place in words, the kept number, the true one, the key's columns.
  let find: StaticString
  /// Sets one of them, whatever it is kept as: its key's columns, then the true number. It changes a row,
  /// unless what the counter stands in is missing.
  let mend: StaticString
  /// By the key's columns: takes away a counter of nothing, where those are not kept.
  let deleteEmpty: StaticString?
}

extension Recount {
  /// In this order: the row of a host's failures is there or gone before its first try is looked at.
  static let all = [
    Recount(
      kind: "items by job and state",
      find: """
        SELECT job || '/' || state, sum(kept), sum(counted), job, state FROM (
          SELECT job, state, n AS kept, 0 AS counted FROM job_counts
          UNION ALL SELECT job, state, 0, count(*) FROM items GROUP BY job, state)
        GROUP BY job, state HAVING sum(kept) <> sum(counted)
        """,
      mend: "INSERT INTO job_counts VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET n = excluded.n",
      deleteEmpty: nil),
    Recount(
      kind: "items by the minute that they are due in",
      find: """
        SELECT job || '/' || state || '/' || minute, sum(kept), sum(counted), job, state, minute FROM (
          SELECT job, state, minute, n AS kept, 0 AS counted FROM due_by_minute
          UNION ALL SELECT job, state, due_at / 60000, 0, count(*) FROM items
            WHERE host IS NOT NULL GROUP BY job, state, due_at / 60000)
        GROUP BY job, state, minute HAVING sum(kept) <> sum(counted)
        """,
      mend: """
        INSERT INTO due_by_minute VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE SET n = excluded.n
        """,
      deleteEmpty: """
        DELETE FROM due_by_minute WHERE job = ?1 AND state = ?2 AND minute = ?3 AND n = 0
        """),
    Recount(
      kind: "items by host",
      find: """
        SELECT job || '/' || host, sum(kept), sum(counted), job, host FROM (
          SELECT job, host, n AS kept, 0 AS counted FROM host_counts
          UNION ALL SELECT job, host, 0, count(*) FROM items WHERE host IS NOT NULL
            GROUP BY job, host)
        GROUP BY job, host HAVING sum(kept) <> sum(counted)
        """,
      mend: "INSERT INTO host_counts VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET n = excluded.n",
      deleteEmpty: "DELETE FROM host_counts WHERE job = ?1 AND host = ?2 AND n = 0"),
    Recount(
      kind: "items by the run that settled them",
      find: """
        SELECT run || '/' || state, sum(kept), sum(counted), run, state FROM (
          SELECT run, state, n AS kept, 0 AS counted FROM run_counts
          UNION ALL SELECT run, state, 0, count(*) FROM items WHERE run > 0 GROUP BY run, state)
        GROUP BY run, state HAVING sum(kept) <> sum(counted)
        """,
      mend: "INSERT INTO run_counts VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET n = excluded.n",
      deleteEmpty: "DELETE FROM run_counts WHERE run = ?1 AND state = ?2 AND n = 0"),
    Recount(
      kind: "items that no other try is expected to mend, by job",
      find: """
        SELECT job, sum(kept), sum(counted), job FROM (
          SELECT number AS job, dead AS kept, 0 AS counted FROM jobs
          UNION ALL SELECT job, 0, count(*) FROM items NOT INDEXED
            WHERE state = 2 AND (failure_disposition = -1 OR due_at >= 253402300799999)
            GROUP BY job)
        GROUP BY job HAVING sum(kept) <> sum(counted)
        """,
      mend: "UPDATE jobs SET dead = ?2 WHERE number = ?1", deleteEmpty: nil),
    Recount(
      kind: "failed items that another try may mend, by host",
      find: """
        SELECT job || '/' || host, sum(kept), sum(counted), job, host FROM (
          SELECT job, host, n AS kept, 0 AS counted FROM host_failures
          UNION ALL SELECT job, host, 0, count(*) FROM items
            WHERE state = 2 AND failure_disposition >= 0 GROUP BY job, host)
        GROUP BY job, host HAVING sum(kept) <> sum(counted)
        """,
      mend: """
        INSERT INTO host_failures SELECT ?1, ?2, ?3, coalesce(min(due_at), 0) FROM items
          WHERE job = ?1 AND host = ?2 AND state = 2 AND failure_disposition >= 0
        ON CONFLICT DO UPDATE SET n = excluded.n, next_try = excluded.next_try
        """,
      deleteEmpty: "DELETE FROM host_failures WHERE job = ?1 AND host = ?2 AND n = 0"),
    Recount(
      kind: "when a host's first failed item is due",
      find: """
        SELECT job || '/' || host, sum(kept), sum(counted), job, host FROM (
          SELECT job, host, next_try AS kept, 0 AS counted FROM host_failures
          UNION ALL SELECT job, host, 0, min(due_at) FROM items
            WHERE state = 2 AND failure_disposition >= 0 GROUP BY job, host)
        GROUP BY job, host HAVING sum(kept) <> sum(counted)
        """,
      mend: "UPDATE host_failures SET next_try = ?3 WHERE job = ?1 AND host = ?2",
      deleteEmpty: "DELETE FROM host_failures WHERE job = ?1 AND host = ?2 AND n = 0"),
    Recount(
      kind: "objects",
      find: """
        SELECT 'in all', objects, n FROM meta, (SELECT count(*) AS n FROM objects)
        WHERE objects <> n
        """,
      mend: "UPDATE meta SET objects = ?1", deleteEmpty: nil),
    Recount(
      kind: "bytes of objects",
      find: """
        SELECT 'in all', object_bytes, n
        FROM meta, (SELECT coalesce(sum(bytes), 0) AS n FROM objects) WHERE object_bytes <> n
        """,
      mend: "UPDATE meta SET object_bytes = ?1", deleteEmpty: nil),
    Recount(
      kind: "entries whose original an object is",
      find: """
        SELECT hex(digest), sum(kept), sum(counted), digest FROM (
          SELECT digest, entries AS kept, 0 AS counted FROM objects
          UNION ALL SELECT original, 0, count(*) FROM entries WHERE original IS NOT NULL
            GROUP BY original)
        GROUP BY digest HAVING sum(kept) <> sum(counted)
        """,
      mend: "UPDATE objects SET entries = ?2 WHERE digest = ?1", deleteEmpty: nil),
    Recount(
      kind: "variants and names that an object is",
      find: """
        SELECT hex(digest), sum(kept), sum(counted), digest FROM (
          SELECT digest, uses AS kept, 0 AS counted FROM objects
          UNION ALL SELECT digest, 0, count(*) FROM variants WHERE digest IS NOT NULL
            GROUP BY digest
          UNION ALL SELECT object, 0, count(*) FROM published WHERE object IS NOT NULL
            GROUP BY object)
        GROUP BY digest HAVING sum(kept) <> sum(counted)
        """,
      mend: "UPDATE objects SET uses = ?2 WHERE digest = ?1", deleteEmpty: nil),
  ]
}

extension Connection {
  private struct Wrong {
    var counter: WrongCounter
    var key: [SQLValue]
  }

  private func wrong(by recount: Recount) throws(LedgerFailure) -> [Wrong] {
    try all(recount.find) { row in
      Wrong(
        counter: WrongCounter(
          kind: recount.kind, place: row.text(0), kept: row.int(1), counted: row.int(2)),
        key: row.values(from: 3))
    }
  }

  func wrongCounters(by recount: Recount) throws(LedgerFailure) -> [WrongCounter] {
    try wrong(by: recount).map(\.counter)
  }

  /// - Returns: whether all counters of the kind are right.
  func mend(by recount: Recount) throws(LedgerFailure) -> Bool {
    var areRight = true
    for wrong in try wrong(by: recount) {
      let changed = try run(recount.mend, wrong.key + [.int(wrong.counter.counted)])
      if changed == 0 { areRight = false }
      if let deleteEmpty = recount.deleteEmpty { try run(deleteEmpty, wrong.key) }
    }
    return areRight
  }
}

extension LedgerReader {
  func wrongCounters() throws(LedgerFailure) -> [WrongCounter] {
    let connection = try live()
    return try connection.reading { () throws(LedgerFailure) in
      var wrong: [WrongCounter] = []
      for recount in Recount.all { wrong += try connection.wrongCounters(by: recount) }
      return wrong
    }
  }
}

extension LedgerWriter {
  /// Counted under the write lock, so that nothing changes between.
  func mendCounters(of kinds: Set<String>) throws(LedgerFailure) -> Set<String> {
    try alone { transaction throws(LedgerFailure) in
      var mended: Set<String> = []
      for recount in Recount.all where kinds.contains(recount.kind) {
        if try transaction.connection.mend(by: recount) { mended.insert(recount.kind) }
      }
      return mended
    }
  }
}
