import LedgerCore
import Synchronization
import Vocabulary

/// A run's reading of its manifest: what has been read is worked on while the rest is read.
final class RunIntake: Sendable {
  private struct State {
    /// Once the first items are in the ledger.
    var job: JobNumber?
    /// When the reading has ended.
    var result: Result<JobNumber, RunStop>?
  }

  private let state = Mutex(State())
  private let reading = Mutex<Task<Void, Never>?>(nil)

  fileprivate func begin(_ task: Task<Void, Never>) { reading.withLock { $0 = task } }

  /// Whoever stops does not wait for what is being sent.
  fileprivate func giveUpIfStopping(_ board: RunBoard) {
    if board.isStopping { reading.withLock { $0?.cancel() } }
  }

  /// Whether all of the job's items are in the ledger, or no more will come.
  var isOver: Bool { state.withLock { $0.result != nil } }

  fileprivate func has(_ job: JobNumber) { state.withLock { $0.job = job } }

  fileprivate func isOver(_ result: Result<JobNumber, RunStop>) {
    state.withLock { $0.result = result }
  }

  /// Waits until there is something to work on.
  func firstItems(_ board: RunBoard) async throws(RunStop) -> JobNumber {
    while true {
      let (job, result) = state.withLock { ($0.job, $0.result) }
      if let result { return try result.get() }
      if let job { return job }
      giveUpIfStopping(board)
      await board.changed.wait()
    }
  }

  /// Waits until all is read, or given up.
  func end(_ board: RunBoard) async throws(RunStop) {
    while !isOver {
      giveUpIfStopping(board)
      await board.changed.wait()
    }
    if board.isStopping { return }  // for a reason that is known
    _ = try state.withLock { $0.result! }.get()  // there is one: it is over
  }
}

extension JobRun {
  /// Takes the manifest in beside what works on its items; both have ended when this returns.
  func withIntake(
    at now: Timestamp, _ work: (RunIntake) async throws(RunStop) -> Void
  ) async throws(RunStop) {
    let intake = RunIntake()
    let reading = Task { await takeIn(intake, at: now) }
    intake.begin(reading)
    do {
      try await work(intake)
    } catch {
      board.stop(because: error.failure)
      intake.giveUpIfStopping(board)
      await reading.value
      throw error
    }
    await reading.value
  }

  private func takeIn(_ intake: RunIntake, at now: Timestamp) async {
    let board = board
    let watch = IntakeWatch(
      advanced: { job, items in
        board.expect(atLeast: items)
        intake.has(job)
        board.changed.raise()
      }, isCancelled: { board.isStopping })
    let desk = SourceDesk(
      fetcher: worker.fetcher, store: worker.store, settings: source.settings,
      onTraffic: board.add)
    do {
      let result = try await source.takeIn(
        to: worker.ledger, asking: desk, reread: options.reread, at: now, watch: watch)
      board.note(sourceFailures: result.failures)
      board.noteRemaining(try await worker.publish(result.removed))
      intake.isOver(.success(result.job))
    } catch {
      if !board.isStopping { board.stop(because: error.failure) }
      intake.isOver(.failure(error))
    }
    board.changed.raise()
  }
}
