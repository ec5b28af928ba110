import LedgerCore
import Vocabulary

// Redirects' targets: a claim that comes to one holds it beside its own entry, or waits for who does.
// All leases of a claim that waits tell what for, and a claim looks along them before it waits: so no
// ring of claims can close, whatever processes they are of.

extension Transaction {
  func lease(
    _ target: EntryKey, for held: [Lease], run: RunNumber, until expires: Timestamp,
    at now: Timestamp
  ) throws(LedgerFailure) -> TargetLease {
    guard let holder = try holder(of: target, at: now, lease: expires - now) else {
      try wait(held, for: nil)
      return .granted(try lease(target, run: run.value, until: expires))
    }
    guard try !waits(target, forOneOf: Set(held.map(\.entry)), at: now) else {
      return .wouldDeadlock
    }
    try wait(held, for: target)
    return .held(until: holder.expires)
  }

  private func wait(_ held: [Lease], for target: EntryKey?) throws(LedgerFailure) {
    for lease in held {
      try connection.run(
        "UPDATE leases SET waits_for = ? WHERE entry = ? AND token = ?",
        target.map { .key($0) } ?? .null, .key(lease.entry), .int(lease.token))
    }
  }

  /// Whether who holds an entry waits, over whatever others, for one of these.
  private func waits(
    _ entry: EntryKey, forOneOf ours: Set<EntryKey>, at now: Timestamp
  ) throws(LedgerFailure) -> Bool {
    var seen: Set<EntryKey> = []
    var next = entry
    while seen.insert(next).inserted {
      let waitsFor = try connection.first(
        "SELECT waits_for FROM leases WHERE entry = ? AND expires > ?", .key(next), .time(now)
      ) { $0.key(0) }
      guard case let key?? = waitsFor else { return false }
      if ours.contains(key) { return true }
      next = key
    }
    return false
  }
}
