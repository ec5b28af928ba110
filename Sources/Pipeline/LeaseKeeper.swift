import LedgerCore
import Synchronization
import Threading
import Vocabulary

/// Renews the leases of the claims under way until it is cancelled.
final class LeaseKeeper: Sendable {
  private let worker: Worker
  private let duration: Duration
  private let leases = Mutex<[EntryKey: Lease]>([:])

  init(worker: Worker, duration: Duration) {
    self.worker = worker
    self.duration = duration
  }

  func add(_ lease: Lease) { leases.withLock { $0[lease.entry] = lease } }
  func remove(_ lease: Lease) { leases.withLock { $0[lease.entry] = nil } }

  /// Three renewals fit into a lease, so that two may be late.
  func run() async {
    while (try? await worker.sleeper.sleep(for: duration / 3)) != nil {  // ends by cancellation
      let held = leases.withLock { Array($0.values) }
      guard !held.isEmpty else { continue }
      // A renewal that fails is repeated in a third of a lease; if the lease is lost by then, the
      // settlement says so.
      _ = try? await worker.ledger.renew(held, until: worker.now + duration)
    }
  }

  /// Gives back whatever is still held.
  func releaseAll() async {
    let held = leases.withLock { leases in
      defer { leases = [:] }
      return Array(leases.values)
    }
    guard !held.isEmpty else { return }
    _ = try? await worker.ledger.release(held)  // else they end by themselves
  }
}
