// LedgerSQLite: the ledger in one SQLite file, shared by any number of processes. What comes in:
// LedgerCore's calls. What goes out: LedgerCore's values. Every statement runs on one of two threads:
// LedgerWriter's, where calls share transactions, and LedgerReader's. A write is a method of
// Transaction; the tables stand in Schema.

import HTTPCaching
import LedgerCore
import Threading
import Vocabulary

package final class LedgerSQLite: Ledger {
  private let path: String
  /// Nil where the ledger was opened for reading only.
  let writer: LedgerWriter?
  let reader: LedgerReader

  private init(path: String, writer: LedgerWriter?, reader: LedgerReader) {
    self.path = path
    self.writer = writer
    self.reader = reader
  }

  /// Opens a ledger, and makes it (mode 0600) where there is none. Its folder must exist.
  ///
  /// - Parameters:
  ///   - owner: who holds the leases, for people; two processes may have one name.
  ///   - patience: how long a lock that another program holds is waited for.
  /// - Throws: a file that is newer, damaged or not a ledger is left as it is.
  package static func open(
    path: String, clock: WallClock, owner: String, patience: Duration = .seconds(60)
  ) async throws(LedgerFailure) -> LedgerSQLite {
    let writer = LedgerWriter(path: path, clock: clock, owner: owner)
    try await writer.open(patience: patience)
    let reader = LedgerReader(path: path)
    do throws(LedgerFailure) {
      try await reader.open(patience: patience)
    } catch {
      await writer.close()
      throw error
    }
    return LedgerSQLite(path: path, writer: writer, reader: reader)
  }

  /// Opens a ledger that others may be writing: everything that would change it fails as read-only.
  package static func openReadOnly(
    path: String, patience: Duration = .seconds(60)
  ) async throws(LedgerFailure) -> LedgerSQLite {
    let reader = LedgerReader(path: path)
    try await reader.open(patience: patience)
    return LedgerSQLite(path: path, writer: nil, reader: reader)
  }

  func writing() throws(LedgerFailure) -> LedgerWriter {
    guard let writer else { throw .readOnly(path: path) }
    return writer
  }

  package func close() async {
    if await reader.hasMetDamage { await writer?.leaveAsItIs() }
    await reader.close()
    await writer?.close()  // last: it leaves the file without a WAL
  }
}

// MARK: Jobs and their manifests

extension LedgerSQLite {
  package func job(named name: String) async throws(LedgerFailure) -> JobRecord? {
    try await reader.job(named: name)
  }

  package func jobs(readFrom path: String) async throws(LedgerFailure) -> [JobRecord] {
    try await reader.jobs(readFrom: path)
  }

  package func keep(
    _ identity: ManifestIdentity, of job: JobNumber
  ) async throws(LedgerFailure) {
    try await writing().keep(identity, of: job)
  }

  package func beginIngest(
    name: String, settings: String, settingsDigest: Digest, at now: Timestamp
  ) async throws(LedgerFailure) -> IngestTicket {
    try await writing().beginIngest(name: name, settings: settings, digest: settingsDigest)
  }

  package func ingest(
    _ items: [ItemEntry], bad: [BadItem], ticket: IngestTicket
  ) async throws(LedgerFailure) -> [Int] {
    try await writing().ingest(items, bad: bad, ticket: ticket)
  }

  package func finishIngest(
    _ ticket: IngestTicket, identity: ManifestIdentity?, prune: Bool
  ) async throws(LedgerFailure) -> [LinkTask] {
    try await writing().finishIngest(ticket, identity: identity, prune: prune)
  }

  package func makeAllDue(of job: JobNumber) async throws(LedgerFailure) {
    try await writing().makeAllDue(of: job)
  }

  package func makeAllDue() async throws(LedgerFailure) {
    try await writing().makeAllDue()
  }
}

// MARK: Runs and the queue

extension LedgerSQLite {
  package func beginRun(job: JobNumber, at now: Timestamp) async throws(LedgerFailure) -> RunNumber
  {
    try await writing().beginRun(job: job, at: now)
  }

  package func finishRun(
    _ run: RunNumber, job: JobNumber, counts: [Outcome: Int], at now: Timestamp
  ) async throws(LedgerFailure) {
    try await writing().finishRun(run, job: job, counts: counts, at: now)
  }

  package func unsettled(
    job: JobNumber, run: RunNumber
  ) async throws(LedgerFailure) -> [ItemState: Int] {
    try await reader.unsettled(job: job, run: run)
  }

  package func due(
    job: JobNumber, run: RunNumber, by rule: DueRule
  ) async throws(LedgerFailure) -> [ItemState: Int] {
    try await reader.due(job: job, run: run, by: rule)
  }

  package func claim(_ request: ClaimRequest) async throws(LedgerFailure) -> ClaimResult {
    try await writing().claim(request)
  }

  package func nextDue() async throws(LedgerFailure) -> [DueJob] { try await reader.nextDue() }

  package func lease(
    _ target: EntryKey, for held: [Lease], run: RunNumber, until: Timestamp, at now: Timestamp
  ) async throws(LedgerFailure) -> TargetLease {
    try await writing().lease(target, for: held, run: run, until: until, at: now)
  }

  package func renew(
    _ leases: [Lease], until: Timestamp
  ) async throws(LedgerFailure) -> [Lease] {
    try await writing().renew(leases, until: until)
  }

  package func release(_ leases: [Lease]) async throws(LedgerFailure) {
    try await writing().release(leases)
  }

  package func settle(
    _ settlement: Settlement
  ) async throws(LedgerFailure) -> SettlementResult {
    try await writing().settle(settlement)
  }

  package func confirm(_ links: [LinkTask]) async throws(LedgerFailure) {
    guard !links.isEmpty else { return }
    try await writing().confirm(links)
  }

  package func refuse(_ links: [RefusedLink]) async throws(LedgerFailure) {
    guard !links.isEmpty else { return }
    try await writing().refuse(links)
  }

  package func forgetLinks(of job: JobNumber, at now: Timestamp) async throws(LedgerFailure) {
    try await writing().forgetLinks(of: job, at: now)
  }

  package func pendingLinks(limit: Int) async throws(LedgerFailure) -> [LinkTask] {
    try await reader.pendingLinks(limit: limit)
  }
}

// MARK: Hosts in trouble

extension LedgerSQLite {
  package func note(
    _ standings: [String: HostStanding], at now: Timestamp
  ) async throws(LedgerFailure) {
    try await writing().note(standings, at: now)
  }

  package func standings(
    after revision: Int64
  ) async throws(LedgerFailure) -> (hosts: [String: HostStanding], revision: Int64) {
    try await reader.standings(after: revision)
  }

  package func beginProbe(
    of host: String, by run: RunNumber, until: Timestamp, at now: Timestamp
  ) async throws(LedgerFailure) -> Timestamp? {
    try await writing().beginProbe(of: host, by: run, until: until, at: now)
  }
}

// MARK: Objects that nothing refers to any more

extension LedgerSQLite {
  package func pendingRemovals(limit: Int) async throws(LedgerFailure) -> [Digest] {
    try await reader.pendingRemovals(limit: limit)
  }

  package func objectsKnown(
    among digests: [Digest]
  ) async throws(LedgerFailure) -> Set<Digest> {
    try await reader.objectsKnown(among: digests)
  }

  package func confirmRemoval(_ digests: [Digest]) async throws(LedgerFailure) {
    guard !digests.isEmpty else { return }
    try await writing().confirmRemoval(digests)
  }
}

// MARK: Looking up

extension LedgerSQLite {
  package func entry(_ key: EntryKey) async throws(LedgerFailure) -> Entry? {
    try await reader.entry(key)
  }

  package func variants(of original: Digest) async throws(LedgerFailure) -> [VariantRecord] {
    try await reader.variants(of: original)
  }

  package func items(naming key: EntryKey) async throws(LedgerFailure) -> [ItemView] {
    try await reader.items(naming: key)
  }

  package func items(withID id: String) async throws(LedgerFailure) -> [ItemView] {
    try await reader.items(withID: id)
  }

  package func unusableItems(
    of job: JobNumber, limit: Int
  ) async throws(LedgerFailure) -> [ItemView] {
    try await reader.unusableItems(of: job, limit: limit)
  }

  package func knownItems(
    of job: JobNumber, after id: String, limit: Int
  ) async throws(LedgerFailure) -> [KnownItem] {
    try await reader.knownItems(of: job, after: id, limit: limit)
  }

  package func status(at now: Timestamp) async throws(LedgerFailure) -> LedgerStatus {
    try await reader.status(at: now)
  }

  package func encoders() async throws(LedgerFailure) -> EncoderVersions {
    try await reader.encoders()
  }

  package func adopt(_ encoders: EncoderVersions) async throws(LedgerFailure) {
    guard try await reader.encoders() != encoders else { return }
    try await writing().adopt(encoders)
  }

  package func storeID() async throws(LedgerFailure) -> String {
    try await reader.storeID()
  }
}
