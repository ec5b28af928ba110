import LedgerCore
import Manifests
import Storage
import Threading
import Vocabulary

/// One run of one job: brings its items up to date until nothing is due.
package struct JobRun: Sendable {
  private let worker: Worker
  private let manifest: ManifestFile
  private let options: RunOptions
  private let board: RunBoard
  private var settings: JobSettings { manifest.settings }

  package init(worker: Worker, manifest: ManifestFile, options: RunOptions, board: RunBoard) {
    self.worker = worker
    self.manifest = manifest
    self.options = options
    self.board = board
  }

  /// Never throws: what ends a run early stands in the summary, and what was done is kept.
  package func run() async -> RunSummary {
    let started = worker.now
    var summary = RunSummary(
      run: 0, job: settings.name, started: started, finished: started, items: 0, outcomes: [:],
      pending: 0, traffic: Traffic(), bytesStored: 0, variantsMade: 0, warnings: 0, remarks: [:],
      errors: [:],
      stoppedBy: nil, calledOff: nil, isInterrupted: false)
    do {
      let (job, run) = try await begin(at: started)
      summary.run = run.value
      await drain(job, run, horizon: started)
      try await finish(job, run)
    } catch {
      board.stop(because: error.failure)
    }
    let end = board.snapshot
    summary.finished = worker.now
    summary.items = end.items
    summary.outcomes = end.outcomes
    for outcome in Outcome.allCases where summary.outcomes[outcome] == nil {
      summary.outcomes[outcome] = 0
    }
    summary.pending = max(0, end.items - end.settled)
    summary.traffic = end.traffic
    summary.bytesStored = end.bytesStored
    summary.variantsMade = end.variantsMade
    summary.staleKept = end.staleKept
    summary.warnings = end.warnings
    summary.remarks = end.remarks
    summary.errors = end.errors
    summary.stoppedBy = end.stoppedBy
    summary.calledOff = end.calledOff
    summary.isInterrupted = end.isInterrupted
    return summary
  }

  /// Clocks are set right by little all the time.
  private static let clockTolerance: Duration = .seconds(60)

  private func begin(at now: Timestamp) async throws(RunStop) -> (JobNumber, RunNumber) {
    let (job, removed) = try await Intake(manifest: manifest, ledger: worker.ledger)
      .read(reread: options.reread, at: now)
    board.noteRefused(try await worker.publish(removed))
    do {
      let record = try await worker.ledger.job(named: settings.name)
      board.expect(items: record?.items ?? 0)
      if let last = record?.lastActive, now + Self.clockTolerance < last {
        // The clock went back: due times that it had reached would not come for long.
        try await worker.ledger.makeAllDue()
      }
      if !worker.store.hasFolder(ofJob: settings.name) {
        try await worker.ledger.forgetLinks(of: job, at: now)
      }
      // Of a store that was emptied nothing can be linked yet: all is due, and linked when it is there.
      if !worker.store.isStranger { try await publishPending() }
      try await worker.removeUnused()
      return (job, try await worker.ledger.beginRun(job: job, at: now))
    } catch {
      throw RunStop(error)
    }
  }

  /// Makes the links that a dead worker left undone.
  private func publishPending() async throws {
    while case let links = try await worker.ledger.pendingLinks(limit: 1000), !links.isEmpty {
      let refused = try await worker.publish(links)
      board.noteRefused(refused)
      // They stay pending: asking once more would give them again.
      guard refused.isEmpty else { return }
    }
  }

  private func finish(_ job: JobNumber, _ run: RunNumber) async throws(RunStop) {
    do {
      var left = try await worker.ledger.unsettled(job: job, run: run)
      try await tellUnusable(job, count: left[.unusable] ?? 0)
      // What a stopped or limited run did not get to is not fresh: it was not looked at.
      if board.isStopping || board.snapshot.calledOff != nil || options.limit != nil { left = [:] }
      board.settledWithoutWork(left)
      try await worker.ledger.finishRun(
        run, job: job, counts: board.snapshot.outcomes, at: worker.now)
    } catch {
      throw RunStop(error)
    }
  }

  /// Items that fail in every run, without a request: told again each time, until the manifest mends.
  private func tellUnusable(_ job: JobNumber, count: Int) async throws(LedgerFailure) {
    guard count > 0 else { return }
    let shown = try await worker.ledger.unusableItems(of: job, limit: 50)
    for item in shown { if let failure = item.failure { board.fails(item.id, failure) } }
    if let first = shown.first, let failure = first.failure, count > shown.count {
      board.count(failure, of: first.id.text, times: count - shown.count)
    }
  }

  // MARK: Draining

  /// How many claims may be under way: twice the transfers, so that a freed connection finds the next
  /// one waiting, and a group's worth that is being decoded and written.
  private var capacity: Int { settings.network.concurrency * 2 + 128 }

  private func drain(_ job: JobNumber, _ run: RunNumber, horizon: Timestamp) async {
    let keeper = LeaseKeeper(worker: worker, duration: options.leaseDuration)
    let renewal = Task { await keeper.run() }
    await withDiscardingTaskGroup { group in
      var left = options.limit ?? .max
      while !board.isStopping, left > 0 {
        do {
          guard let result = try await claim(job, run, horizon: horizon, atMost: left) else {
            await board.changed.wait()
            continue
          }
          if let calledOff = result.calledOff {
            board.callOff(.calledOff(calledOff, job: settings.name))
            break
          }
          left -= result.claims.count
          start(result.claims, job, run, keeper, &group)
          guard result.claims.isEmpty else { continue }
          if board.snapshot.inFlight > 0 {
            await board.changed.wait()
          } else if result.leasedElsewhere > 0 {
            try await waitForOthers(until: result.nextLeaseEnd)
          } else if result.heldBack {
            try await worker.sleeper.sleep(for: .milliseconds(20))
          } else {
            break
          }
        } catch {
          board.stop(because: RunStop(error).failure)
        }
      }
      if board.isStopping { group.cancelAll() }
    }
    renewal.cancel()
    await keeper.releaseAll()
  }

  /// - Returns: nil where there is no room for another claim.
  private func claim(
    _ job: JobNumber, _ run: RunNumber, horizon: Timestamp, atMost left: Int
  ) async throws(LedgerFailure) -> ClaimResult? {
    let snapshot = board.snapshot
    let free = min(
      capacity - snapshot.inFlight, settings.network.concurrency * 2 - snapshot.fetching)
    // Claims of a few each cost more than they bring while enough is under way.
    guard free > 0, free >= settings.network.concurrency / 4 || snapshot.fetching == 0 else {
      return nil
    }
    let room = board.load.reduce(into: [String: Int]()) { room, load in
      room[load.key] = max(0, settings.network(forHost: load.key).perHost * 2 - load.value)
    }
    return try await worker.ledger.claim(
      ClaimRequest(
        job: job, run: run,
        due: DueRule(
          horizon: horizon + options.refreshAhead, takesAll: options.force,
          takesFailed: options.retryFailed),
        limit: min(free, left), perHost: settings.network.perHost * 2, room: room, now: worker.now,
        leaseDuration: options.leaseDuration))
  }

  private func start(
    _ claims: [Claim], _ job: JobNumber, _ run: RunNumber, _ keeper: LeaseKeeper,
    _ group: inout DiscardingTaskGroup
  ) {
    for claim in claims {
      keeper.add(claim.lease)
      board.started(host: claim.entry.url.host)
      group.addTask {
        do {
          try await ItemRun(
            worker: worker, settings: settings, options: options, job: job, run: run, board: board,
            claim: claim
          ).perform()
          keeper.remove(claim.lease)
        } catch {
          // Its lease is given back with the others when all have ended. What a cancelled transfer says
          // is no reason to stop: the stop is its reason.
          if !Task.isCancelled { board.stop(because: RunStop(error).failure) }
        }
        board.ended()
      }
    }
  }

  /// Another worker has what is left: its lease ends, or it settles, and then we look again.
  private func waitForOthers(until leaseEnd: Timestamp?) async throws(CancellationError) {
    let untilEnd = leaseEnd.map { $0 - worker.now } ?? .milliseconds(200)
    try await worker.sleeper.sleep(for: min(max(untilEnd, .milliseconds(20)), .milliseconds(200)))
  }
}
