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
package struct Worker: Sendable {
  package var ledger: any Ledger
  package var store: ObjectStore
  package var fetcher: Fetcher
  package var decoders: DecoderPool
  /// Of `decoders`: they decide which variants are wanted.
  package var encoders: EncoderVersions
  package var clock: WallClock
  package var sleeper: any Sleeper

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

  /// Deletes the objects of purged entries that nothing refers to any more.
  ///
  /// An equal object may be committed by another worker at this moment, for an entry that the ledger
  /// does not know of yet. So it is held first, then looked up in the ledger, and only then removed:
  /// whoever has committed it and not settled keeps us from holding it, and whoever has settled it is in
  /// the ledger by now.
  func removeUnused() async throws(RunStop) {
    do {
      while case let digests = try await ledger.pendingRemovals(limit: 256), !digests.isEmpty {
        let held = try await store.hold(digests)
        let known = try await ledger.objectsKnown(among: held.digests)
        try await store.remove(held, butNot: known)
        // What could not be held is somebody's: it will be in the ledger, or an orphan.
        try await ledger.confirmRemoval(digests)
      }
    } catch {
      throw RunStop(error)
    }
  }

  /// Makes and removes published names, then lets the ledger know which are as it wants them.
  ///
  /// - Returns: those that cannot be made, such as a name where another item's folder stands.
  func publish(_ links: [LinkTask]) async throws(RunStop) -> [(LinkTask, FailureRecord)] {
    guard !links.isEmpty else { return [] }
    var refused: [(LinkTask, FailureRecord)] = []
    do {
      do throws(StorageFailure) {
        try await store.publish(links.map(PublicName.init))
      } catch {
        // One name spoils a group: each is tried alone, and those that stand are confirmed.
        guard error.disposition != .stopRun else { throw error }
        refused = try await publishEach(links)
      }
      let failed = Set(refused.map(\.0))
      try await ledger.confirm(links.filter { !failed.contains($0) })
      return refused
    } catch {
      throw RunStop(error)
    }
  }

  private func publishEach(
    _ links: [LinkTask]
  ) async throws(StorageFailure) -> [(LinkTask, FailureRecord)] {
    var refused: [(LinkTask, FailureRecord)] = []
    for link in links {
      do throws(StorageFailure) {
        try await store.publish([PublicName(link)])
      } catch {
        guard error.disposition != .stopRun else { throw error }
        refused.append((link, FailureRecord(error)))
      }
    }
    return refused
  }
}

extension PublicName {
  fileprivate init(_ link: LinkTask) {
    self.init(job: link.jobName, path: link.path, object: link.object)
  }
}

/// What the command line asks of a run.
package struct RunOptions: Sendable {
  /// Treat every entry as expired.
  package var force = false
  /// Treat what expires within it as expired.
  package var refreshAhead: Duration = .zero
  /// Ignore cool-downs, though not a lifetime that the server gave to a failure.
  package var retryFailed = false
  /// Do not trust that an unchanged manifest is unchanged.
  package var reread = false
  /// Claim at most so many entries; nil is all.
  package var limit: Int?
  /// How long a claim is this worker's without a renewal.
  package var leaseDuration: Duration = .seconds(30)

  package init() {}
}
