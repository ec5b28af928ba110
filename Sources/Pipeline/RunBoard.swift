import LedgerCore
import Synchronization
import Vocabulary

/// What a run that has nothing to do waits for.
package enum RunWait: Sendable, Hashable {
  /// Entries that other runs hold: they settle them, or their leases end.
  case leases(Int, until: Timestamp?)
  /// Another run that tries whether a host is back.
  case probe
}

/// The numbers of a run while it goes: written by its tasks, read by whoever shows progress.
package final class RunBoard: Sendable {
  /// One moment of a run.
  package struct Snapshot: Sendable {
    package var items = 0
    package var outcomes: [Outcome: Int] = [:]
    package var traffic = Traffic()
    package var bytesStored = 0
    package var variantsMade = 0
    package var warnings = 0
    package var staleKept = 0
    package var remarks: [String: RunSummary.Remark] = [:]
    package var errors: [String: RunSummary.ErrorCount] = [:]
    /// Claims under way that have not got their bytes yet.
    package var fetching = 0
    /// Claims under way in all.
    package var inFlight = 0
    /// Those of them that only wait for the ledger to write down how they ended.
    package var settling = 0
    package var waitsFor: RunWait?
    /// Of a manifest's sources that could not be read as they are now.
    package var sourceFailures: [FailureRecord] = []
    package var stoppedBy: FailureRecord?
    /// The job was paused or cancelled: what is under way ends, nothing more begins.
    package var calledOff: FailureRecord?
    package var isInterrupted = false
    /// How often a claim has got its bytes, has come to the ledger, or ended.
    fileprivate(set) var steps = 0

    package var settled: Int { outcomes.values.reduce(0, +) }
    /// Claims whose bytes are here, in temporary files as a rule, and are being rendered or stored.
    package var processing: Int { inFlight - fetching - settling }
  }

  private struct State {
    var snapshot = Snapshot()
    var load: [String: Int] = [:]
    /// Steps up to this leave the run asleep, unless nothing is fetched any more.
    var sleepsUntil = 0
  }

  private let state = Mutex(State())
  /// Told each time that something may have made room for another claim.
  let changed = Signal()
  private let onFailure: @Sendable (ItemID, FailureRecord) -> Void

  /// - Parameter onFailure: called for each item that fails, from the run's tasks.
  package init(onFailure: @escaping @Sendable (ItemID, FailureRecord) -> Void = { _, _ in }) {
    self.onFailure = onFailure
  }

  package var snapshot: Snapshot { state.withLock { $0.snapshot } }

  func expect(items: Int) { state.withLock { $0.snapshot.items = items } }

  /// While the manifest is read.
  func expect(atLeast items: Int) {
    state.withLock { $0.snapshot.items = max($0.snapshot.items, items) }
  }

  func note(sourceFailures: [FailureRecord]) {
    state.withLock { $0.snapshot.sourceFailures += sourceFailures }
  }

  // MARK: Claims under way

  func started(_ claims: [Claim]) {
    state.withLock { state in
      state.snapshot.inFlight += claims.count
      state.snapshot.fetching += claims.count
      for claim in claims { state.load[claim.entry.url.host, default: 0] += 1 }
    }
  }

  /// The claim needs its host no more.
  func gotBytes(host: String) {
    step { state in
      state.snapshot.fetching -= 1
      state.load[host, default: 1] -= 1
      if state.load[host] == 0 { state.load[host] = nil }
    }
  }

  private func step(_ change: (inout State) -> Void) {
    let wakes = state.withLock { state in
      change(&state)
      state.snapshot.steps += 1
      return state.snapshot.steps >= state.sleepsUntil || state.snapshot.fetching == 0
    }
    if wakes { changed.raise() }
  }

  /// Returns after so many steps of claims at the latest, counted from a snapshot on: there is no room before.
  /// It may return early.
  func waitForRoom(_ steps: Int, since snapshot: Snapshot) async {
    // What came since the snapshot has raised the signal, so that nothing is missed.
    state.withLock { $0.sleepsUntil = snapshot.steps + steps }
    await changed.wait()
    state.withLock { $0.sleepsUntil = 0 }
  }

  /// The claim waits for another, and gives up its place at its host meanwhile.
  func pauses(host: String) { gotBytes(host: host) }

  func goesOn(host: String) {
    state.withLock {
      $0.snapshot.fetching += 1
      $0.load[host, default: 0] += 1
    }
  }

  /// All is done but for the ledger.
  func settles() { step { $0.snapshot.settling += 1 } }

  func hasSettled() { state.withLock { $0.snapshot.settling -= 1 } }

  func ended() { step { $0.snapshot.inFlight -= 1 } }

  /// Claims per host that have not got their bytes yet.
  var load: [String: Int] { state.withLock { $0.load } }

  func waits(for wait: RunWait?) { state.withLock { $0.snapshot.waitsFor = wait } }

  // MARK: Results

  func add(_ traffic: Traffic) { state.withLock { $0.snapshot.traffic += traffic } }

  func add(variantsMade: Int) { state.withLock { $0.snapshot.variantsMade += variantsMade } }

  /// Of objects that the ledger did not know.
  func add(bytesStored: Int) {
    guard bytesStored > 0 else { return }
    state.withLock { $0.snapshot.bytesStored += bytesStored }
  }

  func addStaleKept(_ items: Int) {
    guard items > 0 else { return }
    state.withLock { $0.snapshot.staleKept += items }
  }

  /// Texts that differ by a number would make this grow with the items.
  private static let mostRemarks = 100

  func add(warnings: [String], of item: String) {
    guard !warnings.isEmpty else { return }
    state.withLock { state in
      state.snapshot.warnings += warnings.count
      for text in warnings {
        let isKnown = state.snapshot.remarks[text] != nil
        guard isKnown || state.snapshot.remarks.count < Self.mostRemarks else { continue }
        state.snapshot.remarks[text, default: .init(count: 0, exampleItem: item)].count += 1
      }
    }
  }

  /// - Parameter host: of the URL that failed; nil where none did.
  func settled(_ item: ClaimedItem, _ outcome: Outcome, _ failure: FailureRecord?, host: String?) {
    state.withLock {
      $0.snapshot.outcomes[outcome, default: 0] += 1
      if let failure { $0.snapshot.errors.count(failure, of: item.id.text, host: host) }
    }
    if outcome == .failed, let failure { onFailure(item.id, failure) }
  }

  /// Items that the run did not have to look at, by their state.
  ///
  /// Those that it has settled, and another run after it, are among them: they were counted once, and all
  /// counts together are the items.
  func settledWithoutWork(_ byState: [ItemState: Int]) {
    state.withLock { state in
      var room = max(0, state.snapshot.items - state.snapshot.settled)
      for (outcome, itemState) in Self.outcomesWithoutWork {
        let count = min(room, max(0, byState[itemState] ?? 0))
        room -= count
        if count > 0 { state.snapshot.outcomes[outcome, default: 0] += count }
      }
      state.snapshot.items = max(state.snapshot.items, state.snapshot.settled)
    }
  }

  /// Those that others settle meanwhile are well, as a rule: so these are cut last.
  private static let outcomesWithoutWork: [(Outcome, ItemState)] = [
    (.failed, .unusable), (.notStored, .notStored), (.cooling, .failed), (.fresh, .well),
  ]

  /// An item that fails without having been worked on.
  func fails(_ item: ItemID, _ failure: FailureRecord) {
    count(failure, of: item.text, times: 1)
    onFailure(item, failure)
  }

  func count(_ failure: FailureRecord, of item: String, times: Int) {
    state.withLock { $0.snapshot.errors.count(failure, of: item, times: times) }
  }

  /// Names that could not be removed. Those that could not be made are their items' failures.
  func noteRemaining(_ links: [RefusedLink]) {
    guard !links.isEmpty else { return }
    let remaining = links.filter { $0.link.object == nil }
    state.withLock { state in
      for name in remaining { state.snapshot.errors.count(name.failure, of: name.link.path) }
      state.snapshot.warnings += remaining.count
    }
  }

  // MARK: Stopping

  /// Ends the run: nothing new is claimed. The first reason is kept.
  func stop(because failure: FailureRecord) {
    state.withLock { if $0.snapshot.stoppedBy == nil { $0.snapshot.stoppedBy = failure } }
    changed.raise()
  }

  func callOff(_ reason: FailureRecord) { state.withLock { $0.snapshot.calledOff = reason } }

  package func interrupt() {
    state.withLock { $0.snapshot.isInterrupted = true }
    changed.raise()
  }

  var isStopping: Bool {
    state.withLock { $0.snapshot.isInterrupted || $0.snapshot.stoppedBy != nil }
  }
}

extension [String: RunSummary.ErrorCount] {
  fileprivate mutating func count(
    _ failure: FailureRecord, of item: String, host: String? = nil, times: Int = 1
  ) {
    var error =
      self[failure.code]
      ?? RunSummary.ErrorCount(
        count: 0, exampleItem: item, exampleMessage: failure.message, hint: failure.hint)
    error.count += times
    if let host { error.hosts.add(host, times: times) }
    self[failure.code] = error
  }
}

/// Wakes the one task that waits for it; raised while nobody waits, the next wait returns at once.
final class Signal: Sendable {
  private struct State {
    var isRaised = false
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())

  func raise() {
    let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
      defer { state.waiter = nil }
      state.isRaised = state.waiter == nil
      return state.waiter
    }
    waiter?.resume()
  }

  func wait() async {
    await withCheckedContinuation { continuation in
      let goesOn = state.withLock { state -> Bool in
        if state.isRaised {
          state.isRaised = false
          return true
        }
        state.waiter = continuation
        return false
      }
      if goesOn { continuation.resume() }
    }
  }
}
