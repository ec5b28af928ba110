import LedgerCore

// Kept counters against what they count. One read of everything: minutes, for tens of millions of items.

extension LedgerReader {
  private struct Recount {
    var what: String
    /// Rows: the place, the kept number, the true one.
    var query: StaticString
  }

  private static let recounts = [
    Recount(
      what: "items by job and state",
      query: """
        SELECT key, sum(kept), sum(counted) FROM (
          SELECT job || '/' || state AS key, n AS kept, 0 AS counted FROM job_counts
          UNION ALL SELECT job || '/' || state, 0, count(*) FROM items GROUP BY job, state)
        GROUP BY key HAVING sum(kept) <> sum(counted)
        """),
    Recount(
      what: "items by the minute that they are due in",
      query: """
        SELECT key, sum(kept), sum(counted) FROM (
          SELECT job || '/' || state || '/' || minute AS key, n AS kept, 0 AS counted FROM due_by_minute
          UNION ALL SELECT job || '/' || state || '/' || (due_at / 60000), 0, count(*) FROM items
            WHERE host IS NOT NULL GROUP BY job, state, due_at / 60000)
        GROUP BY key HAVING sum(kept) <> sum(counted)
        """),
    Recount(
      what: "items by host",
      query: """
        SELECT key, sum(kept), sum(counted) FROM (
          SELECT job || '/' || host AS key, n AS kept, 0 AS counted FROM host_counts
          UNION ALL SELECT job || '/' || host, 0, count(*) FROM items WHERE host IS NOT NULL
            GROUP BY job, host)
        GROUP BY key HAVING sum(kept) <> sum(counted)
        """),
    Recount(
      what: "items that no other try is expected to mend, by job",
      query: """
        SELECT key, sum(kept), sum(counted) FROM (
          SELECT number AS key, dead AS kept, 0 AS counted FROM jobs
          UNION ALL SELECT job, 0, count(*) FROM items NOT INDEXED
            WHERE state = 2 AND (failure_disposition = -1 OR due_at >= 253402300799999)
            GROUP BY job)
        GROUP BY key HAVING sum(kept) <> sum(counted)
        """),
    Recount(
      what: "failed items that another try may mend, by host",
      query: """
        SELECT key, sum(kept), sum(counted) FROM (
          SELECT job || '/' || host AS key, n AS kept, 0 AS counted FROM host_failures
          UNION ALL SELECT job || '/' || host, 0, count(*) FROM items
            WHERE state = 2 AND failure_disposition >= 0 GROUP BY job, host)
        GROUP BY key HAVING sum(kept) <> sum(counted)
        """),
    Recount(
      what: "when a host's first failed item is due",
      query: """
        SELECT key, sum(kept), sum(counted) FROM (
          SELECT job || '/' || host AS key, next_try AS kept, 0 AS counted FROM host_failures
          UNION ALL SELECT job || '/' || host, 0, min(due_at) FROM items
            WHERE state = 2 AND failure_disposition >= 0 GROUP BY job, host)
        GROUP BY key HAVING sum(kept) <> sum(counted)
        """),
    Recount(
      what: "objects in all",
      query: """
        SELECT 'count', objects, n FROM meta, (SELECT count(*) AS n FROM objects)
          WHERE objects <> n
        UNION ALL SELECT 'bytes', object_bytes, n
          FROM meta, (SELECT coalesce(sum(bytes), 0) AS n FROM objects) WHERE object_bytes <> n
        """),
    Recount(
      what: "entries whose original an object is",
      query: """
        SELECT hex(digest), sum(kept), sum(counted) FROM (
          SELECT digest, entries AS kept, 0 AS counted FROM objects
          UNION ALL SELECT original, 0, count(*) FROM entries WHERE original IS NOT NULL
            GROUP BY original)
        GROUP BY digest HAVING sum(kept) <> sum(counted)
        """),
    Recount(
      what: "variants and names that an object is",
      query: """
        SELECT hex(digest), sum(kept), sum(counted) FROM (
          SELECT digest, uses AS kept, 0 AS counted FROM objects
          UNION ALL SELECT digest, 0, count(*) FROM variants WHERE digest IS NOT NULL
            GROUP BY digest
          UNION ALL SELECT object, 0, count(*) FROM published WHERE object IS NOT NULL
            GROUP BY object)
        GROUP BY digest HAVING sum(kept) <> sum(counted)
        """),
  ]

  func wrongCounters() throws(LedgerFailure) -> [String] {
    let connection = try live()
    return try connection.reading { () throws(LedgerFailure) in
      var wrong: [String] = []
      for recount in Self.recounts {
        wrong += try connection.all(recount.query) {
          "\(recount.what), \($0.text(0)): kept as \($0.int(1)), counted \($0.int(2))"
        }
      }
      return wrong
    }
  }
}
