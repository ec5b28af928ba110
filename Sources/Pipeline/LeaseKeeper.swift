import LedgerCore
import Synchronization
import Threading
import Vocabulary

/// Renews the leases of the claims under way until it is cancelled, and wakes who waits for one.
final class LeaseKeeper: Sendable {
  private struct State {
    var leases: [EntryKey: Lease] = [:]
    var waiting: [EntryKey: [UInt64: CheckedContinuation<Void, Never>]] = [:]
    var lastWaiter: UInt64 = 0
  }

  private let worker: Worker
  private let duration: Duration
  private let state = Mutex(State())

  init(worker: Worker, duration: Duration) {
    self.worker = worker
    self.duration = duration
  }

  func add(_ leases: [Lease]) {
    state.withLock { state in
      for lease in leases { state.leases[lease.entry] = lease }
    }
  }

  /// Their claim has settled, or given them back.
  func remove(_ leases: [Lease]) {
    for lease in leases { remove(lease) }
  }

  func remove(_ lease: Lease) {
    let woken = state.withLock { state in
      state.leases[lease.entry] = nil
      return state.waiting.isEmpty ? nil : state.waiting.removeValue(forKey: lease.entry)
    }
    if let woken { for waiter in woken.values { waiter.resume() } }
  }

  /// Three renewals fit into a lease, so that two may be late.
  func run() async {
    while (try? await worker.sleeper.sleep(for: duration / 3)) != nil {  // ends by cancellation
      let held = state.withLock { Array($0.leases.values) }
      guard !held.isEmpty else { continue }
      // A renewal that fails is repeated in a third of a lease; if the lease is lost by then, the
      // settlement says so.
      _ = try? await worker.ledger.renew(held, until: worker.now + duration)
    }
  }

  /// Gives back whatever is still held.
  func releaseAll() async {
    let held = state.withLock { Array($0.leases.values) }
    guard !held.isEmpty else { return }
    _ = try? await worker.ledger.release(held)  // else they end by themselves
    remove(held)
  }
}

// MARK: Waiting

extension LeaseKeeper {
  /// Returns when a claim of this run has given an entry back, or the task is cancelled.
  ///
  /// - Returns: false at once where none has it.
  func isGivenBack(_ entry: EntryKey) async -> Bool {
    let number = state.withLock { state in
      state.lastWaiter += 1
      return state.lastWaiter
    }
    return await withTaskCancellationHandler {
      var isHeld = true
      await withCheckedContinuation { continuation in
        isHeld = state.withLock { state in
          guard state.leases[entry] != nil, !Task.isCancelled else { return false }
          state.waiting[entry, default: [:]][number] = continuation
          return true
        }
        if !isHeld { continuation.resume() }
      }
      return isHeld
    } onCancel: {
      state.withLock { $0.waiting[entry]?.removeValue(forKey: number) }?.resume()
    }
  }
}
