import LedgerCore
import Manifests
import Threading
import Vocabulary

/// Works on every job of a ledger as its items fall due: what `work` does, for months or until nothing is
/// due. Any number of processes may do so on one root.
package struct WorkLoop: Sendable {
  /// What is told on the way.
  package struct Tellers: Sendable {
    /// A pass over a job begins.
    package var begins: @Sendable (String, RunBoard) -> Void
    package var ends: @Sendable (RunSummary, RunBoard) -> Void
    /// A job cannot be worked on for now.
    package var cannot: @Sendable (String, FailureRecord) -> Void

    package init(
      begins: @escaping @Sendable (String, RunBoard) -> Void,
      ends: @escaping @Sendable (RunSummary, RunBoard) -> Void,
      cannot: @escaping @Sendable (String, FailureRecord) -> Void
    ) {
      self.begins = begins
      self.ends = ends
      self.cannot = cannot
    }
  }

  private let worker: Worker
  private let environment: [String: String]
  private let options: RunOptions
  private let tell: Tellers
  private let isStopped: @Sendable () -> Bool

  /// How often the ledger is asked whether anything is due: one look-up for each job.
  private static let lookInterval: Duration = .seconds(1)
  /// A job that could not be worked on is left alone for so long.
  private static let pause: Duration = .seconds(60)

  package init(
    worker: Worker, environment: [String: String], options: RunOptions, tell: Tellers,
    isStopped: @escaping @Sendable () -> Bool
  ) {
    self.worker = worker
    self.environment = environment
    var options = options
    options.refreshesAhead = true
    self.options = options
    self.tell = tell
    self.isStopped = isStopped
  }

  /// - Parameter drains: whether to end when nothing is due.
  /// - Returns: the failures that kept jobs from being drained; empty where `drains` is false.
  package func run(drains: Bool) async throws(RunStop) -> [FailureRecord] {
    let state = WorkState()
    let watch = ManifestWatch(
      worker: worker, environment: environment, tell: tell.cannot, isStopped: isStopped)
    // Who drains the queue takes it as it is.
    let watching = drains ? nil : Task { await watch.run() }
    var stop: RunStop?
    do {
      try await withThrowingDiscardingTaskGroup { group in
        defer { watching?.cancel() }
        while !isStopped() {
          let due = try await dueJobs(state)
          for job in due where state.begin(job.number) {
            group.addTask { await pass(over: job, state) }
          }
          if drains, due.isEmpty, state.isIdle { return }
          try await worker.sleeper.sleep(for: due.isEmpty ? Self.lookInterval : .milliseconds(50))
        }
      }
    } catch is CancellationError {
      // It ends like any other stop.
    } catch {
      stop = RunStop(error)
    }
    await watching?.value
    if let stop { throw stop }
    return drains ? state.failures : []
  }

  /// Those that are due, are not worked on here at this moment and did not fail just now.
  private func dueJobs(_ state: WorkState) async throws(LedgerFailure) -> [DueJob] {
    let now = worker.now
    return try await worker.ledger.nextDue().filter { job in
      // Where the clock went back, a pass finds out what is due by the new one.
      (job.dueAt <= now || Worker.clockWentBack(since: job.lastActive, at: now))
        && state.mayBegin(job.number, at: worker.sleeper.now)
    }
  }

  private func pass(over job: DueJob, _ state: WorkState) async {
    var failure: FailureRecord?
    defer {
      state.end(job.number, failure, pausedUntil: worker.sleeper.now + Self.pause)
    }
    do {
      guard let record = try await worker.ledger.job(named: job.name) else { return }
      let settings = try settings(fromHead: record.settings, environment: environment)
      let board = RunBoard()
      tell.begins(job.name, board)
      let summary = await JobRun(
        worker: worker, source: .known(record, settings), options: options, board: board
      ).run()
      tell.ends(summary, board)
      failure = summary.stoppedBy
    } catch {
      failure = RunStop(error).failure
      if state.isNews(job.number, failure!) { tell.cannot(job.name, failure!) }
    }
  }
}
