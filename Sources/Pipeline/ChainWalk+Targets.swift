import LedgerCore
import Threading
import Vocabulary

// A redirect's target that is to be asked for is held like a claimed entry: several chains lead to it,
// or it is an item itself, and it is asked for once. Whoever comes second waits, without a place at its
// host or among the transfers, and then finds what the first has learnt.

extension ChainWalk {
  /// Another process tells nothing when it settles.
  private static let lookInterval: Duration = .milliseconds(200)

  /// Returns when nobody else has the entry.
  ///
  /// The deadline is moved by the time that was waited.
  ///
  /// - Returns: what is known of it by then.
  @inline(never)
  nonisolated(nonsending) func reserve(_ hop: Hop) async throws(RunStop) -> Hop {
    do {
      let key = hop.entry.key
      let held = [claim.lease] + result.targets
      let reply = try await worker.ledger.lease(
        key, for: held, run: context.run,
        until: worker.now + context.options.leaseDuration, at: worker.now)
      switch reply {
      case .granted(let lease):
        context.leases.add([lease])
        add(lease)
      case .wouldDeadlock:
        leaveUnreserved(key)
        return hop
      case .held(let end):
        extendDeadline(by: try await wait(for: key, until: end))
      }
      return try await worker.ledger.entry(key).map { Hop($0) } ?? hop
    } catch {
      throw RunStop(error)
    }
  }

  /// - Returns: for how long.
  nonisolated(nonsending) private func wait(
    for target: EntryKey, until end: Timestamp
  ) async throws(CancellationError) -> Duration {
    let start = worker.sleeper.now
    context.board.pauses(host: item.host)
    defer { context.board.goesOn(host: item.host) }
    if await !context.leases.isGivenBack(target) {
      let left = max(end - worker.now, .milliseconds(1))
      try await worker.sleeper.sleep(for: min(left, Self.lookInterval))
    }
    guard !Task.isCancelled else { throw CancellationError() }
    return worker.sleeper.now - start
  }
}
