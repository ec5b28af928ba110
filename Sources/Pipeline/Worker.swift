// Pipeline: one item from its lease to its outcome, and the run that drains a job.
//
// In: a job's settings and the ledger's claims. Out: settlements, published names, a summary.
// Tasks of the cooperative pool run it; whatever blocks lives in the stages, on threads of their own.
//
//   JobRun     claims entries, keeps so many under way, renews leases, ends when nothing is due
//   ItemRun    the steps of one claim: walk, render, commit, settle, publish
//   ChainWalk  from an item's URL over its redirects to bytes: what is fresh, what must be asked
//   Rendering  which variants are missing and how they are made

import DecoderPool
import Fetching
import LedgerCore
import Storage
import Threading
import Vocabulary

/// The stages that a run drives, opened once per process.
// An object: as a value it would be large, and each claim goes through it many times.
package final class Worker: Sendable {
  package let ledger: any Ledger
  package let store: ObjectStore
  package let fetcher: Fetcher
  package let decoders: DecoderPool
  /// Of `decoders`: they decide which variants are wanted.
  package let encoders: EncoderVersions
  package let clock: WallClock
  package let sleeper: any Sleeper
  let fileTrust = FileTrust()

  package init(
    ledger: any Ledger, store: ObjectStore, fetcher: Fetcher, decoders: DecoderPool,
    clock: WallClock, sleeper: any Sleeper, encoders: EncoderVersions = .unknown
  ) {
    self.encoders = encoders
    self.ledger = ledger
    self.store = store
    self.fetcher = fetcher
    self.decoders = decoders
    self.clock = clock
    self.sleeper = sleeper
  }

  var now: Timestamp { Timestamp(milliseconds: clock.milliseconds()) }

  /// Clocks are set right by little all the time.
  private static let clockTolerance: Duration = .seconds(60)

  static func clockWentBack(since time: Timestamp?, at now: Timestamp) -> Bool {
    time.map { now + clockTolerance < $0 } ?? false
  }

  private var shelves: Shelves { Shelves(ledger: ledger, store: store) }

  func removeUnused() async throws(RunStop) { try await shelves.removeUnused() }

  func publishPending(isStopped: () -> Bool) async throws(RunStop) -> [RefusedLink] {
    try await shelves.publishPending(isStopped: isStopped)
  }

  func publish(_ links: [LinkTask]) async throws(RunStop) -> [RefusedLink] {
    guard !links.isEmpty else { return [] }
    return try await shelves.publish(links)
  }
}

/// What the command line asks of a run.
package struct RunOptions: Sendable {
  /// Treat every entry as expired.
  package var force = false
  /// Treat what expires within it as expired.
  package var refreshAhead: Duration = .zero
  /// Refresh a share of what is about to expire earlier, each URL at a time of its own, and what may not
  /// be kept not at once again: for a worker that runs for months.
  package var refreshesAhead = false
  /// Ignore cool-downs, though not a lifetime that the server gave to a failure.
  package var retryFailed = false
  /// Do not trust that an unchanged manifest is unchanged.
  package var reread = false
  /// Claim at most so many entries; nil is all.
  package var limit: Int?
  /// How long a claim is this worker's without a renewal.
  package var leaseDuration: Duration = .seconds(30)

  /// How long what is under way may take after a signal.
  package var grace: Duration = .seconds(10)
  /// What expires on arrival, or may not be kept, is asked for again by such a worker after so long.
  static let leastRefreshInterval: Duration = .seconds(900)

  package init() {}
}
