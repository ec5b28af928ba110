import Fetching
import Hashing
import LedgerCore
import Manifests
import Storage
import Threading
import Vocabulary

/// Keeps ledger, objects and published names in line, without network and decoders.
package struct Housekeeper: Sendable {
  package var ledger: any Ledger & LedgerHousekeeping
  package var store: ObjectStore
  package var clock: WallClock

  package init(
    ledger: any Ledger & LedgerHousekeeping, store: ObjectStore, clock: WallClock
  ) {
    self.ledger = ledger
    self.store = store
    self.clock = clock
  }

  var now: Timestamp { Timestamp(milliseconds: clock.milliseconds()) }
  private var shelves: Shelves { Shelves(ledger: ledger, store: store) }

  /// Brings the ledger's items of a job into line with its manifest, and leaves the work to others.
  ///
  /// - Returns: why sources of it could not be read as they are now.
  package func enqueue(
    _ source: JobSource, reread: Bool, fetcher: Fetcher
  ) async throws(RunStop) -> [FailureRecord] {
    let desk = SourceDesk(fetcher: fetcher, store: store, settings: source.settings)
    let result = try await source.takeIn(to: ledger, asking: desk, reread: reread, at: now)
    _ = try await shelves.publish(result.removed)  // removals: there is nothing to be in the way
    return result.failures
  }

  /// Forgets entries with what their redirects lead to, and deletes their files.
  package func purge(_ keys: [EntryKey]) async throws(RunStop) -> PurgeResult {
    do {
      var result = try await ledger.purge(keys)
      CrashSeam.entriesForgotten.reached()
      _ = try await shelves.publish(result.links)  // removals: there is nothing to be in the way
      try await shelves.removeUnused()
      try await store.forgetBeginnings(keys + result.keys)
      // Done: a sum over very many entries is not to hold them all.
      (result.keys, result.links) = ([], [])
      return result
    } catch {
      throw RunStop(error)
    }
  }

  /// Forgets every entry that is chosen, a page at a time.
  package func purge(
    where isChosen: (EntryOverview) -> Bool
  ) async throws(RunStop) -> PurgeResult {
    do {
      var sum = PurgeResult()
      try await forEachEntry { page in sum += try await purge(page.filter(isChosen).map(\.key)) }
      return sum
    } catch {
      throw RunStop(error)
    }
  }

  /// Deletes what sources of manifests have sent last: they are asked for as if for the first time.
  ///
  /// - Parameter keys: nil is all that there are.
  /// - Returns: of how many something was kept.
  package func forgetSources(_ keys: Set<EntryKey>?) async throws(RunStop) -> Int {
    do {
      return try await store.forgetSources(keys)
    } catch {
      throw RunStop(error)
    }
  }

  /// Of the sources at URLs from which jobs have their items.
  package func sourceKeys(
    where isChosen: (JobNumber, ItemURL) -> Bool = { _, _ in true }
  ) async throws(RunStop) -> Set<EntryKey> {
    do {
      var keys: Set<EntryKey> = []
      for job in try await ledger.jobs() {
        for source in try await ledger.job(named: job.name)?.identity?.sources ?? [] {
          guard let url = SourceAddress(recorded: source.address)?.url,
            isChosen(job.number, url)
          else { continue }
          keys.insert(EntryKey(url))
        }
      }
      return keys
    } catch {
      throw RunStop(error)
    }
  }

  static let pageSize = 256

  /// Hands out all entries, a page at a time.
  func forEachEntry(_ body: ([EntryOverview]) async throws -> Void) async throws {
    var last: EntryKey?
    while case let page = try await ledger.entries(after: last, limit: Self.pageSize),
      let end = page.last
    {
      last = end.key
      try await body(page)
    }
  }

  /// Forgets a job, its items and, unless they are to stay, its published names.
  ///
  /// - Returns: false where there is no such job.
  package func removeJob(named name: String, keepsNames: Bool) async throws(RunStop) -> Bool {
    do {
      guard let job = try await ledger.emptyJob(named: name, keepsNames: keepsNames) else {
        return false
      }
      try await publishPending()
      // False: somebody reads its manifest again already.
      if try await ledger.forgetJob(job) { store.removeFolderIfEmpty(ofJob: name) }
      return true
    } catch {
      throw RunStop(error)
    }
  }

  /// Of all objects, as the ledger counts them.
  package func storedBytes() async throws(RunStop) -> Int {
    do {
      return try await ledger.objectTotals().bytes
    } catch {
      throw RunStop(error)
    }
  }

  func publishPending() async throws(RunStop) { _ = try await shelves.publishPending() }

  func removeUnused() async throws(RunStop) { try await shelves.removeUnused() }
}
