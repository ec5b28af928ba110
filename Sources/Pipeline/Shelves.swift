import LedgerCore
import Storage
import Threading
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
        CrashSeam.objectsLetGo.reached()
        try await store.remove(held, butNot: known)
        CrashSeam.objectsRemoved.reached()
        // What could not be held is somebody's: it will be in the ledger, or an orphan.
        try await ledger.confirmRemoval(digests)
      }
    } catch {
      throw RunStop(error)
    }
  }

  /// Makes and removes published names, then lets the ledger know which are as it wants them.
  ///
  /// - Returns: those that cannot be made or removed, such as a name where a folder stands. The ledger
  ///   has been told: the items of names that cannot be made have failed.
  func publish(_ links: [LinkTask]) async throws(RunStop) -> [RefusedLink] {
    guard !links.isEmpty else { return [] }
    var refused: [RefusedLink] = []
    do {
      do throws(StorageFailure) {
        try await store.publish(links.map(PublicName.init))
      } catch {
        // One name spoils a group: each is tried alone, and those that stand are confirmed.
        guard error.disposition != .stopRun else { throw error }
        refused = try await publishEach(links)
      }
      let failed = Set(refused.map(\.link))
      CrashSeam.namesDurable.reached()
      try await ledger.confirm(links.filter { !failed.contains($0) })
      try await ledger.refuse(refused.filter { $0.link.object != nil })
      return refused
    } catch {
      throw RunStop(error)
    }
  }

  /// Makes and removes the names that the ledger wants so and that nobody has seen to yet.
  ///
  /// - Parameter isStopped: asked before each thousand of them: there may be millions.
  /// - Returns: as `publish` does.
  func publishPending(isStopped: () -> Bool = { false }) async throws(RunStop) -> [RefusedLink] {
    var refused: [RefusedLink] = []
    do {
      while !isStopped(), case let links = try await ledger.pendingLinks(limit: 1000),
        !links.isEmpty
      {
        let these = try await publish(links)
        refused += these
        // What cannot be removed stays pending: asking once more would give it again.
        guard these.allSatisfy({ $0.link.object != nil }) else { break }
      }
      return refused
    } catch {
      throw RunStop(error)
    }
  }

  private func publishEach(
    _ links: [LinkTask]
  ) async throws(StorageFailure) -> [RefusedLink] {
    // All at once: the store puts them into groups, and tells each one's end.
    let failures = await withTaskGroup(of: (Int, StorageFailure?).self) { group in
      for (index, link) in links.enumerated() {
        group.addTask {
          do throws(StorageFailure) {
            try await store.publish([PublicName(link)])
            return (index, nil)
          } catch {
            return (index, error)
          }
        }
      }
      var failures: [Int: StorageFailure] = [:]
      for await (index, failure) in group { failures[index] = failure }
      return failures
    }
    if let stop = failures.values.first(where: { $0.disposition == .stopRun }) { throw stop }
    return links.indices.compactMap { index in
      failures[index].map { RefusedLink(link: links[index], failure: FailureRecord($0)) }
    }
  }
}

extension PublicName {
  init(_ link: LinkTask) {
    self.init(job: link.jobName, path: link.path, object: link.object)
  }
}
