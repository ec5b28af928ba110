import LedgerCore
import Synchronization
import Vocabulary

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
    package var stoppedBy: FailureRecord?
    /// The job was paused or cancelled: what is under way ends, nothing more begins.
    package var calledOff: FailureRecord?
    package var isInterrupted = false

    package var settled: Int { outcomes.values.reduce(0, +) }
  }

  private struct State {
    var snapshot = Snapshot()
    var load: [String: Int] = [:]
    var settledByState: [ItemState: Int] = [:]
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

  // MARK: Claims under way

  func started(host: String) {
    state.withLock {
      $0.snapshot.inFlight += 1
      $0.snapshot.fetching += 1
      $0.load[host, default: 0] += 1
    }
  }

  /// The claim needs its host no more.
  func gotBytes(host: String) {
    state.withLock {
      $0.snapshot.fetching -= 1
      $0.load[host, default: 1] -= 1
      if $0.load[host] == 0 { $0.load[host] = nil }
    }
    changed.raise()
  }

  func ended() {
    state.withLock { $0.snapshot.inFlight -= 1 }
    changed.raise()
  }

  /// Claims per host that have not got their bytes yet.
  var load: [String: Int] { state.withLock { $0.load } }

  // MARK: Results

  func add(_ traffic: Traffic) { state.withLock { $0.snapshot.traffic += traffic } }

  func addStored(bytes: Int, variants: Int) {
    state.withLock {
      $0.snapshot.bytesStored += bytes
      $0.snapshot.variantsMade += variants
    }
  }

  func addStaleKept(_ items: Int) { state.withLock { $0.snapshot.staleKept += items } }

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

  func settled(_ item: ClaimedItem, _ settlement: ItemSettlement) {
    state.withLock {
      $0.snapshot.outcomes[settlement.outcome, default: 0] += 1
      if let failure = settlement.failure {
        $0.snapshot.errors.count(failure, of: item.id.text)
      }
    }
    if settlement.outcome == .failed, let failure = settlement.failure {
      onFailure(item.id, failure)
    }
  }

  /// Items that the run did not have to look at, by their state.
  func settledWithoutWork(_ byState: [ItemState: Int]) {
    state.withLock {
      for (outcome, states) in Self.outcomesWithoutWork {
        let count = states.reduce(0) { $0 + max(0, byState[$1] ?? 0) }
        if count > 0 { $0.snapshot.outcomes[outcome, default: 0] += count }
      }
    }
  }

  private static let outcomesWithoutWork: [(Outcome, [ItemState])] = [
    (.fresh, [.well]), (.cooling, [.failed]), (.notStored, [.notStored]), (.failed, [.unusable]),
  ]

  /// An item that fails without having been worked on.
  func fails(_ item: ItemID, _ failure: FailureRecord) {
    count(failure, of: item.text, times: 1)
    onFailure(item, failure)
  }

  func count(_ failure: FailureRecord, of item: String, times: Int) {
    state.withLock { $0.snapshot.errors.count(failure, of: item, times: times) }
  }

  /// Names that could not be published; their items are as they were settled.
  func noteRefused(_ links: [(LinkTask, FailureRecord)]) {
    state.withLock { state in
      for (link, failure) in links { state.snapshot.errors.count(failure, of: link.path) }
      state.snapshot.warnings += links.count
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
  fileprivate mutating func count(_ failure: FailureRecord, of item: String, times: Int = 1) {
    self[
      failure.code,
      default: RunSummary.ErrorCount(
        count: 0, exampleItem: item, exampleMessage: failure.message, hint: failure.hint)
    ].count += times
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
