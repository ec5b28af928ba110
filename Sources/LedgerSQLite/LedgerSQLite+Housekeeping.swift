import LedgerCore
import Vocabulary

extension LedgerSQLite: LedgerHousekeeping {
  // MARK: Jobs

  package func jobs() async throws(LedgerFailure) -> [JobOverview] { try await reader.jobs() }

  package func setPaused(
    _ isPaused: Bool, job name: String
  ) async throws(LedgerFailure) -> Bool {
    try await writing().setPaused(isPaused, job: name)
  }

  package func cancelRuns(ofJob name: String) async throws(LedgerFailure) -> Bool {
    try await writing().cancelRuns(ofJob: name)
  }

  package func emptyJob(
    named name: String, keepsNames: Bool
  ) async throws(LedgerFailure) -> JobNumber? {
    try await writing().emptyJob(named: name, keepsNames: keepsNames)
  }

  package func forgetJob(_ job: JobNumber) async throws(LedgerFailure) -> Bool {
    try await writing().forgetJob(job)
  }

  package func retryFailed(
    job: JobNumber, codes: Set<String>?
  ) async throws(LedgerFailure) -> Int {
    try await writing().retryFailed(job: job, codes: codes)
  }

  // MARK: Entries, objects and names

  package func entries(
    after key: EntryKey?, limit: Int
  ) async throws(LedgerFailure) -> [EntryOverview] {
    try await reader.entries(after: key, limit: limit)
  }

  package func note(_ unneeded: [EntryKey: Timestamp?]) async throws(LedgerFailure) {
    guard !unneeded.isEmpty else { return }
    try await writing().note(unneeded)
  }

  package func purge(_ keys: [EntryKey]) async throws(LedgerFailure) -> PurgeResult {
    guard !keys.isEmpty else { return PurgeResult() }
    return try await writing().purge(keys)
  }

  package func variants(
    after variant: VariantKey?, limit: Int
  ) async throws(LedgerFailure) -> [(variant: VariantKey, hasEntry: Bool)] {
    try await reader.variants(after: variant, limit: limit)
  }

  package func unwantedRecipes() async throws(LedgerFailure) -> [RecipeKey: Timestamp] {
    try await reader.unwantedRecipes()
  }

  package func note(unwanted: [RecipeKey: Timestamp]) async throws(LedgerFailure) {
    try await writing().note(unwanted: unwanted)
  }

  package func forgetVariants(_ variants: [VariantKey]) async throws(LedgerFailure) {
    guard !variants.isEmpty else { return }
    try await writing().forgetVariants(variants)
  }

  package func letGoVariants(of originals: [Digest]) async throws(LedgerFailure) {
    guard !originals.isEmpty else { return }
    try await writing().letGoVariants(of: originals)
  }

  package func objects(
    after digest: Digest?, limit: Int
  ) async throws(LedgerFailure) -> [ObjectOverview] {
    try await reader.objects(after: digest, limit: limit)
  }

  package func objectTotals() async throws(LedgerFailure) -> (count: Int, bytes: Int) {
    try await reader.objectTotals()
  }

  package func letGoUnused(_ digests: [Digest]) async throws(LedgerFailure) -> [Digest] {
    guard !digests.isEmpty else { return [] }
    return try await writing().letGoUnused(digests)
  }

  package func names(
    of job: JobNumber, after path: String, limit: Int
  ) async throws(LedgerFailure) -> [LinkTask] {
    try await reader.names(of: job, after: path, limit: limit)
  }

  package func forget(_ links: [LinkTask]) async throws(LedgerFailure) {
    guard !links.isEmpty else { return }
    try await writing().forget(links)
  }

  package func makeDue(
    restingOn objects: Set<Digest>, withdrawing: Set<Digest>
  ) async throws(LedgerFailure) -> PurgeResult {
    guard !objects.isEmpty else { return PurgeResult() }
    return try await writing().makeDue(restingOn: objects, withdrawing: withdrawing)
  }

  package func makeDue(
    named names: [LinkTask], withdrawing: Set<Digest>
  ) async throws(LedgerFailure) -> PurgeResult {
    guard !names.isEmpty else { return PurgeResult() }
    return try await writing().makeDue(named: names, withdrawing: withdrawing)
  }

  package func paths(
    _ paths: [String], notPublishedBy job: JobNumber
  ) async throws(LedgerFailure) -> [String] {
    try await reader.paths(paths, notPublishedBy: job)
  }

  // MARK: The ledger itself

  package func place(of look: String) async throws(LedgerFailure) -> String? {
    try await reader.place(of: look)
  }

  package func keepPlace(_ place: String?, of look: String) async throws(LedgerFailure) {
    try await writing().keepPlace(place, of: look)
  }

  package func wrongCounters() async throws(LedgerFailure) -> [WrongCounter] {
    try await reader.wrongCounters()
  }

  package func mendCounters(of kinds: Set<String>) async throws(LedgerFailure) -> Set<String> {
    guard !kinds.isEmpty else { return [] }
    return try await writing().mendCounters(of: kinds)
  }

  package func backup(to file: String) async throws(LedgerFailure) {
    try await reader.backup(to: file)
  }
}
