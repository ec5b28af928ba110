import HTTPCaching
import Vocabulary

/// Everything known: entries, freshness, variants, the queue, jobs and runs.
///
/// Every method is one transaction (or joins others in one) and returns when it is durable as far as
/// the ledger promises: never inconsistent, at worst without the newest batch after a power cut.
package protocol Ledger: Sendable {
  // MARK: Jobs and their manifests

  /// The job of that name, if it was ever read.
  func job(named name: String) async throws(LedgerFailure) -> JobRecord?

  /// The jobs whose manifest was read to its end from that path, the last to be read first.
  func jobs(readFrom path: String) async throws(LedgerFailure) -> [JobRecord]

  /// The manifest's file has moved or was touched; its bytes are those that were read.
  func keep(_ identity: ManifestIdentity, of job: JobNumber) async throws(LedgerFailure)

  /// Starts (or repeats) the reading of a manifest. Until `finishIngest`, the job's older items stay.
  ///
  /// - Parameter settings: the manifest's head as JSON text, credentials by their variables' names;
  ///   the ledger keeps it and does not read it. If its digest differs from the one kept, every item
  ///   of the job is due at once: its freshness and variants must be looked at anew.
  func beginIngest(
    name: String, settings: String, settingsDigest: Digest, at now: Timestamp
  ) async throws(LedgerFailure) -> IngestTicket

  /// Adds or confirms items. New items and items whose URL or variants changed are due at once.
  /// - Returns: the places, in `items` with `bad` behind them, of those whose id this reading had met
  ///   before; they change nothing.
  func ingest(
    _ items: [ItemEntry], bad: [BadItem], ticket: IngestTicket
  ) async throws(LedgerFailure) -> [Int]

  /// Ends a reading: items that were not met are gone, and so are their published names if `prune`;
  /// otherwise the names stay as they are. The manifest's identity is kept so that an unchanged one
  /// need not be read again. A reading that another has followed meanwhile removes nothing: the last
  /// one to begin decides.
  /// - Returns: the links to remove, the first ten thousand of them; `pendingLinks` has them all.
  func finishIngest(
    _ ticket: IngestTicket, identity: ManifestIdentity?, prune: Bool
  ) async throws(LedgerFailure) -> [LinkTask]

  /// Every item of a job is to be looked at, whatever its due time.
  func makeAllDue(of job: JobNumber) async throws(LedgerFailure)

  /// Every item of every job is to be looked at, whatever its due time: the object store was emptied
  /// or replaced, or the clock went back.
  func makeAllDue() async throws(LedgerFailure)

  // MARK: Runs

  func beginRun(job: JobNumber, at now: Timestamp) async throws(LedgerFailure) -> RunNumber

  func finishRun(
    _ run: RunNumber, job: JobNumber, counts: [Outcome: Int], at now: Timestamp
  ) async throws(LedgerFailure)

  /// How many items of the job this run has not settled, by their state now.
  func unsettled(job: JobNumber, run: RunNumber) async throws(LedgerFailure) -> [ItemState: Int]

  /// How many items of the job a run has to look at and has not settled, by their state.
  func due(
    job: JobNumber, run: RunNumber, by rule: DueRule
  ) async throws(LedgerFailure) -> [ItemState: Int]

  // MARK: The queue

  /// Leases due entries, a few of each host in turn. An entry is leased to one worker at a time.
  func claim(_ request: ClaimRequest) async throws(LedgerFailure) -> ClaimResult

  /// Leases an entry that a claim's redirects lead to, so that it is asked for by one claim at a time,
  /// whichever process and job it is of. The settlement names the lease, and ends it.
  ///
  /// - Parameter held: the claim's lease and those of the targets that it has come over.
  func lease(
    _ target: EntryKey, for held: [Lease], run: RunNumber, until: Timestamp, at now: Timestamp
  ) async throws(LedgerFailure) -> TargetLease

  /// Lengthens leases; those that were lost meanwhile are left out of the result.
  func renew(
    _ leases: [Lease], until: Timestamp
  ) async throws(LedgerFailure) -> [Lease]

  /// When each job that is not paused has something to be worked on.
  func nextDue() async throws(LedgerFailure) -> [DueJob]

  /// Gives leases back without a result: their items are due as before.
  func release(_ leases: [Lease]) async throws(LedgerFailure)

  /// Writes one claim's results if its leases still hold: nobody else has claimed the entries since. An
  /// item that was changed after the claim stays due instead.
  func settle(_ settlement: Settlement) async throws(LedgerFailure) -> SettlementResult

  /// Links that were made or removed.
  func confirm(_ links: [LinkTask]) async throws(LedgerFailure)

  /// Names that cannot be made: they are wanted no more, and their items have failed. They are due in
  /// the next run, which tries again.
  func refuse(_ links: [RefusedLink]) async throws(LedgerFailure)

  /// None of a job's names stands any more: each is to be linked again.
  func forgetLinks(of job: JobNumber, at now: Timestamp) async throws(LedgerFailure)

  /// Links that are not confirmed, oldest first: those that a dead worker left undone, and those that
  /// a live one is about to make.
  func pendingLinks(limit: Int) async throws(LedgerFailure) -> [LinkTask]

  // MARK: Hosts in trouble

  /// Writes down what a process has learnt of hosts, put together with what others have
  /// (`HostStanding.merged`).
  func note(_ standings: [String: HostStanding], at now: Timestamp) async throws(LedgerFailure)

  /// What was written down since an earlier look, that a host is well again included.
  ///
  /// - Parameter revision: as the last look gave it; 0 for all that is known.
  /// - Returns: at most a thousand hosts, and where to go on; the same revision: there is no more.
  func standings(
    after revision: Int64
  ) async throws(LedgerFailure) -> (hosts: [String: HostStanding], revision: Int64)

  /// Lets one run try whether a host is back, until its standing changes or that time.
  ///
  /// - Returns: nil, or until when another run is trying.
  func beginProbe(
    of host: String, by run: RunNumber, until: Timestamp, at now: Timestamp
  ) async throws(LedgerFailure) -> Timestamp?

  // MARK: Objects that nothing refers to any more

  /// Objects of purged entries that no entry, variant or name refers to: their rows are gone, their
  /// files are to go. Whoever removes them holds them against other workers first
  /// (`ObjectStore.hold`), then asks `objectsKnown`, removes the rest and confirms.
  func pendingRemovals(limit: Int) async throws(LedgerFailure) -> [Digest]

  /// Those of the objects that the ledger refers to now: another worker may have stored the same
  /// bytes since.
  func objectsKnown(among digests: [Digest]) async throws(LedgerFailure) -> Set<Digest>

  /// Objects whose files were removed, or are to stay.
  func confirmRemoval(_ digests: [Digest]) async throws(LedgerFailure)

  // MARK: Looking up

  func entry(_ key: EntryKey) async throws(LedgerFailure) -> Entry?

  /// The variants of one original, by recipe.
  func variants(of original: Digest) async throws(LedgerFailure) -> [VariantRecord]

  /// The items that name an entry, in all jobs, with their published names.
  func items(naming key: EntryKey) async throws(LedgerFailure) -> [ItemView]

  /// The item or items of that id.
  func items(withID id: String) async throws(LedgerFailure) -> [ItemView]

  /// The first of a job's items whose URL cannot be used, in the order they were read.
  func unusableItems(of job: JobNumber, limit: Int) async throws(LedgerFailure) -> [ItemView]

  /// A job's items in the order of their ids, with what is known of each.
  ///
  /// - Parameters:
  ///   - id: the last one of the page before; empty for the first page.
  ///   - limit: how many at most; an empty page is the end.
  func knownItems(
    of job: JobNumber, after id: String, limit: Int
  ) async throws(LedgerFailure) -> [KnownItem]

  func status(at now: Timestamp) async throws(LedgerFailure) -> LedgerStatus

  /// By which encoders the variants that are wanted are made; unknown before the first run.
  func encoders() async throws(LedgerFailure) -> EncoderVersions

  /// Keeps by which encoders variants are made from now on. Where they are others than before, every
  /// item of every job is due: its variants are to be made anew.
  func adopt(_ encoders: EncoderVersions) async throws(LedgerFailure)

  /// The random name that this ledger shares with its object store.
  func storeID() async throws(LedgerFailure) -> String

  func close() async
}

/// An open reading of a manifest.
package struct IngestTicket: Sendable, Hashable {
  package var job: JobNumber
  /// Grows with each reading; the last one to begin decides which items have left.
  package var generation: Int64

  package init(job: JobNumber, generation: Int64) {
    self.job = job
    self.generation = generation
  }
}

package struct JobRecord: Sendable, Hashable {
  package var number: JobNumber
  package var name: String
  package var identity: ManifestIdentity?
  /// As `beginIngest` was given it.
  package var settings: String
  package var settingsDigest: Digest
  package var items: Int
  /// When its newest run began or ended, by the clock of that time.
  package var lastActive: Timestamp?

  package init(
    number: JobNumber, name: String, identity: ManifestIdentity?, settings: String,
    settingsDigest: Digest, items: Int, lastActive: Timestamp? = nil
  ) {
    self.number = number
    self.name = name
    self.identity = identity
    self.settings = settings
    self.settingsDigest = settingsDigest
    self.items = items
    self.lastActive = lastActive
  }
}

/// A job and when it is worth a look: what falls due within a minute is one look's work.
package struct DueJob: Sendable, Hashable {
  package var number: JobNumber
  package var name: String
  /// When the first minute in which something falls due is over; of what is due at once, long ago.
  package var dueAt: Timestamp
  /// When its last run began or ended, whichever is later; nil before the first.
  package var lastActive: Timestamp?

  package init(number: JobNumber, name: String, dueAt: Timestamp, lastActive: Timestamp?) {
    self.number = number
    self.name = name
    self.dueAt = dueAt
    self.lastActive = lastActive
  }
}

/// One item with what is published of it.
package struct ItemView: Sendable, Hashable {
  package var job: String
  package var id: ItemID
  /// Nil for an unusable item.
  package var url: ItemURL?
  /// As it may be shown to anybody.
  package var shownURL: String
  package var key: EntryKey?
  package var state: ItemState
  package var dueAt: Timestamp
  package var failure: FailureRecord?
  package var published: [Publication]

  package init(
    job: String, id: ItemID, url: ItemURL?, shownURL: String, key: EntryKey?, state: ItemState,
    dueAt: Timestamp, failure: FailureRecord?, published: [Publication]
  ) {
    self.job = job
    self.id = id
    self.url = url
    self.shownURL = shownURL
    self.key = key
    self.state = state
    self.dueAt = dueAt
    self.failure = failure
    self.published = published
  }
}

package struct LedgerStatus: Sendable, Hashable {
  package struct Job: Sendable, Hashable {
    package var name: String
    package var items: Int
    /// Well and not due.
    package var fresh: Int
    /// Well and due.
    package var stale: Int
    package var failed: Int
    /// Those of them that no other try is expected to mend, items with an unusable URL left out: `retry`
    /// makes them due.
    package var dead = 0
    package var pending: Int
    package var notStored: Int
    package var lastRun: Timestamp?

    package init(
      name: String, items: Int, fresh: Int, stale: Int, failed: Int, pending: Int, notStored: Int,
      lastRun: Timestamp?
    ) {
      self.name = name
      self.items = items
      self.fresh = fresh
      self.stale = stale
      self.failed = failed
      self.pending = pending
      self.notStored = notStored
      self.lastRun = lastRun
    }
  }

  /// A host of which entries fail now, or that is left alone.
  package struct Host: Sendable, Hashable {
    package var host: String
    /// When it is asked again: the first of its failed entries, and not while it is left alone.
    package var coolingUntil: Timestamp
    /// How many of its entries fail.
    package var failures: Int
    /// What was learnt of it as a whole.
    package var standing: HostStanding

    package init(
      host: String, coolingUntil: Timestamp, failures: Int, standing: HostStanding = HostStanding()
    ) {
      self.host = host
      self.coolingUntil = coolingUntil
      self.failures = failures
      self.standing = standing
    }
  }

  package var jobs: [Job]
  /// Those in trouble only, the worst first.
  package var hosts: [Host]
  package var objectCount: Int
  package var objectBytes: Int
  /// Items that are due now and leased to nobody.
  package var queuePending: Int
  /// Entries that are leased now.
  package var queueLeased: Int
  /// Leases that have ended and that nobody has taken over yet: their workers died or are frozen.
  package var queueExpired = 0
  /// The jobs' dead items.
  package var queueDead: Int
  /// When the first well item falls due.
  package var nextExpiry: Timestamp?

  package init(
    jobs: [Job], hosts: [Host] = [], objectCount: Int, objectBytes: Int, queuePending: Int,
    queueLeased: Int, queueDead: Int, nextExpiry: Timestamp?
  ) {
    self.jobs = jobs
    self.hosts = hosts
    self.objectCount = objectCount
    self.objectBytes = objectBytes
    self.queuePending = queuePending
    self.queueLeased = queueLeased
    self.queueDead = queueDead
    self.nextExpiry = nextExpiry
  }
}

/// Why the ledger cannot be used; ends the run, what was done is kept.
package enum LedgerFailure: WorkerFailure, Hashable {
  case unreadable(path: String, reason: String)
  /// Written by a newer program.
  case newer(path: String, version: Int, supported: Int)
  /// Written by an older program; only what writes can bring it to the newest schema.
  case older(path: String, version: Int, supported: Int)
  case damaged(path: String, reason: String)
  /// Another program's file.
  case foreign(path: String)
  case busy(path: String, waited: Duration)
  /// Somebody reads it, and for so long that what was written since has no more room.
  case readForTooLong(path: String, waited: Duration)
  /// Its name is gone, or stands for another file, while it is in use.
  case moved(path: String)
  case diskFull(path: String)
  case readOnly(path: String)
  /// A file beside the ledger, such as a backup.
  case unwritable(path: String, reason: String)
  case other(path: String, reason: String)

  package var code: String {
    switch self {
    case .diskFull: "disk-full"
    default: "ledger"
    }
  }

  package var message: String {
    switch self {
    case .unreadable(let path, let reason): "the ledger \(path) cannot be opened: \(reason)"
    case .newer(let path, let version, let supported):
      "the ledger \(path) has schema version \(version); this program knows up to \(supported)"
    case .older(let path, let version, let supported):
      "the ledger \(path) has schema version \(version); this program reads version \(supported)"
    case .damaged(let path, let reason): "the ledger \(path) is damaged: \(reason)"
    case .foreign(let path): "\(path) is another program's database, not a ledger"
    case .busy(let path, let waited):
      "the ledger \(path) was locked by another program for \(DurationText.format(waited))"
    case .readForTooLong(let path, let waited):
      "another program has been reading the ledger \(path) for \(DurationText.format(waited)), and as "
        + "long as it does nothing more can be written"
    case .moved(let path): "the ledger \(path) was moved or deleted while it was in use"
    case .diskFull(let path): "no space left for the ledger \(path)"
    case .readOnly(let path): "the ledger \(path) cannot be written"
    case .unwritable(let path, let reason): "\(path) cannot be written: \(reason)"
    case .other(let path, let reason): "the ledger \(path): \(reason)"
    }
  }

  package var hint: String {
    switch self {
    case .unreadable: "check the path of --root and its permissions"
    case .newer: "use the newer thumbworker that wrote it, or another --root"
    case .older: "run a job, or thumbworker gc: what writes brings it to that version first"
    case .damaged: "restore it from a backup, or move it away: the next run builds a new one"
    case .foreign: "give another --root"
    case .busy: "stop the program that holds it, then run again"
    case .readForTooLong: "end the program that reads it (fuser -v shows which), then run again"
    case .moved: "run again: where a root was deleted, a new one is begun"
    case .diskFull: "free some space, then run again: what was done is kept"
    case .readOnly: "give the user of this run write access to the root and everything in it"
    case .unwritable: "name another file"
    case .other: "run again; if it stays, move the ledger away: the next run builds a new one"
    }
  }

  package var disposition: Disposition { .stopRun }
}
