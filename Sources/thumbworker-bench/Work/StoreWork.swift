import Fetching
import HTTPCaching
import HTTPTransfer
import Hashing
import LedgerCore
import LedgerSQLite
import Storage
import Threading
import Vocabulary

/// Claims, fetches, commits and settles each item of a job, as a run does but for decoding and
/// publishing.
struct StoreWork: Work {
  private let urls: [ItemURL]
  private let connections: Int
  private let layout: RootLayout

  init(_ values: WorkValues) throws {
    urls = try values.urls()
    connections = try values.count("connections")
    layout = RootLayout(root: try values.text("root"))
  }

  /// Claims under way, as in a run.
  private var capacity: Int { connections * 2 + 128 }

  func run() async throws {
    try layout.create()
    let ledger = try await LedgerSQLite.open(path: layout.ledger, clock: .system, owner: "bench")
    let store = try await ObjectStore.open(root: layout, storeID: try await ledger.storeID())
    try await store.confirmIdentity()
    let engine = TransferEngine(connections: connections)
    let steps = StoreSteps(
      ledger: ledger, store: store,
      fetcher: Fetcher(
        engine: engine, sleeper: SystemSleeper(), clock: .system, jitter: { .random(in: 0..<1) }),
      manner: RequestManner(.loopback(connections: connections)), job: try await ingest(ledger))
    let run = try await ledger.beginRun(job: steps.job, at: .now)
    try await WorkReport.measure { try await drain(steps, run) }
    await ledger.close()
    engine.stop()
  }

  private func ingest(_ ledger: LedgerSQLite) async throws -> JobNumber {
    let ticket = try await ledger.beginIngest(
      name: "bench", settings: "{}", settingsDigest: Digest(of: ""), at: .now)
    let items = try urls.enumerated().map { number, url in
      ItemEntry(
        id: try ItemID("item-\(number)"), url: url, key: EntryKey(url), variants: nil, meta: nil)
    }
    _ = try await ledger.ingest(items, bad: [], ticket: ticket)
    _ = try await ledger.finishIngest(ticket, identity: nil, prune: true)
    return ticket.job
  }

  private func drain(_ steps: StoreSteps, _ run: RunNumber) async throws -> Int {
    let horizon = Timestamp.now
    var (done, underWay) = (0, 0)
    try await withThrowingTaskGroup(of: Void.self) { group in
      while done < urls.count {
        if underWay <= capacity - connections {
          let result = try await steps.claim(capacity - underWay, run, horizon)
          underWay += result.claims.count
          for claim in result.claims { group.addTask { try await steps.perform(claim, run) } }
        }
        try await group.next()
        underWay -= 1
        done += 1
      }
    }
    return done
  }
}

/// The steps of one claim.
private struct StoreSteps: Sendable {
  let ledger: LedgerSQLite
  let store: ObjectStore
  let fetcher: Fetcher
  let manner: RequestManner
  let job: JobNumber

  func claim(_ limit: Int, _ run: RunNumber, _ horizon: Timestamp) async throws -> ClaimResult {
    try await ledger.claim(
      ClaimRequest(
        job: job, run: run, due: DueRule(horizon: horizon), limit: limit, perHost: limit,
        room: [:], now: .now, leaseDuration: .seconds(300)))
  }

  func perform(_ claim: Claim, _ run: RunNumber) async throws {
    let reply = try await fetcher.fetch(
      FetchRequest(
        url: claim.entry.url, manner: manner, sendsCredentials: true,
        makeSink: { [store] _ throws(FailureRecord) in try StoredBody(store) }))
    guard let body = reply.body, let sink = body.sink as? StoredBody else {
      throw BenchFailure(message: "\(claim.entry.url) answered \(reply.status)")
    }
    let staged = StagedObject(file: sink.file, digest: body.digest, bytes: body.bytes)
    try await store.commit([staged])
    let result = try await ledger.settle(settlement(claim, run, reply, staged))
    guard case .committed = result else { throw BenchFailure(message: "a lease was lost") }
  }

  private func settlement(
    _ claim: Claim, _ run: RunNumber, _ reply: FetchedResponse, _ staged: StagedObject
  ) -> Settlement {
    var entry = claim.entry
    entry.response = StoredResponse(
      status: reply.status, fields: reply.fields.worthStoring, requestTime: reply.requestTime,
      responseTime: reply.responseTime)
    entry.original = Original(digest: staged.digest, bytes: staged.bytes, format: .png)
    entry.validatedAt = reply.responseTime
    entry.lastAnswer = .newBytes
    return Settlement(
      job: job, run: run, lease: claim.lease, entries: [.stored(entry)],
      objects: [ObjectRecord(digest: staged.digest, bytes: staged.bytes)],
      items: claim.items.map {
        ItemSettlement(
          item: $0.number, outcome: .fetched, state: .well, dueAt: .now + .days(7), publications: []
        )
      }, at: .now)
  }
}

/// Lets a body stream into a temporary file of the store.
private final class StoredBody: BodySink {
  let file: TemporaryFile

  init(_ store: ObjectStore) throws(FailureRecord) {
    do {
      file = try store.temporaryFile()
    } catch {
      throw FailureRecord(error)
    }
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws(FailureRecord) {
    do {
      try file.write(bytes)
    } catch {
      throw FailureRecord(error)
    }
  }
}

extension Timestamp {
  static var now: Timestamp { Timestamp(milliseconds: WallClock.system.milliseconds()) }
}
