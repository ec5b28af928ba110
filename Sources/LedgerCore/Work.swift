import HTTPCaching
import Vocabulary

/// A job's row number in its ledger.
package struct JobNumber: Sendable, Hashable {
  package var value: Int64; package init(_ value: Int64) { self.value = value }
}
/// An item's row number in its ledger.
package struct ItemNumber: Sendable, Hashable {
  package var value: Int64; package init(_ value: Int64) { self.value = value }
}
/// A run's row number in its ledger.
package struct RunNumber: Sendable, Hashable {
  package var value: Int64; package init(_ value: Int64) { self.value = value }
}

/// How an item stands in its job.
package enum ItemState: Int, Sendable, Hashable, CaseIterable {
  /// Not tried yet: entered by reading a manifest; left by the first settlement.
  case pending = 0
  /// Its variants are there: entered by `fresh`, `fetched`, `revalidated` or `rebuilt`.
  case well = 1
  /// The last try failed: entered by `failed`, left by the next success.
  case failed = 2
  /// The server forbids storing it: entered by `not_stored`.
  case notStored = 3
  /// Its URL or id cannot be used: `failed` in every run, without a request. Entered and left only by
  /// reading a manifest.
  case unusable = 4
}

/// An item as a manifest gives it, on its way into the ledger.
package struct ItemEntry: Sendable, Hashable {
  package var id: ItemID
  package var url: ItemURL
  package var key: EntryKey
  /// Names of the job's variants that it wants; nil is all.
  package var variants: [String]?
  /// The manifest's `meta`, as compact JSON text; nil is none.
  package var meta: String?

  package init(id: ItemID, url: ItemURL, key: EntryKey, variants: [String]?, meta: String?) {
    self.id = id
    self.url = url
    self.key = key
    self.variants = variants
    self.meta = meta
  }
}

/// An item whose URL cannot be used: it fails without a request.
package struct BadItem: Sendable, Hashable {
  package var id: ItemID
  /// As the manifest has it, secrets removed.
  package var shownURL: String
  package var failure: FailureRecord

  package init(id: ItemID, shownURL: String, failure: FailureRecord) {
    self.id = id
    self.shownURL = shownURL
    self.failure = failure
  }
}

/// What a run treats as due.
package struct DueRule: Sendable, Hashable {
  /// Items due at or before this are taken.
  package var horizon: Timestamp
  /// `--force`: every item is taken.
  package var takesAll: Bool
  /// `--retry-failed`: failed items are taken whatever their cool-down.
  package var takesFailed: Bool

  package init(horizon: Timestamp, takesAll: Bool = false, takesFailed: Bool = false) {
    self.horizon = horizon
    self.takesAll = takesAll
    self.takesFailed = takesFailed
  }
}

/// A worker's exclusive right to work on one entry, for a while.
///
/// The token grows with every claim of the entry, so that a worker that was frozen past its lease
/// cannot write its result (a fencing token).
package struct Lease: Sendable, Hashable {
  package var entry: EntryKey
  package var token: Int64
  package var expires: Timestamp

  package init(entry: EntryKey, token: Int64, expires: Timestamp) {
    self.entry = entry
    self.token = token
    self.expires = expires
  }
}

/// One entry to work on with those of the job's items that are due and name it.
package struct Claim: Sendable, Hashable {
  package var lease: Lease
  package var entry: Entry
  package var items: [ClaimedItem]
  /// The files of the variants that were made of its original, whatever their recipes, where they are to be
  /// looked for: names of each of the items may stand, and `ClaimRequest.fileLook` takes it. Else none.
  package var variantFiles: [ObjectRecord]

  package init(
    lease: Lease, entry: Entry, items: [ClaimedItem], variantFiles: [ObjectRecord] = []
  ) {
    self.lease = lease
    self.entry = entry
    self.items = items
    self.variantFiles = variantFiles
  }
}

package struct ClaimedItem: Sendable, Hashable {
  package var number: ItemNumber
  package var id: ItemID
  package var variants: [String]?
  package var state: ItemState
  /// What its published names were made from; nil where one of them has changed since.
  package var published: PublicationKey?
  /// For `ItemSettlement.before`.
  package var before: ItemStanding?

  package init(
    number: ItemNumber, id: ItemID, variants: [String]?, state: ItemState,
    published: PublicationKey? = nil, before: ItemStanding? = nil
  ) {
    self.number = number
    self.id = id
    self.variants = variants
    self.state = state
    self.published = published
    self.before = before
  }
}

/// How an item stood when it was claimed, besides its state.
package struct ItemStanding: Sendable, Hashable {
  package var dueAt: Timestamp
  /// That settled it last.
  package var run: RunNumber
  /// Where the ledger has found its entry; nil where it is new, or such a place means nothing.
  package var entryPlace: Int64?

  package init(dueAt: Timestamp, run: RunNumber, entryPlace: Int64? = nil) {
    self.dueAt = dueAt
    self.run = run
    self.entryPlace = entryPlace
  }
}

/// Stands for all that decides an item's published names and their objects. While it is the same, the
/// names stand and nothing has to be looked up to know it.
package struct PublicationKey: Sendable, Hashable {
  package let rawValue: Int64

  package init(rawValue: Int64) { self.rawValue = rawValue }
}

/// What is to be claimed.
package struct ClaimRequest: Sendable {
  package var job: JobNumber
  package var run: RunNumber
  package var due: DueRule
  /// At most so many entries.
  package var limit: Int
  /// At most so many entries of a host that `room` does not name.
  package var perHost: Int
  /// How many more entries of a host may be claimed now; 0 passes the host over.
  package var room: [String: Int]
  package var fileLook: FileLook
  package var now: Timestamp
  package var leaseDuration: Duration

  package init(
    job: JobNumber, run: RunNumber, due: DueRule, limit: Int, perHost: Int, room: [String: Int],
    fileLook: FileLook = .sample, now: Timestamp, leaseDuration: Duration
  ) {
    self.job = job
    self.run = run
    self.due = due
    self.limit = limit
    self.perHost = perHost
    self.room = room
    self.fileLook = fileLook
    self.now = now
    self.leaseDuration = leaseDuration
  }
}

package struct ClaimResult: Sendable {
  package var claims: [Claim]
  /// How many entries of the job are due in this run, not settled by it and leased to others now;
  /// with no claims and none of these, the run is drained (hosts without room aside). Counted when
  /// fewer than `limit` were claimed; otherwise it may be out of date.
  package var leasedElsewhere: Int
  /// When the earliest of those leases ends; nil without any.
  package var nextLeaseEnd: Timestamp?
  /// Whether something due was passed over only for want of room at its host.
  package var heldBack: Bool
  /// Why this run is to claim nothing more, whatever is due.
  package var calledOff: CallOff?

  package init(
    claims: [Claim], leasedElsewhere: Int, nextLeaseEnd: Timestamp?, heldBack: Bool,
    calledOff: CallOff? = nil
  ) {
    self.claims = claims
    self.leasedElsewhere = leasedElsewhere
    self.nextLeaseEnd = nextLeaseEnd
    self.heldBack = heldBack
    self.calledOff = calledOff
  }
}

/// What an operator has said of a job (`jobs pause`, `jobs cancel`).
package enum CallOff: String, Sendable, Hashable {
  case paused
  case cancelled
}

/// All that one claim's work changes, applied in one transaction if the lease still holds.
package struct Settlement: Sendable {
  package var job: JobNumber
  package var run: RunNumber
  package var lease: Lease
  /// Of the redirects' targets that were asked for it.
  package var targets: [Lease]
  /// What happened to the entries: the claimed one and the redirect hops behind it.
  package var entries: [EntryChange]
  /// Variants that were made or found impossible.
  package var variants: [VariantRecord]
  /// Whole and durable objects that this settlement refers to for the first time.
  package var objects: [ObjectRecord]
  package var items: [ItemSettlement]
  package var at: Timestamp

  package init(
    job: JobNumber, run: RunNumber, lease: Lease, targets: [Lease] = [],
    entries: [EntryChange] = [], variants: [VariantRecord] = [], objects: [ObjectRecord] = [],
    items: [ItemSettlement],
    at: Timestamp
  ) {
    self.job = job
    self.run = run
    self.lease = lease
    self.targets = targets
    self.entries = entries
    self.variants = variants
    self.objects = objects
    self.items = items
    self.at = at
  }
}

package enum EntryChange: Sendable {
  /// The entry as it now is: inserted or replaced.
  case stored(Entry)
  /// As `stored`, where the response that has been in force since then was confirmed: bytes, redirect and
  /// validators are what they were, and there was no failure.
  case confirmed(Entry, since: Timestamp)
  /// It may not be kept: original, variants and validators go, and its published names in every job.
  /// Items that name it are due. Objects that nothing else refers to are pending removals from then
  /// on. The value says why, for `show`.
  case purged(Entry)

  /// The entry, unless it may not be kept.
  package var kept: Entry? {
    switch self {
    case .stored(let entry), .confirmed(let entry, since: _): entry
    case .purged: nil
    }
  }
}

package struct ObjectRecord: Sendable, Hashable {
  package var digest: Digest
  package var bytes: Int

  package init(digest: Digest, bytes: Int) {
    self.digest = digest
    self.bytes = bytes
  }
}

package struct ItemSettlement: Sendable {
  package var item: ItemNumber
  package var outcome: Outcome
  package var state: ItemState
  /// When the item is next to be looked at.
  package var dueAt: Timestamp
  /// Why it is not well; nil where it is.
  package var failure: FailureRecord?
  /// The names that are to stand under `public/` from now on, by path below the job's folder.
  /// Nil leaves them as they are.
  package var publications: [Publication]?
  /// What those names were made from. With `publications` nil: that the names stand as made from it is
  /// what the settlement rests on; where it is no longer so, it is refused.
  package var published: PublicationKey?
  /// Of an item that was well and stays so: spares a look at how it stands, if that is how it does.
  package var before: ItemStanding?

  package init(
    item: ItemNumber, outcome: Outcome, state: ItemState, dueAt: Timestamp,
    failure: FailureRecord? = nil, publications: [Publication]? = nil,
    published: PublicationKey? = nil, before: ItemStanding? = nil
  ) {
    self.item = item
    self.outcome = outcome
    self.state = state
    self.dueAt = dueAt
    self.failure = failure
    self.publications = publications
    self.published = published
    self.before = before
  }
}

/// One published name: a link below `public/JOB/` to an object.
package struct Publication: Sendable, Hashable {
  /// Relative to the job's folder: `thumb/sku-1.webp`.
  package var path: String
  /// The variant's name; `original` for the original.
  package var variant: String
  package var object: Digest
  /// How the id of an item begins that would need this name as a folder; nil where none can.
  package var folderOfIDs: String?

  package init(path: String, variant: String, object: Digest, folderOfIDs: String? = nil) {
    self.path = path
    self.variant = variant
    self.object = object
    self.folderOfIDs = folderOfIDs
  }
}

/// A link that the ledger wants and that is not known to stand yet, or one that is to go.
package struct LinkTask: Sendable, Hashable {
  package var job: JobNumber
  package var jobName: String
  package var path: String
  /// Nil: the name is to be removed.
  package var object: Digest?

  package init(job: JobNumber, jobName: String, path: String, object: Digest?) {
    self.job = job
    self.jobName = jobName
    self.path = path
    self.object = object
  }

  package static func == (a: LinkTask, b: LinkTask) -> Bool {
    a.job == b.job && a.object == b.object && ExactText(a.path) == ExactText(b.path)
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(job)
    hasher.combine(ExactText(path))
  }
}

/// What a settlement has come to.
package struct SettlementReceipt: Sendable {
  /// To be made or removed now, then confirmed.
  package var links: [LinkTask] = []
  /// The items that count. Those that left the manifest, or changed there after the claim, were passed
  /// over.
  package var items: Set<ItemNumber> = []
  /// Those of them that failed after all, since another item needs one of their names as a folder.
  package var refused: [ItemNumber: FailureRecord] = [:]
  /// Bytes of the objects that the ledger had not known.
  package var stored = 0

  package init() {}
}

/// A published name that could not be made.
package struct RefusedLink: Sendable, Hashable {
  package var link: LinkTask
  package var failure: FailureRecord

  package init(link: LinkTask, failure: FailureRecord) {
    self.link = link
    self.failure = failure
  }
}

package enum SettlementResult: Sendable {
  case committed(SettlementReceipt)
  /// A lease had passed to another worker, or an object that the settlement refers to was removed
  /// meanwhile: nothing was written, and the items are claimed again.
  case leaseLost
}

/// What comes of asking for an entry that a claim's redirects lead to.
package enum TargetLease: Sendable, Hashable {
  case granted(Lease)
  /// Another claim has it: it settles it, or its lease ends.
  case held(until: Timestamp)
  /// Whoever has it waits, by whatever way, for an entry of this claim: they are links of one ring of
  /// redirects. Nobody is to wait there.
  case wouldDeadlock
}
