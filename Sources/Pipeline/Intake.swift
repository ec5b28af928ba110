import Hashing
import LedgerCore
import Manifests
import Threading
import Vocabulary

/// Brings the ledger's items of a job into line with its manifest.
struct Intake {
  let manifest: ManifestFile
  let ledger: any Ledger

  /// What decides whether items must be looked at anew: the head, and how we process.
  static func settingsDigest(ofHead headText: String) -> Digest {
    Digest(of: "p\(Recipe.processingVersion)\n\(headText)")
  }

  /// - Returns: the job, and the published names that are to go.
  /// - Throws: `RunStop` when the ledger or the file fails.
  func read(reread: Bool, at now: Timestamp) async throws(RunStop) -> (JobNumber, [LinkTask]) {
    do {
      let name = manifest.settings.name
      let digest = Self.settingsDigest(ofHead: manifest.headText)
      if !reread, let job = try await ledger.job(named: name), job.settingsDigest == digest,
        job.identity?.digest == manifest.digest
      {
        try await ledger.keep(manifest.ledgerIdentity(readAt: now), of: job.number)
        return (job.number, [])
      }
      let ticket = try await ledger.beginIngest(
        name: name, settings: manifest.headText, settingsDigest: digest, at: now)
      let pages = ItemPages(manifest: manifest)
      while case let page = try await pages.next(), !page.isEmpty {
        let (items, bad) = Self.sort(page)
        // The manifest's own reading has refused ids that stand twice.
        _ = try await ledger.ingest(items, bad: bad, ticket: ticket)
      }
      let removed = try await ledger.finishIngest(
        ticket, identity: manifest.ledgerIdentity(readAt: now),
        prune: manifest.settings.publish?.prune ?? true)
      return (ticket.job, removed)
    } catch let stop as RunStop {
      throw stop
    } catch {
      throw RunStop(error)
    }
  }

  private static func sort(_ page: [ManifestItem]) -> (items: [ItemEntry], bad: [BadItem]) {
    var items: [ItemEntry] = []
    var bad: [BadItem] = []
    items.reserveCapacity(page.count)
    for item in page {
      switch item {
      case .usable(let id, let url, let key, let variants, let meta):
        items.append(ItemEntry(id: id, url: url, key: key, variants: variants, meta: meta))
      case .unusable(let id, let shownURL, let failure):
        bad.append(BadItem(id: id, shownURL: shownURL, failure: failure))
      }
    }
    return (items, bad)
  }
}

/// Reads a manifest's items a page at a time on a thread of its own.
actor ItemPages {
  /// Enough for look-ups in key order to pay, few enough to stay small.
  private static let size = 16_384
  private let executor = ThreadExecutor(name: "tw-manifest")
  private let manifest: ManifestFile
  private var reader: ItemReader?

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  init(manifest: ManifestFile) { self.manifest = manifest }

  deinit { executor.stop() }

  /// Empty at the end.
  func next() throws(RunStop) -> [ManifestItem] {
    do {
      if reader == nil { reader = try manifest.makeItemReader() }
      return try reader!.next(atMost: Self.size)
    } catch {
      throw RunStop(error)
    }
  }
}

extension ManifestFile {
  /// What the ledger keeps to know an unchanged manifest by.
  func ledgerIdentity(readAt now: Timestamp) -> ManifestIdentity {
    ManifestIdentity(
      identity, path: Self.absolutePath(of: path), digest: digest, readAt: now)
  }
}

/// Why a run cannot go on.
package struct RunStop: WorkerFailure {
  package var failure: FailureRecord

  package var code: String { failure.code }
  package var message: String { failure.message }
  package var hint: String { failure.hint }
  package var disposition: Disposition { failure.disposition }

  init(_ error: any Error) {
    if let stop = error as? RunStop {
      self = stop
    } else if let failure = error as? any WorkerFailure {
      self.failure = FailureRecord(failure)
    } else {
      self.failure = .unexpected(error)
    }
  }
}

extension FailureRecord {
  /// An error that no stage declares: a fault of ours, shown rather than swallowed.
  static func unexpected(_ error: any Error) -> FailureRecord {
    FailureRecord(
      code: "internal", message: "unexpected \(type(of: error)): \(error)",
      hint: "this is a fault of thumbworker's: please report it", disposition: .giveUp)
  }
}
