import LedgerCore
import Vocabulary

// Status from kept counters: what is due comes from the counts per minute; only the minute that is
// passing is looked at item by item, through the index of what is due, which is one search for each host.

extension LedgerReader {
  func status(at now: Timestamp) throws(LedgerFailure) -> LedgerStatus {
    let connection = try live()
    return try connection.reading { () throws(LedgerFailure) in
      try StatusReading(connection: connection, now: now).status()
    }
  }
}

extension Connection {
  func objectTotals() throws(LedgerFailure) -> (count: Int, bytes: Int) {
    try first("SELECT objects, object_bytes FROM meta") { ($0.count(0), $0.count(1)) } ?? (0, 0)
  }
}

struct StatusReading {
  let connection: Connection
  let now: Timestamp
  /// Where a minute has more items than this, or their job more hosts, they count as due when the minute
  /// is over.
  var mostLookedAt = 20_000

  private struct Job {
    var number: Int64
    var name: String
    var lastRun: Timestamp?
    var dead: Int
  }

  func status() throws(LedgerFailure) -> LedgerStatus {
    let jobs = try connection.all("SELECT number, name, last_run, dead FROM jobs ORDER BY name") {
      Job(
        number: $0.int(0), name: $0.text(1), lastRun: $0.optionalTime(2), dead: $0.count(3))
    }
    let totals = try connection.objectTotals()
    var status = LedgerStatus(
      jobs: [], objectCount: totals.count, objectBytes: totals.bytes, queuePending: 0,
      queueLeased: try leased(), queueDead: 0, nextExpiry: nil)
    for job in jobs {
      let due = try dueCounts(job.number)
      status.jobs.append(try row(of: job, due))
      status.queuePending += due.values.reduce(0, +)
      status.queueDead += job.dead
      status.hosts += try hostsInTrouble(job.number)
      if let expiry = try nextExpiry(job.number) {
        status.nextExpiry = min(status.nextExpiry ?? expiry, expiry)
      }
    }
    // Of a minute with very many items the leased ones are counted before their minute is over.
    status.queuePending = max(0, status.queuePending - (try leasedAndDue()))
    status.queueExpired = try expired()
    status.hosts = Self.worst(of: try withStandings(status.hosts))
    return status
  }

  private static func worst(of hosts: [LedgerStatus.Host]) -> [LedgerStatus.Host] {
    let ranked = hosts.sorted { ($1.failures, $0.host) < ($0.failures, $1.host) }
    return Array(ranked.prefix(hostsShown))
  }

  static let hostsLeftAloneQuery: StaticString = """
    SELECT * FROM host_standings
    WHERE held_until > ?1 OR broken_until IS NOT NULL ORDER BY revision DESC LIMIT ?2
    """

  /// A host that several jobs name stands once. Those that are left alone join them.
  private func withStandings(
    _ failing: [LedgerStatus.Host]
  ) throws(LedgerFailure) -> [LedgerStatus.Host] {
    var hosts = Dictionary(failing.map { ($0.host, $0) }) { a, b in
      .init(
        host: a.host, coolingUntil: min(a.coolingUntil, b.coolingUntil),
        failures: a.failures + b.failures)
    }
    let leftAlone = try connection.all(
      Self.hostsLeftAloneQuery, .time(now), .int(Self.hostsShown)
    ) { (host: $0.text(1), standing: $0.standing()) }
    for (host, _) in leftAlone where hosts[host] == nil {
      hosts[host] = .init(host: host, coolingUntil: .distantPast, failures: 0)
    }
    for host in hosts.keys { try add(standing: host, to: &hosts[host]!) }
    return Array(hosts.values)
  }

  private func add(standing name: String, to host: inout LedgerStatus.Host) throws(LedgerFailure) {
    let standing = try connection.first(
      "SELECT * FROM host_standings WHERE host = ?", .text(name)
    ) { $0.standing() }
    guard let standing else { return }
    host.standing = standing
    for case let pause? in [standing.heldUntil, standing.brokenUntil] {
      host.coolingUntil = max(host.coolingUntil, pause)
    }
  }

  static let fewerFailuresQuery: StaticString = """
    SELECT n FROM host_failures WHERE job = ? AND n < ? ORDER BY n DESC LIMIT 1
    """
  static let hostsFailingQuery: StaticString = """
    SELECT name, next_try FROM host_failures CROSS JOIN hosts ON number = host
    WHERE job = ? AND n = ? AND next_try > ? ORDER BY next_try LIMIT ?
    """

  /// Those of a job of which items failed and none is to be tried yet, with most failures first. What
  /// another try does not mend, such as bytes that are no picture, is no trouble of the host's.
  ///
  /// Each number of failures that some host has is looked up by itself, so that hosts with more of which
  /// some is to be tried need not be passed over one by one: of ten million failures there are 4,471
  /// different numbers at most, since these alone add up to more.
  private func hostsInTrouble(_ job: Int64) throws(LedgerFailure) -> [LedgerStatus.Host] {
    var hosts: [LedgerStatus.Host] = []
    var failures = Int.max
    while hosts.count < Self.hostsShown,
      let fewer = try connection.first(
        Self.fewerFailuresQuery, .int(job), .int(failures), read: { $0.count(0) })
    {
      failures = fewer
      hosts += try connection.all(
        Self.hostsFailingQuery, .int(job), .int(failures), .time(now),
        .int(Self.hostsShown - hosts.count)
      ) { .init(host: $0.text(0), coolingUntil: $0.time(1), failures: failures) }
    }
    return hosts
  }

  private static let hostsShown = 20

  private func row(
    of job: Job, _ due: [ItemState: Int]
  ) throws(LedgerFailure) -> LedgerStatus.Job {
    let counts = try connection.all(
      "SELECT state, n FROM job_counts WHERE job = ?", .int(job.number)
    ) { ($0.count(0), $0.count(1)) }
    func count(_ state: ItemState) -> Int { counts.first { $0.0 == state.rawValue }?.1 ?? 0 }
    let stale = due[.well] ?? 0
    var row = LedgerStatus.Job(
      name: job.name, items: counts.reduce(0) { $0 + $1.1 }, fresh: count(.well) - stale,
      stale: stale, failed: count(.failed) + count(.unusable), pending: count(.pending),
      notStored: count(.notStored), lastRun: job.lastRun)
    row.dead = job.dead
    return row
  }
}

// MARK: What is due

extension StatusReading {
  private var thisMinute: Int64 { now.milliseconds / Tally.millisecondsPerMinute }

  static let dueCountsQuery: StaticString = """
    SELECT state, sum(n) FROM due_by_minute WHERE job = ? AND minute < ? GROUP BY state
    """
  static let minuteCountsQuery: StaticString = """
    SELECT state, sum(n) FROM due_by_minute WHERE job = ? AND minute = ? GROUP BY state
    """
  static let dueInMinuteQuery: StaticString = """
    SELECT items.state, count(*) FROM host_counts CROSS JOIN items
      ON items.job = host_counts.job AND items.host = host_counts.host
    WHERE host_counts.job = ? AND items.due_at BETWEEN ? AND ? GROUP BY items.state
    """

  /// Whether a minute is looked at item by item.
  private func isLookedAt(_ minute: Int64, of job: Int64) throws(LedgerFailure) -> Bool {
    let items = try connection.all(Self.minuteCountsQuery, .int(job), .int(minute)) { $0.count(1) }
    guard case 1...max(1, mostLookedAt) = items.reduce(0, +) else { return false }
    let hasManyHosts = try connection.first(
      "SELECT 1 FROM host_counts WHERE job = ? LIMIT 1 OFFSET ?", .int(job), .int(mostLookedAt)
    ) { _ in true }
    return hasManyHosts == nil
  }

  /// How many items of a job are due by now, by their state.
  func dueCounts(_ job: Int64) throws(LedgerFailure) -> [ItemState: Int] {
    var counts: [ItemState: Int] = [:]
    func add(_ rows: [(state: Int, n: Int)]) {
      for row in rows { counts[ItemState(rawValue: row.state) ?? .pending, default: 0] += row.n }
    }
    add(
      try connection.all(Self.dueCountsQuery, .int(job), .int(thisMinute)) {
        ($0.count(0), $0.count(1))
      })
    guard try isLookedAt(thisMinute, of: job) else { return counts }
    add(
      try connection.all(
        Self.dueInMinuteQuery, .int(job), .int(thisMinute * Tally.millisecondsPerMinute),
        .time(now)
      ) { ($0.count(0), $0.count(1)) })
    return counts
  }
}

// MARK: The queue

extension StatusReading {
  private func leased() throws(LedgerFailure) -> Int {
    try connection.first("SELECT count(*) FROM leases WHERE expires > ?", .time(now)) {
      $0.count(0)
    } ?? 0
  }

  private func expired() throws(LedgerFailure) -> Int {
    try connection.first("SELECT count(*) FROM leases WHERE expires <= ?", .time(now)) {
      $0.count(0)
    } ?? 0
  }

  static let leasedAndDueQuery: StaticString = """
    SELECT count(*) FROM leases CROSS JOIN items ON items.entry = leases.entry
    WHERE leases.expires > ?1 AND items.due_at <= ?1
    """

  private func leasedAndDue() throws(LedgerFailure) -> Int {
    try connection.first(Self.leasedAndDueQuery, .time(now)) { $0.count(0) } ?? 0
  }
}

// MARK: The next expiry

extension StatusReading {
  static let nextMinuteQuery: StaticString = """
    SELECT minute FROM due_by_minute WHERE job = ? AND state = 1 AND minute >= ? AND n > 0
    ORDER BY job, state, minute LIMIT 1
    """
  static let firstInMinuteQuery: StaticString = """
    SELECT min(
      (SELECT due_at FROM items
       WHERE items.job = host_counts.job AND items.host = host_counts.host AND due_at > ?2
         AND due_at < ?3 AND state = 1
       ORDER BY due_at LIMIT 1))
    FROM host_counts WHERE job = ?1
    """

  /// When the first of a job's well items falls due.
  private func nextExpiry(_ job: Int64) throws(LedgerFailure) -> Timestamp? {
    var minute = thisMinute
    while let next = try connection.first(
      Self.nextMinuteQuery, .int(job), .int(minute), read: { $0.int(0) })
    {
      let start = max(now.milliseconds, next * Tally.millisecondsPerMinute - 1)
      let end = (next + 1) * Tally.millisecondsPerMinute
      guard try isLookedAt(next, of: job) else { return Timestamp(milliseconds: end) }
      let first = try connection.first(
        Self.firstInMinuteQuery, .int(job), .int(start), .int(end)
      ) { $0.optionalTime(0) }
      if let first, let first { return first }
      minute = next + 1
    }
    return nil
  }
}
