import Vocabulary

/// What keeps a ledger healthy for years, apart from runs. Nothing here needs a lease: it goes on while
/// runs do, and what a run settles after it is newer.
package protocol LedgerHousekeeping: Sendable {
  // MARK: Jobs

  /// Every job, by name.
  func jobs() async throws(LedgerFailure) -> [JobOverview]

  /// - Returns: false where there is no such job.
  func setPaused(_ isPaused: Bool, job name: String) async throws(LedgerFailure) -> Bool

  /// Runs of the job that are under way claim nothing more.
  ///
  /// - Returns: false where there is no such job.
  func cancelRuns(ofJob name: String) async throws(LedgerFailure) -> Bool

  /// Takes a job's items away; its entries stay until somebody collects them.
  ///
  /// - Parameter keepsNames: whether its published names stay where they are.
  /// - Returns: nil where there is no such job. `pendingLinks` has the names that are to go.
  func emptyJob(named name: String, keepsNames: Bool) async throws(LedgerFailure) -> JobNumber?

  /// Forgets a job that was emptied.
  ///
  /// - Returns: false where it has items again, or names that are still to go.
  func forgetJob(_ job: JobNumber) async throws(LedgerFailure) -> Bool

  // MARK: Failures

  /// Makes failed items due at once, whatever they wait for: their entries' cool-downs end, and what a
  /// decoder could not do is tried again.
  ///
  /// - Parameter codes: of their failures; nil is all.
  /// - Returns: how many items there were.
  func retryFailed(job: JobNumber, codes: Set<String>?) async throws(LedgerFailure) -> Int

  // MARK: Entries

  /// The next entries in the order of their keys.
  func entries(after key: EntryKey?, limit: Int) async throws(LedgerFailure) -> [EntryOverview]

  /// Notes since when no item needs an entry; nil: one does.
  func note(_ unneeded: [EntryKey: Timestamp?]) async throws(LedgerFailure)

  /// Forgets entries with what their redirects lead to: originals, variants, published names. Items that
  /// name them are as if they had never been tried. Objects that nothing else refers to are pending
  /// removals from then on.
  func purge(_ keys: [EntryKey]) async throws(LedgerFailure) -> PurgeResult

  // MARK: Variants

  /// The next variants in the order of originals and recipes, and whether an entry has their original.
  func variants(
    after variant: VariantKey?, limit: Int
  ) async throws(LedgerFailure) -> [(variant: VariantKey, hasEntry: Bool)]

  /// Forgets the variants of those of the originals that no entry has.
  func letGoVariants(of originals: [Digest]) async throws(LedgerFailure)

  /// Recipes that no job asks for, and since when, as far as somebody has looked.
  func unwantedRecipes() async throws(LedgerFailure) -> [RecipeKey: Timestamp]

  /// Replaces what `unwantedRecipes` tells.
  func note(unwanted: [RecipeKey: Timestamp]) async throws(LedgerFailure)

  /// Forgets variants. Objects that nothing else refers to are pending removals from then on.
  func forgetVariants(_ variants: [VariantKey]) async throws(LedgerFailure)

  // MARK: Objects and names

  /// The next objects in the order of their digests.
  func objects(
    after digest: Digest?, limit: Int
  ) async throws(LedgerFailure) -> [ObjectOverview]

  /// How many objects there are, and their bytes: kept counters.
  func objectTotals() async throws(LedgerFailure) -> (count: Int, bytes: Int)

  /// Those of the objects that nothing refers to are pending removals from then on.
  ///
  /// - Returns: which they are.
  func letGoUnused(_ digests: [Digest]) async throws(LedgerFailure) -> [Digest]

  /// The next of a job's published names in the order of their paths, those that are pending left out.
  func names(
    of job: JobNumber, after path: String, limit: Int
  ) async throws(LedgerFailure) -> [LinkTask]

  /// These names do not stand as they should: they are to be linked again.
  func forget(_ links: [LinkTask]) async throws(LedgerFailure)

  /// Makes the items due at once whose pictures rest on these objects: their files are gone or damaged.
  ///
  /// - Parameter withdrawing: of these objects also the published names are to go.
  /// - Returns: the items, and the names.
  func makeDue(
    restingOn objects: Set<Digest>, withdrawing: Set<Digest>
  ) async throws(LedgerFailure) -> PurgeResult

  /// Makes the items due at once that have these names, whose objects' files are gone or damaged.
  ///
  /// - Parameter withdrawing: the names of these objects are to go.
  /// - Returns: the items that were not due at once already, and the names.
  func makeDue(
    named names: [LinkTask], withdrawing: Set<Digest>
  ) async throws(LedgerFailure) -> PurgeResult

  /// Those of a job's paths under `public/` that are none of its names.
  func paths(
    _ paths: [String], notPublishedBy job: JobNumber
  ) async throws(LedgerFailure) -> [String]

  // MARK: The ledger itself

  /// How far a look at everything that is made in parts has come; nil: it is to begin anew.
  func place(of look: String) async throws(LedgerFailure) -> String?

  func keepPlace(_ place: String?, of look: String) async throws(LedgerFailure)

  /// Kept counters that a recount contradicts; empty where all are right.
  func wrongCounters() async throws(LedgerFailure) -> [WrongCounter]

  /// Counts these kinds anew and puts right what contradicts that, while all who write wait.
  ///
  /// - Returns: those of the kinds that are right from then on. Of the others a counter cannot be set, since
  ///   what it stands in is missing.
  func mendCounters(of kinds: Set<String>) async throws(LedgerFailure) -> Set<String>

  /// A consistent copy, made while others read and write. Mode 0600.
  ///
  /// - Throws: where the file exists already, or cannot be written.
  func backup(to file: String) async throws(LedgerFailure)
}

/// A number that the ledger keeps, and that a recount contradicts.
package struct WrongCounter: Sendable, Hashable {
  /// What such counters count: "items by host".
  package var kind: String
  /// Which of them it is: "1/7", by the numbers of a job and a host.
  package var place: String
  package var kept: Int64
  package var counted: Int64

  package init(kind: String, place: String, kept: Int64, counted: Int64) {
    self.kind = kind
    self.place = place
    self.kept = kept
    self.counted = counted
  }
}

/// What a recipe makes of an original, or why it makes nothing.
package struct VariantKey: Sendable, Hashable {
  package var original: Digest
  package var recipe: RecipeKey

  package init(original: Digest, recipe: RecipeKey) {
    self.original = original
    self.recipe = recipe
  }
}

package struct JobOverview: Sendable, Hashable {
  package var number: JobNumber
  package var name: String
  package var items: Int
  package var isPaused: Bool
  package var lastRun: Timestamp?
  /// The manifest's head, as `beginIngest` was given it.
  package var settings: String

  package init(
    number: JobNumber, name: String, items: Int, isPaused: Bool, lastRun: Timestamp?,
    settings: String
  ) {
    self.number = number
    self.name = name
    self.items = items
    self.isPaused = isPaused
    self.lastRun = lastRun
    self.settings = settings
  }
}

/// An entry as housekeeping sees it.
package struct EntryOverview: Sendable, Hashable {
  package var key: EntryKey
  package var url: ItemURL
  /// Bytes of the original and its variants; equal ones are counted with each entry.
  package var bytes: Int
  /// The files that these bytes are: one for the original, one for each variant.
  package var files: Int
  /// The jobs whose items name it, or name a redirect that leads to it.
  package var jobs: Set<JobNumber>
  /// Since when none does, as far as somebody has looked; nil where nobody has.
  package var unneededSince: Timestamp?
  /// When its origin last confirmed it, or failed.
  package var lastSeen: Timestamp?
  /// When the first of its items is due; nil without any.
  package var dueAt: Timestamp?

  package init(
    key: EntryKey, url: ItemURL, bytes: Int, files: Int, jobs: Set<JobNumber>,
    unneededSince: Timestamp?, lastSeen: Timestamp?, dueAt: Timestamp?
  ) {
    self.key = key
    self.url = url
    self.bytes = bytes
    self.files = files
    self.jobs = jobs
    self.unneededSince = unneededSince
    self.lastSeen = lastSeen
    self.dueAt = dueAt
  }
}

package struct ObjectOverview: Sendable, Hashable {
  package var digest: Digest
  package var bytes: Int
  /// Whether an entry, a variant or a published name is it.
  package var isUsed: Bool

  package init(digest: Digest, bytes: Int, isUsed: Bool) {
    self.digest = digest
    self.bytes = bytes
    self.isUsed = isUsed
  }
}

package struct PurgeResult: Sendable, Hashable {
  /// How many entries there were.
  package var entries = 0
  /// How many items name them, or redirects that lead to them.
  package var items = 0
  /// Which they are, those behind redirects included.
  package var keys: [EntryKey] = []
  /// Published names that are to go.
  package var links: [LinkTask] = []

  package init() {}

  package static func += (sum: inout PurgeResult, other: PurgeResult) {
    sum.entries += other.entries
    sum.items += other.items
    sum.keys += other.keys
    sum.links += other.links
  }
}
