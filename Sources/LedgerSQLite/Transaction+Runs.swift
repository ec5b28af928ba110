import LedgerCore
import Vocabulary

extension Transaction {
  /// Leases that ended so long ago are of entries that nobody will claim: their items are gone.
  private static let memoryOfLeases: Duration = .days(1)

  func beginRun(job: JobNumber, at now: Timestamp) throws(LedgerFailure) -> RunNumber {
    try connection.run(
      "DELETE FROM leases WHERE expires < ?", .time(now - Self.memoryOfLeases))
    try connection.run(
      "INSERT INTO runs (job, owner, started_at) VALUES (?, ?, ?)", .int(job.value), .text(owner),
      .time(now))
    return RunNumber(connection.lastInsertedRow)
  }

  func finishRun(
    _ run: RunNumber, job: JobNumber, counts: [Outcome: Int], at now: Timestamp
  ) throws(LedgerFailure) {
    let text = Outcome.allCases.map { "\($0.rawValue)=\(counts[$0] ?? 0)" }
      .joined(separator: ",")
    try connection.run(
      "UPDATE runs SET finished_at = ?, counts = ? WHERE number = ?", .time(now), .text(text),
      .int(run.value))
    try connection.run(
      """
      DELETE FROM runs WHERE job = ?1 AND number <=
        (SELECT number FROM runs WHERE job = ?1 ORDER BY number DESC LIMIT 1 OFFSET 1000)
      """, .int(job.value))
    // Not the latest of all: after a clock that ran ahead was set right, that would be no run's time.
    try connection.run(
      "UPDATE jobs SET last_run = ? WHERE number = ?", .time(now), .int(job.value))
  }
}
