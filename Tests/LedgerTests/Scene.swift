import HTTPCaching
import Hashing
import LedgerCore
import LedgerSQLite
import Synchronization
import TestSupport
import Testing
import Threading
import Vocabulary

/// A way to make an empty ledger: the conformance suites run against each.
struct LedgerKind: CustomTestStringConvertible, Sendable {
  var testDescription: String
  var make: @Sendable (TestClock) async throws -> any Ledger
}

extension LedgerKind {
  static let all: [LedgerKind] = [sqlite]

  static let sqlite = LedgerKind(testDescription: "SQLite") { clock in
    let folder = LedgerFolder()
    let ledger = try await LedgerSQLite.open(
      path: folder.file("ledger.sqlite"), clock: clock.wall, owner: "test")
    return Housed(ledger: ledger, folder: folder)
  }
}

/// Keeps a ledger's folder as long as the ledger.
private struct Housed: Ledger {
  let ledger: LedgerSQLite
  let folder: LedgerFolder

  func job(named name: String) async throws(LedgerFailure) -> JobRecord? {
    try await ledger.job(named: name)
  }
  func jobs(readFrom path: String) async throws(LedgerFailure) -> [JobRecord] {
    try await ledger.jobs(readFrom: path)
  }
  func keep(_ identity: ManifestIdentity, of job: JobNumber) async throws(LedgerFailure) {
    try await ledger.keep(identity, of: job)
  }
  func beginIngest(
    name: String, settings: String, settingsDigest: Digest, at now: Timestamp
  ) async throws(LedgerFailure) -> IngestTicket {
    try await ledger.beginIngest(
      name: name, settings: settings, settingsDigest: settingsDigest, at: now)
  }
  func ingest(
    _ items: [ItemEntry], bad: [BadItem], ticket: IngestTicket
  ) async throws(LedgerFailure) -> [Int] {
    try await ledger.ingest(items, bad: bad, ticket: ticket)
  }
  func finishIngest(
    _ ticket: IngestTicket, identity: ManifestIdentity?, prune: Bool
  ) async throws(LedgerFailure) -> [LinkTask] {
    try await ledger.finishIngest(ticket, identity: identity, prune: prune)
  }
  func nextDue() async throws(LedgerFailure) -> [DueJob] { try await ledger.nextDue() }
  func makeAllDue(of job: JobNumber) async throws(LedgerFailure) {
    try await ledger.makeAllDue(of: job)
  }
  func makeAllDue() async throws(LedgerFailure) { try await ledger.makeAllDue() }
  func beginRun(job: JobNumber, at now: Timestamp) async throws(LedgerFailure) -> RunNumber {
    try await ledger.beginRun(job: job, at: now)
  }
  func finishRun(
    _ run: RunNumber, job: JobNumber, counts: [Outcome: Int], at now: Timestamp
  ) async throws(LedgerFailure) {
    try await ledger.finishRun(run, job: job, counts: counts, at: now)
  }
  func unsettled(
    job: JobNumber, run: RunNumber
  ) async throws(LedgerFailure) -> [ItemState: Int] {
    try await ledger.unsettled(job: job, run: run)
  }
  func claim(_ request: ClaimRequest) async throws(LedgerFailure) -> ClaimResult {
    try await ledger.claim(request)
  }
  func lease(
    _ target: EntryKey, for held: [Lease], run: RunNumber, until: Timestamp, at now: Timestamp
  ) async throws(LedgerFailure) -> TargetLease {
    try await ledger.lease(target, for: held, run: run, until: until, at: now)
  }
  func renew(_ leases: [Lease], until: Timestamp) async throws(LedgerFailure) -> [Lease] {
    try await ledger.renew(leases, until: until)
  }
  func release(_ leases: [Lease]) async throws(LedgerFailure) { try await ledger.release(leases) }
  func settle(_ settlement: Settlement) async throws(LedgerFailure) -> SettlementResult {
    try await ledger.settle(settlement)
  }
  func confirm(_ links: [LinkTask]) async throws(LedgerFailure) { try await ledger.confirm(links) }
  func refuse(_ links: [RefusedLink]) async throws(LedgerFailure) {
    try await ledger.refuse(links)
  }
  func due(
    job: JobNumber, run: RunNumber, by rule: DueRule
  ) async throws(LedgerFailure) -> [ItemState: Int] {
    try await ledger.due(job: job, run: run, by: rule)
  }
  func forgetLinks(of job: JobNumber, at now: Timestamp) async throws(LedgerFailure) {
    try await ledger.forgetLinks(of: job, at: now)
  }
  func pendingLinks(limit: Int) async throws(LedgerFailure) -> [LinkTask] {
    try await ledger.pendingLinks(limit: limit)
  }
  func note(
    _ standings: [String: HostStanding], at now: Timestamp
  ) async throws(LedgerFailure) { try await ledger.note(standings, at: now) }
  func standings(
    after revision: Int64
  ) async throws(LedgerFailure) -> (hosts: [String: HostStanding], revision: Int64) {
    try await ledger.standings(after: revision)
  }
  func beginProbe(
    of host: String, by run: RunNumber, until: Timestamp, at now: Timestamp
  ) async throws(LedgerFailure) -> Timestamp? {
    try await ledger.beginProbe(of: host, by: run, until: until, at: now)
  }
  func pendingRemovals(limit: Int) async throws(LedgerFailure) -> [Digest] {
    try await ledger.pendingRemovals(limit: limit)
  }
  func objectsKnown(among digests: [Digest]) async throws(LedgerFailure) -> Set<Digest> {
    try await ledger.objectsKnown(among: digests)
  }
  func confirmRemoval(_ digests: [Digest]) async throws(LedgerFailure) {
    try await ledger.confirmRemoval(digests)
  }
  func entry(_ key: EntryKey) async throws(LedgerFailure) -> Entry? { try await ledger.entry(key) }
  func variants(of original: Digest) async throws(LedgerFailure) -> [VariantRecord] {
    try await ledger.variants(of: original)
  }
  func items(naming key: EntryKey) async throws(LedgerFailure) -> [ItemView] {
    try await ledger.items(naming: key)
  }
  func items(withID id: String) async throws(LedgerFailure) -> [ItemView] {
    try await ledger.items(withID: id)
  }
  func unusableItems(of job: JobNumber, limit: Int) async throws(LedgerFailure) -> [ItemView] {
    try await ledger.unusableItems(of: job, limit: limit)
  }
  func knownItems(
    of job: JobNumber, after id: String, limit: Int
  ) async throws(LedgerFailure) -> [KnownItem] {
    try await ledger.knownItems(of: job, after: id, limit: limit)
  }
  func status(at now: Timestamp) async throws(LedgerFailure) -> LedgerStatus {
    try await ledger.status(at: now)
  }
  func encoders() async throws(LedgerFailure) -> EncoderVersions { try await ledger.encoders() }
  func adopt(_ encoders: EncoderVersions) async throws(LedgerFailure) {
    try await ledger.adopt(encoders)
  }
  func storeID() async throws(LedgerFailure) -> String { try await ledger.storeID() }
  func close() async { await ledger.close() }
}

/// A clock that stands still until it is moved.
final class TestClock: Sendable {
  private let milliseconds = Mutex<Int64>(1_800_000_000_000)

  var now: Timestamp { Timestamp(milliseconds: milliseconds.withLock { $0 }) }
  var wall: WallClock { WallClock { [self] in now.milliseconds } }
  func advance(by duration: Duration) {
    milliseconds.withLock { $0 += duration.wholeMilliseconds }
  }
}

/// One job on one ledger, and the few moves that the tests are made of.
struct Scene {
  let ledger: any Ledger
  let clock: TestClock
  var job = JobNumber(0)
  var run = RunNumber(0)

  static let dayLong: Duration = .hours(24)

  init(_ kind: LedgerKind) async throws {
    clock = TestClock()
    ledger = try await kind.make(clock)
  }

  init(ledger: any Ledger, clock: TestClock) {
    self.ledger = ledger
    self.clock = clock
  }

  /// Another job, or another worker, on the same ledger.
  init(beside other: Scene, ledger: (any Ledger)? = nil) {
    clock = other.clock
    self.ledger = ledger ?? other.ledger
  }

  // MARK: Reading

  @discardableResult
  mutating func read(
    _ items: [ItemEntry], bad: [BadItem] = [], name: String = "catalog", settings: String = "{}",
    prune: Bool = true, identity: ManifestIdentity? = .sample
  ) async throws -> (again: [ItemID], removed: [LinkTask]) {
    let ticket = try await ledger.beginIngest(
      name: name, settings: settings, settingsDigest: Digest(of: settings), at: clock.now)
    job = ticket.job
    let ids = items.map(\.id) + bad.map(\.id)
    let again = try await ledger.ingest(items, bad: bad, ticket: ticket).map { ids[$0] }
    let removed = try await ledger.finishIngest(ticket, identity: identity, prune: prune)
    return (again, removed)
  }

  mutating func beginRun() async throws {
    run = try await ledger.beginRun(job: job, at: clock.now)
  }

  // MARK: Claiming

  func request(
    limit: Int = 100, perHost: Int = 100, room: [String: Int] = [:], rule: DueRule? = nil
  ) -> ClaimRequest {
    ClaimRequest(
      job: job, run: run, due: rule ?? DueRule(horizon: clock.now), limit: limit,
      perHost: perHost, room: room, now: clock.now, leaseDuration: .seconds(30))
  }

  func claim(
    limit: Int = 100, perHost: Int = 100, room: [String: Int] = [:], rule: DueRule? = nil
  ) async throws -> ClaimResult {
    try await ledger.claim(request(limit: limit, perHost: perHost, room: room, rule: rule))
  }

  // MARK: Settling

  /// As if the claim's URL had been fetched with this body.
  func fetched(
    _ claim: Claim, body: String? = nil, lifetime: Duration = dayLong, etag: String = "\"1\"",
    publishing: Bool = true
  ) -> Settlement {
    let original = Original(
      digest: Digest(of: body ?? claim.entry.url.unredactedText), bytes: 1000, format: .jpeg,
      width: 64, height: 48,
      placeholder: Placeholder(
        color: VariantSpec.Color(red: 1, green: 20, blue: 255), thumbHash: [9, 8, 7, 6, 5]))
    var entry = claim.entry
    entry.response = StoredResponse(
      status: 200,
      fields: HTTPFields(pairs: [("Cache-Control", "max-age=86400"), ("ETag", etag)]),
      requestTime: clock.now, responseTime: clock.now,
      varyValues: HTTPFields(pairs: [("Accept", "image/*")]))
    entry.original = original
    entry.failure = nil
    entry.validatedAt = clock.now
    let thumb = StoredVariant(
      digest: Digest(of: "thumb of \(original.digest)"), bytes: 100, format: .webp, width: 32,
      height: 24, isCapped: true)
    return Settlement(
      job: job, run: run, lease: claim.lease, entries: [.stored(entry)],
      variants: [
        VariantRecord(original: original.digest, recipe: .sample, state: .made(thumb))
      ],
      objects: [
        ObjectRecord(digest: original.digest, bytes: original.bytes),
        ObjectRecord(digest: thumb.digest, bytes: thumb.bytes),
      ],
      items: claim.items.map { item in
        ItemSettlement(
          item: item.number, outcome: .fetched, state: .well, dueAt: clock.now + lifetime,
          publications: publishing
            ? [
              Publication(path: "thumb/\(item.id).webp", variant: "thumb", object: thumb.digest)
            ] : nil)
      },
      at: clock.now)
  }

  func failed(_ claim: Claim, coolDown: Duration = .hours(1)) -> Settlement {
    var entry = claim.entry
    entry.failure = EntryFailure(
      failure: .sample, status: 503, at: clock.now, count: (claim.entry.failure?.count ?? 0) + 1,
      nextTry: clock.now + coolDown, isServersWord: false, since: clock.now)
    return Settlement(
      job: job, run: run, lease: claim.lease, entries: [.stored(entry)],
      items: claim.items.map {
        ItemSettlement(
          item: $0.number, outcome: .failed, state: .failed, dueAt: clock.now + coolDown,
          failure: .sample)
      },
      at: clock.now)
  }

  func purged(_ claim: Claim) -> Settlement {
    var entry = fetched(claim).entry
    entry.response?.fields.lines.append(.init(name: "Cache-Control", value: "no-store"))
    return Settlement(
      job: job, run: run, lease: claim.lease, entries: [.purged(entry)],
      items: claim.items.map {
        ItemSettlement(
          item: $0.number, outcome: .notStored, state: .notStored,
          dueAt: clock.now + Self.dayLong, publications: [])
      },
      at: clock.now)
  }

  /// - Returns: the links to be made or removed; nil where the lease was lost.
  @discardableResult
  func settle(_ settlement: Settlement) async throws -> [LinkTask]? {
    switch try await ledger.settle(settlement) {
    case .committed(let receipt): receipt.links
    case .leaseLost: nil
    }
  }

  /// Claims and settles everything that is due.
  @discardableResult
  func drain(
    rule: DueRule? = nil, settling: (Scene, Claim) -> Settlement = { $0.fetched($1) }
  ) async throws -> Int {
    var count = 0
    while true {
      let result = try await claim(rule: rule)
      if result.claims.isEmpty { return count }
      for claim in result.claims {
        try #require(try await settle(settling(self, claim)) != nil)
        count += claim.items.count
      }
    }
  }

  /// A run from its begin to its end over all that is due.
  @discardableResult
  mutating func runOnce(
    rule: DueRule? = nil, settling: (Scene, Claim) -> Settlement = { $0.fetched($1) }
  ) async throws -> Int {
    try await beginRun()
    let count = try await drain(rule: rule, settling: settling)
    try await ledger.finishRun(run, job: job, counts: [.fetched: count], at: clock.now)
    return count
  }

  // MARK: Looking

  func statusOfJob() async throws -> LedgerStatus.Job {
    try #require(try await ledger.status(at: clock.now).jobs.first)
  }

  func view(_ id: String) async throws -> ItemView {
    try #require(try await ledger.items(withID: id).first)
  }
}

extension Settlement {
  /// The first entry that it stores or purges.
  var entry: Entry {
    switch entries[0] {
    case .stored(let entry), .confirmed(let entry, since: _), .purged(let entry): entry
    }
  }
}

// MARK: Values

func item(
  _ id: String, _ url: String, variants: [String]? = nil, meta: String? = nil
) -> ItemEntry {
  let url = try! ItemURL(url)
  return ItemEntry(
    id: try! ItemID(id), url: url, key: EntryKey(url), variants: variants, meta: meta)
}

/// Items with an URL of their own each, spread over hosts in turn.
func items(_ count: Int, hosts: Int = 3, from first: Int = 0) -> [ItemEntry] {
  (first..<first + count).map {
    item("sku-\($0)", "https://h\($0 % hosts).example/\($0).jpg")
  }
}

func badItem(_ id: String) -> BadItem {
  BadItem(
    id: try! ItemID(id), shownURL: "ftp://example.com/a.jpg",
    failure: FailureRecord(BadURL.unsupportedScheme("ftp")))
}

extension FailureRecord {
  static let sample = FailureRecord(
    code: "http-503", message: "the server is busy", hint: "run again later",
    disposition: .retry(notBefore: Timestamp(seconds: 1_800_000_100)))
}

extension RecipeKey {
  static let sample = RecipeKey(Digest(of: "thumb 32x24"))
}

extension ManifestIdentity {
  static let sample = ManifestIdentity(
    path: "/jobs/catalog.json", size: 1234, modifiedNanoseconds: 1_800_000_000_123_456_789,
    inode: .max, digest: Digest(of: "the manifest"),
    sources: [
      SourceIdentity(
        address: "/jobs/feed.csv", size: 99, modifiedNanoseconds: 1_700_000_000_000_000_001,
        inode: .max - 1, digest: Digest(of: "a file")),
      SourceIdentity(
        address: "https://feeds.example/list.xml?key=s3cret", digest: Digest(of: "a feed")),
    ])
}
