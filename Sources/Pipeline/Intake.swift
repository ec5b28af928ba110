import Hashing
import LedgerCore
import Manifests
import Vocabulary

/// Brings the ledger's items of a job into line with its manifest and the manifest's sources.
///
/// What is met goes into the ledger page by page, so that others work on it while the rest is read. What
/// was not met leaves at the end, if everything was read to its end.
struct Intake: Sendable {
  let manifest: ManifestFile
  let ledger: any Ledger
  let desk: SourceDesk
  var watch = IntakeWatch()

  /// What decides whether items must be looked at anew: the head, and how we process.
  static func settingsDigest(ofHead headText: String) -> Digest {
    Digest(of: "p\(Recipe.processingVersion)\n\(headText)")
  }

  /// - Throws: `RunStop` when the ledger or the manifest's file fails, not for its sources.
  func read(reread: Bool, at now: Timestamp) async throws(RunStop) -> IntakeResult {
    do {
      let result =
        if !reread, let known = try await unchanged(at: now) { known } else {
          try await readAll(at: now)
        }
      await desk.finish()
      return result
    } catch {
      await desk.finish()
      throw RunStop(error)
    }
  }

  private func readAll(at now: Timestamp) async throws -> IntakeResult {
    let ticket = try await ledger.beginIngest(
      name: manifest.settings.name, settings: manifest.headText,
      settingsDigest: Self.settingsDigest(ofHead: manifest.headText), at: now)
    var reading = IntakeReading(ticket: ticket, startedAt: now)
    try await takeItems(&reading)
    try await takeSources(&reading)
    var result = IntakeResult(job: ticket.job, failures: reading.failures)
    guard reading.isComplete, !watch.isCancelled() else { return result }
    let identity = manifest.ledgerIdentity(readAt: now, sources: reading.identities)
    result.removed = try await ledger.finishIngest(
      ticket, identity: reading.isRepeatable ? identity : nil,
      prune: manifest.settings.publish?.prune ?? true)
    return result
  }

  private func takeItems(_ reading: inout IntakeReading) async throws {
    let pages = ItemPages()
    try await pages.open(manifest)
    while !watch.isCancelled(), case let page = try await pages.nextItems(), !page.isEmpty {
      let sorted = SortedItems(page)
      // The manifest's own reading has refused ids that stand twice.
      _ = try await ledger.ingest(sorted.items, bad: sorted.bad, ticket: reading.ticket)
      reading.items += page.count
      tell(of: reading)
    }
  }

  /// Lets others work on what was read. What ends within a page is worked on when it has ended: what has left
  /// the job is out of the way then.
  ///
  /// - Parameter waits: for what may be long in coming, as from a pipe or a server.
  func tell(of reading: IntakeReading, waits: Bool = false) {
    guard reading.items >= (waits ? 1 : ItemPages.size) else { return }
    watch.advanced(reading.ticket.job, reading.items)
  }
}

/// What a reading tells while it goes, and is told.
struct IntakeWatch: Sendable {
  /// So many items are in the ledger by now.
  var advanced: @Sendable (JobNumber, Int) -> Void = { _, _ in }
  /// Then the reading ends where it is, and nothing leaves.
  var isCancelled: @Sendable () -> Bool = { false }
}

/// What a reading has come to.
struct IntakeResult: Sendable {
  var job: JobNumber
  /// Published names that are to go.
  var removed: [LinkTask] = []
  /// Sources that could not be read, or not as they are now: their items stay.
  var failures: [FailureRecord] = []
}

/// A reading under way.
struct IntakeReading {
  let ticket: IngestTicket
  let startedAt: Timestamp
  var items = 0
  /// Of the sources so far.
  var identities: [SourceIdentity] = []
  var failures: [FailureRecord] = []
  /// Whether every source was read to its end.
  var isComplete = true
  /// Whether an unchanged state of everything can be told.
  var isRepeatable = true

  init(ticket: IngestTicket, startedAt: Timestamp) {
    self.ticket = ticket
    self.startedAt = startedAt
  }
}

/// Items as the ledger takes them.
struct SortedItems {
  private(set) var items: [ItemEntry] = []
  private(set) var bad: [BadItem] = []
  /// For each of `items`, then of `bad`: its place in what was given.
  private var itemPlaces: [Int] = []
  private var badPlaces: [Int] = []

  init(_ page: [ManifestItem]) {
    items.reserveCapacity(page.count)
    itemPlaces.reserveCapacity(page.count)
    for (place, item) in page.enumerated() {
      switch item {
      case .usable(let id, let url, let key, let variants, let meta):
        items.append(ItemEntry(id: id, url: url, key: key, variants: variants, meta: meta))
        itemPlaces.append(place)
      case .unusable(let id, let shownURL, let failure):
        bad.append(BadItem(id: id, shownURL: shownURL, failure: failure))
        badPlaces.append(place)
      }
    }
  }

  /// Where the item or bad item stood, counted as the ledger counts them.
  func place(of number: Int) -> Int {
    number < itemPlaces.count ? itemPlaces[number] : badPlaces[number - itemPlaces.count]
  }
}

extension ManifestFile {
  /// What the ledger keeps to know an unchanged manifest by.
  func ledgerIdentity(readAt now: Timestamp, sources: [SourceIdentity]) -> ManifestIdentity {
    var known = ManifestIdentity(
      identity, path: Self.absolutePath(of: path), digest: digest, readAt: now)
    known.sources = sources
    return known
  }
}
