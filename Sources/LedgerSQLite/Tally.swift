import LedgerCore
import Vocabulary

/// Where an item stands for the kept counters.
struct Standing: Equatable {
  var job: Int64
  var state: ItemState
  var dueAt: Int64
  var host: Int64?
  /// The last run that settled it; 0 is none.
  var run: Int64
  /// What its failure asks for; nil where it has none.
  var failure: Disposition?

  /// Failed so that no other try is expected to mend it, or never due again.
  var isDead: Bool {
    state == .failed && (failure == .giveUp || dueAt >= Timestamp.distantFuture.milliseconds)
  }

  /// Failed so that another try may mend it: a trouble of its host's.
  var isMendable: Bool {
    if state == .failed, case .retry? = failure { true } else { false }
  }
}

/// The changes of one transaction to the kept counters, written once before its commit.
struct Tally {
  struct JobState: Hashable { var job: Int64; var state: Int64 }
  struct Minute: Hashable { var job: Int64; var state: Int64; var minute: Int64 }
  struct Host: Hashable { var job: Int64; var host: Int64 }
  struct RunState: Hashable { var run: Int64; var state: Int64 }

  static let millisecondsPerMinute: Int64 = 60_000

  private(set) var states: [JobState: Int64] = [:]
  private(set) var minutes: [Minute: Int64] = [:]
  private(set) var hosts: [Host: Int64] = [:]
  private(set) var runs: [RunState: Int64] = [:]
  /// By job.
  private(set) var dead: [Int64: Int64] = [:]
  /// Of mendable items. A zero counts as well: when the first of them is due may have changed.
  private(set) var failures: [Host: Int64] = [:]
  var objects: Int64 = 0
  var objectBytes: Int64 = 0
  /// Jobs with items that were made due at once.
  var arrivals: Set<Int64> = []

  mutating func enter(_ item: Standing) { add(item, 1) }
  mutating func leave(_ item: Standing) { add(item, -1) }

  private mutating func add(_ item: Standing, _ n: Int64) {
    let state = Int64(item.state.rawValue)
    states[JobState(job: item.job, state: state), default: 0] += n
    if let host = item.host {
      let minute = item.dueAt / Self.millisecondsPerMinute
      minutes[Minute(job: item.job, state: state, minute: minute), default: 0] += n
      hosts[Host(job: item.job, host: host), default: 0] += n
    }
    if item.run != 0 { runs[RunState(run: item.run, state: state), default: 0] += n }
    if item.isDead { dead[item.job, default: 0] += n }
    if item.isMendable, let host = item.host {
      failures[Host(job: item.job, host: host), default: 0] += n
    }
  }
}

extension Connection {
  func write(_ tally: Tally) throws(LedgerFailure) {
    for (key, n) in tally.states where n != 0 {
      try add(
        n, update: "UPDATE job_counts SET n = n + ?3 WHERE job = ?1 AND state = ?2",
        insert: "INSERT INTO job_counts VALUES (?1, ?2, ?3)", nil, [key.job, key.state])
    }
    for (key, n) in tally.minutes where n != 0 {
      try add(
        n,
        update: "UPDATE due_by_minute SET n = n + ?4 WHERE job = ?1 AND state = ?2 AND minute = ?3",
        insert: "INSERT INTO due_by_minute VALUES (?1, ?2, ?3, ?4)",
        "DELETE FROM due_by_minute WHERE job = ?1 AND state = ?2 AND minute = ?3 AND n = 0",
        [key.job, key.state, key.minute])
    }
    for (key, n) in tally.hosts where n != 0 {
      try add(
        n, update: "UPDATE host_counts SET n = n + ?3 WHERE job = ?1 AND host = ?2",
        insert: "INSERT INTO host_counts VALUES (?1, ?2, ?3)",
        "DELETE FROM host_counts WHERE job = ?1 AND host = ?2 AND n = 0", [key.job, key.host])
    }
    for (key, n) in tally.runs where n != 0 {
      try add(
        n, update: "UPDATE run_counts SET n = n + ?3 WHERE run = ?1 AND state = ?2",
        insert: "INSERT INTO run_counts VALUES (?1, ?2, ?3)",
        "DELETE FROM run_counts WHERE run = ?1 AND state = ?2 AND n = 0", [key.run, key.state])
    }
    for (job, n) in tally.dead where n != 0 {
      try run("UPDATE jobs SET dead = dead + ?2 WHERE number = ?1", .int(job), .int(n))
    }
    for (key, n) in tally.failures { try addFailures(n, of: key) }
    if tally.objects != 0 || tally.objectBytes != 0 {
      try run(
        "UPDATE meta SET objects = objects + ?, object_bytes = object_bytes + ?",
        .int(tally.objects), .int(tally.objectBytes))
    }
    for job in tally.arrivals {
      try run("UPDATE jobs SET arrivals = arrivals + 1 WHERE number = ?", .int(job))
    }
  }

  /// Not an upsert: its CHECK would see the bare difference, which may be negative.
  private func add(
    _ n: Int64, update: StaticString, insert: StaticString, _ deleteEmpty: StaticString?,
    _ key: [Int64]
  ) throws(LedgerFailure) {
    let whole = key.map { SQLValue.int($0) }
    if try run(update, whole + [.int(n)]) == 0 { try run(insert, whole + [.int(n)]) }
    if n < 0, let deleteEmpty { try run(deleteEmpty, whole) }
  }

  /// The items are as they will be: who is first among them, one search tells.
  private func addFailures(_ n: Int64, of key: Tally.Host) throws(LedgerFailure) {
    let place: [SQLValue] = [.int(key.job), .int(key.host)]
    let isKnown =
      try run(
        """
        UPDATE host_failures SET n = n + ?3, next_try = coalesce(
          (SELECT min(due_at) FROM items
           WHERE job = ?1 AND host = ?2 AND state = 2 AND failure_disposition >= 0), 0)
        WHERE job = ?1 AND host = ?2
        """, place + [.int(n)]) > 0
    if !isKnown, n != 0 {
      try run(
        """
        INSERT INTO host_failures SELECT ?1, ?2, ?3, min(due_at) FROM items
        WHERE job = ?1 AND host = ?2 AND state = 2 AND failure_disposition >= 0
        """, place + [.int(n)])
    }
    if n < 0 {
      try run("DELETE FROM host_failures WHERE job = ?1 AND host = ?2 AND n = 0", place)
    }
  }
}
