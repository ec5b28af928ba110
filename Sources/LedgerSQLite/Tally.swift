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
        update: "UPDATE due_counts SET n = n + ?4 WHERE job = ?1 AND state = ?2 AND minute = ?3",
        insert: "INSERT INTO due_counts VALUES (?1, ?2, ?3, ?4)",
        "DELETE FROM due_counts WHERE job = ?1 AND state = ?2 AND minute = ?3 AND n = 0",
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
}
