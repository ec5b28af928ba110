import Fetching
import LedgerCore
import Manifests
import Storage
import Threading
import Vocabulary

/// One run of one job: brings its items up to date until nothing is due.
package struct JobRun: Sendable {
  let worker: Worker
  let source: JobSource
  let options: RunOptions
  let board: RunBoard
  private var settings: JobSettings { source.settings }

  package init(worker: Worker, source: JobSource, options: RunOptions, board: RunBoard) {
    self.worker = worker
    self.source = source
    self.options = options
    self.board = board
  }

  /// Never throws: what ends a run early stands in the summary, and what was done is kept.
  package func run() async -> RunSummary {
    let started = worker.now
    var summary = RunSummary(
      run: nil, job: settings.name, started: started, finished: started, items: 0, outcomes: [:],
      pending: 0, traffic: Traffic(), bytesStored: 0, variantsMade: 0, warnings: 0, remarks: [:],
      errors: [:],
      stoppedBy: nil, calledOff: nil, isInterrupted: false)
    do {
      try await withIntake(at: started) { intake throws(RunStop) in
        let job = try await intake.firstItems(board)
        let run = try await begin(job, at: started)
        summary.run = run.value
        await drain(job, run, intake, horizon: started)
        try await intake.end(board)
        try await finish(job, run, horizon: started)
      }
    } catch {
      board.stop(because: error.failure)
      if summary.run == nil { try? await countUnbegun(horizon: started) }  // what it can still tell
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
    summary.sourceFailures = end.sourceFailures
    return summary
  }

  private func begin(_ job: JobNumber, at now: Timestamp) async throws(RunStop) -> RunNumber {
    do {
      let record = try await worker.ledger.job(named: settings.name)
      board.expect(items: record?.items ?? 0)
      if Worker.clockWentBack(since: record?.lastActive, at: now) {
        // Due times that it had reached would not come for long.
        try await worker.ledger.makeAllDue()
      }
      if !worker.store.hasFolder(ofJob: settings.name) {
        try await worker.ledger.forgetLinks(of: job, at: now)
      }
      try await publishPending()
      try await worker.removeUnused()
      return try await worker.ledger.beginRun(job: job, at: now)
    } catch {
      throw RunStop(error)
    }
  }

  private func publishPending() async throws(RunStop) {
    // Of a store that was emptied nothing can be linked yet: all is due, and linked when it is there.
    guard !worker.store.isStranger else { return }
    let remaining = try await worker.publishPending { [board] in board.isStopping }
    board.noteRemaining(remaining)
  }

  private func finish(
    _ job: JobNumber, _ run: RunNumber, horizon: Timestamp
  ) async throws(RunStop) {
    do {
      let record = try await worker.ledger.job(named: settings.name)
      if let record, record.settingsDigest != source.settingsDigest {
        // Somebody has read the manifest anew meanwhile: what was settled since was settled under the
        // former settings.
        try await worker.ledger.makeAllDue(of: job)
      }
      try await countUnsettled(job, run, items: record?.items ?? 0, horizon: horizon)
      // Names that another worker was late with, and files whose pictures were replaced.
      try await publishPending()
      try await worker.removeUnused()
      try await worker.ledger.finishRun(
        run, job: job, counts: board.snapshot.outcomes, at: worker.now)
    } catch {
      throw RunStop(error)
    }
  }

  /// Counts the items that this run had not to look at, by how they stand.
  private func countUnsettled(
    _ job: JobNumber, _ run: RunNumber, items: Int, horizon: Timestamp
  ) async throws(LedgerFailure) {
    var left = try await worker.ledger.unsettled(job: job, run: run)
    try await tellUnusable(job, count: left[.unusable] ?? 0)
    if board.isStopping || board.snapshot.calledOff != nil || options.limit != nil {
      // What it did not get to is not counted: it was due, and nobody has looked.
      let due = try await worker.ledger.due(job: job, run: run, by: dueRule(horizon))
      for (state, count) in due { left[state, default: 0] -= count }
    }
    board.expect(items: items)
    board.settledWithoutWork(left)
  }

  /// The run could not begin: what is known of its job is told all the same.
  private func countUnbegun(horizon: Timestamp) async throws(LedgerFailure) {
    guard let job = try await worker.ledger.job(named: settings.name) else { return }
    try await countUnsettled(job.number, RunNumber(0), items: job.items, horizon: horizon)
  }

  private func dueRule(_ horizon: Timestamp) -> DueRule {
    DueRule(
      horizon: horizon + options.refreshAhead, takesAll: options.force,
      takesFailed: options.retryFailed)
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

  /// How many claims may be under way besides those that only wait for the ledger: twice the transfers,
  /// so that a freed connection finds the next one waiting, and a group's worth that is being decoded
  /// and written.
  private var capacity: Int { settings.network.concurrency * 2 + 128 }
  /// So that those that wait for the ledger do not outgrow memory where its disk is slow.
  private static let mostSettling = 1_024

  /// How many times the transfers may be claimed ahead. Where next to nothing is to be rendered, as where
  /// servers answer that nothing has changed, transfers end faster than the ledger hands out new claims,
  /// one transaction after another; where much is, more claims would only fill the disk with bodies.
  private func claimsAhead(_ snapshot: RunBoard.Snapshot) -> Int {
    guard snapshot.processing < settings.network.concurrency else { return 2 }
    let rendersLittle = snapshot.settled >= 256 && snapshot.variantsMade * 10 < snapshot.settled
    return rendersLittle ? 16 : 8
  }

  private func drain(
    _ job: JobNumber, _ run: RunNumber, _ intake: RunIntake, horizon: Timestamp
  ) async {
    let keeper = LeaseKeeper(worker: worker, duration: options.leaseDuration)
    let hosts = HostWatch(worker: worker, run: run)
    let context = RunContext(
      worker: worker, settings: settings, options: options, job: job, run: run, started: horizon,
      board: board, hosts: hosts, leases: keeper,
      recipes: RecipeBook(settings: settings, encoders: worker.encoders))
    let background = Task {
      await withDiscardingTaskGroup { group in
        group.addTask { await keeper.run() }
        group.addTask { await hosts.keepLooking() }
      }
    }
    await withDiscardingTaskGroup { group in
      var left = options.limit ?? .max
      do {
        try await hosts.begin(endsPauses: options.retryFailed || options.force)
      } catch {
        board.stop(because: RunStop(error).failure)
      }
      while !board.isStopping, left > 0 {
        // Before the claim: what the reading has brought by now, the claim sees.
        let isAllRead = intake.isOver
        do {
          let snapshot = board.snapshot
          let room = room(snapshot)
          guard room.missing == 0 else {
            await board.waitForRoom(room.missing, since: snapshot)
            continue
          }
          let result = try await claim(context, atMost: left, room)
          if let calledOff = result.calledOff {
            board.callOff(.calledOff(calledOff, job: settings.name))
            break
          }
          left -= result.claims.count
          start(result.claims, context, &group)
          guard result.claims.isEmpty else { continue }
          if try await waitForMore(after: result, hosts) { continue }
          if isAllRead { break }
          await board.changed.wait()
        } catch {
          board.stop(because: RunStop(error).failure)
        }
      }
      await letFinish()
      if board.isStopping { group.cancelAll() }
    }
    background.cancel()
    await background.value
    await keeper.releaseAll()
    try? await hosts.look()  // what is not written down now, the next run has to learn anew
  }

  /// - Parameter result: of a look that found nothing to claim.
  /// - Returns: whether there may be more; else the run is drained.
  private func waitForMore(
    after result: ClaimResult, _ hosts: HostWatch
  ) async throws(CancellationError) -> Bool {
    if board.snapshot.inFlight > 0 {
      await board.changed.wait()
    } else if result.leasedElsewhere > 0 {
      board.waits(for: .leases(result.leasedElsewhere, until: result.nextLeaseEnd))
      try await waitForOthers(until: result.nextLeaseEnd)
    } else if hosts.waitsForProbe {
      board.waits(for: .probe)
      try await worker.sleeper.sleep(for: .milliseconds(200))
    } else if result.heldBack {
      try await worker.sleeper.sleep(for: .milliseconds(20))
    } else {
      return false
    }
    return true
  }

  /// After a signal: what is under way has a while to end; what has not by then is cancelled.
  private func letFinish() async {
    guard board.snapshot.isInterrupted, board.snapshot.stoppedBy == nil else { return }
    worker.fetcher.sendAway()
    let end = worker.sleeper.now + options.grace
    let alarm = Task {
      try? await worker.sleeper.sleep(until: end)  // cancelled when all has ended before
      board.changed.raise()
    }
    while board.snapshot.inFlight > 0, worker.sleeper.now < end { await board.changed.wait() }
    alarm.cancel()
  }

  /// How many claims more may be under way.
  private struct Room {
    var free: Int
    /// How many times the transfers may be claimed ahead.
    var ahead: Int
    /// How many steps of claims there have to be before it is worth a look; 0: it is now.
    var missing: Int
  }

  private func room(_ snapshot: RunBoard.Snapshot) -> Room {
    let ahead = claimsAhead(snapshot)
    let window = settings.network.concurrency * ahead
    let free = min(
      max(capacity, window) - (snapshot.inFlight - snapshot.settling),
      window - snapshot.fetching, Self.mostSettling - snapshot.settling)
    // Claims of a few each cost more than they bring while enough is under way.
    let wanted = snapshot.fetching == 0 ? 1 : max(1, window / 8)
    return Room(free: free, ahead: ahead, missing: max(0, wanted - free))
  }

  private func claim(
    _ context: RunContext, atMost left: Int, _ room: Room
  ) async throws(LedgerFailure) -> ClaimResult {
    let hosts = context.hosts
    var roomByHost = board.load.reduce(into: [String: Int]()) { roomByHost, load in
      let most = settings.network(forHost: load.key).perHost * room.ahead
      roomByHost[load.key] = max(0, most - load.value)
    }
    roomByHost.merge(hosts.room(atMost: room.free)) { $1 }
    var result = try await worker.ledger.claim(
      ClaimRequest(
        job: context.job, run: context.run, due: dueRule(context.started),
        limit: min(room.free, left), perHost: settings.network.perHost * room.ahead,
        room: roomByHost, fileLook: context.fileLook, now: worker.now,
        leaseDuration: options.leaseDuration))
    try await giveBackProbes(in: &result, hosts)
    return result
  }

  /// Of a host that another run is trying nothing is asked until it knows.
  private func giveBackProbes(
    in result: inout ClaimResult, _ hosts: HostWatch
  ) async throws(LedgerFailure) {
    guard hosts.hasPauses else { return }
    var kept: [Claim] = []
    for claim in result.claims {
      if try await hosts.mayAsk(claim.entry.url.host) {
        kept.append(claim)
      } else {
        try await worker.ledger.release([claim.lease])
      }
    }
    result.claims = kept
  }

  private func start(
    _ claims: [Claim], _ context: RunContext, _ group: inout DiscardingTaskGroup
  ) {
    guard !claims.isEmpty else { return }
    board.waits(for: nil)
    context.leases.add(claims.map(\.lease))
    board.started(claims)
    for claim in claims {
      // Made here: a claim is large, and would be a part of the task's frame.
      let item = ItemRun(context: context, claim: claim)
      group.addTask {
        do {
          try await item.perform()
        } catch {
          // Its lease is given back with the others when all have ended. What a transfer says that was
          // cancelled, or did not begin any more, is no reason to stop: the stop is its reason.
          let reason = RunStop(error).failure
          let isOfStop = Task.isCancelled || (board.isStopping && reason.code == "cancelled")
          if !isOfStop { board.stop(because: reason) }
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
