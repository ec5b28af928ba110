import LedgerCore
import Storage
import Vocabulary

/// A ledger and its store, where what one says of the other is made true.
struct Shelves: Sendable {
  let ledger: any Ledger
  let store: ObjectStore

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
  init(_ link: LinkTask) {
    self.init(job: link.jobName, path: link.path, object: link.object)
  }
}
