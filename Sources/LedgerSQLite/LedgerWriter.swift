import Glibc
import LedgerCore
import Synchronization
import Threading
import Vocabulary

/// The one writing connection of a process, on a thread of its own.
///
/// Calls that arrive together share a transaction: each resumes after the commit. A transaction waits
/// a moment for as many calls as came last, so that a lone caller never waits and many do not commit one by
/// one. A claim hurries: until it is there a run may have nothing to ask for.
actor LedgerWriter {
  /// A write that waits for its transaction.
  private struct Waiting: Sendable {
    /// Runs within the transaction; what it returns hands the result over, after the commit.
    var write: @Sendable (isolated LedgerWriter, Transaction) throws(LedgerFailure) -> () -> Void
    var fail: @Sendable (LedgerFailure) -> Void
  }

  /// Whoever comes stands in line without a turn of this actor, which most calls would spend waiting for
  /// its thread.
  private struct Line {
    var waiting: [Waiting] = []
    var firstSince = ContinuousClock.now
    /// Whether one of them is not to wait for company.
    var isHurried = false
    /// Whether the thread will look here.
    var isCommitPlanned = false
  }

  /// So that a transaction, and what a crash can lose, stays small: each may touch some twenty pages, and
  /// the WAL has room for 24 MiB (see `isWALWithinLimit`).
  private static let callsPerTransaction = 256
  /// The longest that a call waits for company.
  private static let gathering: Duration = .milliseconds(12)

  private let thread = ThreadExecutor(name: "ledger-writer")
  private let clock: WallClock
  private let owner: String
  private let path: String
  private var connection: Connection?
  private let line = Mutex(Line())
  /// So many calls are likely to come within a moment: those of the last transaction, and those that came
  /// while it was written.
  private var callsExpected = 1
  private let hosts = HostNumbers()
  /// Of the runs that claim here; see `RunCursor`.
  var cursors: [Int64: RunCursor] = [:]
  /// Readings of manifests under way here, by job.
  var readings: [Int64: Reading] = [:]

  nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  init(path: String, clock: WallClock, owner: String) {
    self.path = path
    self.clock = clock
    self.owner = owner
  }

  deinit { thread.stop() }

  /// - Parameter patience: how long a lock that another program holds is waited for.
  func open(patience: Duration) throws(LedgerFailure) {
    connection = try Connection.openForWriting(path: path, patience: patience)
  }

  func close() {
    while commitNext() {}
    cursors = [:]
    readings = [:]
    connection = nil
  }

  /// See `Connection.leaveAsItIs`.
  func leaveAsItIs() { connection?.leaveAsItIs() }

  func live() throws(LedgerFailure) -> Connection {
    guard let connection else { throw .other(path: path, reason: "it was closed") }
    return connection
  }

  func preparedTexts() throws(LedgerFailure) -> [String] { try live().preparedTexts }
}

// MARK: Transactions

extension LedgerWriter {
  /// A transaction of its own, for what is long already.
  func alone<Result>(
    _ body: (Transaction) throws(LedgerFailure) -> Result
  ) throws(LedgerFailure) -> Result {
    let connection = try live()
    let transaction = Transaction(connection, hosts: hosts, owner: owner, clock: now)
    do throws(LedgerFailure) {
      return try connection.writing { () throws(LedgerFailure) in
        let result = try body(transaction)
        try transaction.finish()
        return result
      }
    } catch {
      hosts.forget()
      throw error
    }
  }

  private var now: Timestamp { Timestamp(milliseconds: clock.milliseconds()) }

  /// Shares a transaction with other calls; returns after its commit.
  ///
  /// - Parameter hurries: whether it waits for no other call, as much may wait for it.
  nonisolated func together<Result: Sendable>(
    hurries: Bool = false,
    _ body: @escaping @Sendable (isolated LedgerWriter, Transaction) throws(LedgerFailure) -> Result
  ) async throws(LedgerFailure) -> Result {
    // Unsafe is the name of the one without a check: a call is either committed or fails, once.
    let result: Swift.Result<Result, LedgerFailure> = await withUnsafeContinuation { caller in
      let call = Waiting(
        write: { writer, transaction throws(LedgerFailure) in
          let result = try body(writer, transaction)
          return { caller.resume(returning: .success(result)) }
        },
        fail: { caller.resume(returning: .failure($0)) })
      let isFirst = line.withLock { line in
        if line.waiting.isEmpty { line.firstSince = .now }
        line.waiting.append(call)
        if hurries { line.isHurried = true }
        defer { line.isCommitPlanned = true }
        return !line.isCommitPlanned
      }
      if isFirst { planCommit() }
    }
    return try result.get()
  }

  /// The commit queues behind what has come to this thread by now.
  private nonisolated func planCommit() {
    Task { await self.commitOrGather() }
  }

  private func commitOrGather() {
    let expected = min(callsExpected, Self.callsPerTransaction)
    let gathersOn = line.withLock { line in
      line.waiting.count < expected && !line.waiting.isEmpty && !line.isHurried
        && ContinuousClock.now - line.firstSince < Self.gathering
    }
    if gathersOn {
      usleep(1_000)  // this thread is ours to block; calls queue up meanwhile
    } else {
      commitNext()
    }
    let isOver = line.withLock { line in
      line.isCommitPlanned = !line.waiting.isEmpty
      return line.waiting.isEmpty
    }
    if !isOver { planCommit() }
  }

  /// - Returns: false where nobody waits.
  @discardableResult
  private func commitNext() -> Bool {
    let calls = line.withLock { line in
      let calls = Array(line.waiting.prefix(Self.callsPerTransaction))
      line.waiting.removeFirst(calls.count)
      if line.waiting.isEmpty { line.isHurried = false }
      return calls
    }
    guard !calls.isEmpty else { return false }
    commit(calls)
    callsExpected = calls.count + line.withLock { $0.waiting.count }
    return true
  }

  private func commit(_ calls: [Waiting]) {
    do throws(LedgerFailure) {
      let deliver = try alone { transaction throws(LedgerFailure) in
        var deliver: [() -> Void] = []
        for call in calls { deliver.append(try call.write(self, transaction)) }
        return deliver
      }
      for resume in deliver { resume() }
    } catch {
      // They may have moved on over rows that were not claimed after all.
      cursors = [:]
      // One call's fault is not its neighbours': each is tried for itself.
      guard case .other = error, calls.count > 1 else {
        for call in calls { call.fail(error) }
        return
      }
      for call in calls { commit([call]) }
    }
  }
}

// MARK: The queue

extension LedgerWriter {
  nonisolated func beginRun(job: JobNumber, at now: Timestamp) async throws(LedgerFailure)
    -> RunNumber
  {
    try await together { _, transaction throws(LedgerFailure) in
      try transaction.beginRun(job: job, at: now)
    }
  }

  nonisolated func finishRun(
    _ run: RunNumber, job: JobNumber, counts: [Outcome: Int], at now: Timestamp
  ) async throws(LedgerFailure) {
    try await together { writer, transaction throws(LedgerFailure) in
      writer.cursors[run.value] = nil
      try transaction.finishRun(run, job: job, counts: counts, at: now)
    }
  }

  nonisolated func claim(_ request: ClaimRequest) async throws(LedgerFailure) -> ClaimResult {
    while true {
      let (result, isCutShort) = try await together(hurries: true) {
        writer, transaction throws(LedgerFailure) in
        var claiming = Claiming(transaction, request, writer.cursor(of: request.run))
        return try claiming.result()
      }
      guard isCutShort, result.claims.isEmpty else { return result }
    }
  }

  private func cursor(of run: RunNumber) -> RunCursor {
    if let cursor = cursors[run.value] { return cursor }
    let cursor = RunCursor()
    cursors[run.value] = cursor
    return cursor
  }

  nonisolated func lease(
    _ target: EntryKey, for held: [Lease], run: RunNumber, until: Timestamp, at now: Timestamp
  ) async throws(LedgerFailure) -> TargetLease {
    try await together { _, transaction throws(LedgerFailure) in
      try transaction.lease(target, for: held, run: run, until: until, at: now)
    }
  }

  nonisolated func renew(_ leases: [Lease], until expires: Timestamp) async throws(LedgerFailure)
    -> [Lease]
  {
    try await together { writer, transaction throws(LedgerFailure) in
      let renewed = try transaction.renew(leases, until: expires)
      if renewed.count < leases.count {
        let kept = Set(renewed.map(\.entry))
        for lease in leases where !kept.contains(lease.entry) { writer.comeBackTo(lease.entry) }
      }
      return renewed
    }
  }

  nonisolated func release(_ leases: [Lease]) async throws(LedgerFailure) {
    try await together { writer, transaction throws(LedgerFailure) in
      for lease in try transaction.release(leases) {
        writer.cursors[lease.run]?.passOver(lease.entry)
      }
    }
  }

  nonisolated func settle(_ settlement: Settlement) async throws(LedgerFailure) -> SettlementResult
  {
    let result = try await together { writer, transaction throws(LedgerFailure) in
      let result = try transaction.settle(settlement)
      if case .leaseLost = result { writer.comeBackTo(settlement.lease.entry) }
      return result
    }
    if case .committed = result { CrashSeam.settlementCommitted.reached() }
    return result
  }

  /// Another worker has the entry and may die of it, or what was settled rests on what has gone.
  private func comeBackTo(_ entry: EntryKey) {
    for cursor in cursors.values { cursor.passOver(entry) }
  }

  nonisolated func confirmRemoval(_ digests: [Digest]) async throws(LedgerFailure) {
    try await together { _, transaction throws(LedgerFailure) in
      try transaction.confirmRemoval(digests)
    }
  }

  nonisolated func refuse(_ links: [RefusedLink]) async throws(LedgerFailure) {
    try await together { _, transaction throws(LedgerFailure) in
      for refused in links { try transaction.refuse(refused) }
    }
  }

  nonisolated func confirm(_ links: [LinkTask]) async throws(LedgerFailure) {
    try await together { _, transaction throws(LedgerFailure) in try transaction.confirm(links) }
  }
}
