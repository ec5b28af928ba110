import HTTPCaching
import Hashing
import LedgerCore
import LedgerSQLite
import Threading
import Vocabulary

/// Items into a new ledger, once more the same, then claims and settlements of some.
struct LedgerWork: Work {
  private let path: String
  private let items: Int
  private let claims: Int

  /// As many as a run has under way.
  private static let together = 192
  /// Of a manifest's page.
  private static let page = 16_384

  init(_ values: WorkValues) throws {
    path = try values.text("ledger")
    items = try values.count("items")
    claims = try values.count("claims")
  }

  func run() async throws {
    let ledger = try await LedgerSQLite.open(path: path, clock: .system, owner: "bench")
    let job = try await read(into: ledger, part: "ingest")
    _ = try await read(into: ledger, part: "reread")
    try await work(job, ledger)
    await ledger.close()
  }

  private func read(into ledger: LedgerSQLite, part: String) async throws -> JobNumber {
    let ticket = try await ledger.beginIngest(
      name: "bench", settings: "{}", settingsDigest: Digest(of: ""), at: .now)
    var meter = Meter()
    for start in stride(from: 0, to: items, by: Self.page) {
      let page = try (start..<min(start + Self.page, items)).map(item)
      try await meter.run { _ = try await ledger.ingest(page, bad: [], ticket: ticket) }
    }
    try await meter.run {
      _ = try await ledger.finishIngest(ticket, identity: nil, prune: true)
    }
    try meter.report(part, items: items)
    return ticket.job
  }

  private func item(_ number: Int) throws -> ItemEntry {
    let url = try ItemURL(ManifestText.catalogURL(number))
    return ItemEntry(
      id: try ItemID("item-\(number)"), url: url, key: EntryKey(url), variants: nil, meta: nil)
  }

  private func work(_ job: JobNumber, _ ledger: LedgerSQLite) async throws {
    let run = try await ledger.beginRun(job: job, at: .now)
    var (claiming, settling) = (Meter(), Meter())
    var done = 0
    while done < claims {
      var claimed: [Claim] = []
      try await claiming.run {
        claimed = try await ledger.claim(
          ClaimRequest(
            job: job, run: run, due: DueRule(horizon: .now),
            limit: min(Self.together, claims - done), perHost: Self.together, room: [:], now: .now,
            leaseDuration: .seconds(300))
        ).claims
      }
      guard !claimed.isEmpty else { throw BenchFailure(message: "nothing more is claimed") }
      let settlements = claimed.enumerated().map { index, claim in
        claim.settlement(job: job, run: run, number: UInt64(done + index))
      }
      try await settling.run { try await settle(settlements, ledger) }
      done += claimed.count
    }
    try claiming.report("claim", items: done)
    try settling.report("settle", items: done)
  }

  private func settle(_ settlements: [Settlement], _ ledger: LedgerSQLite) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for settlement in settlements {
        group.addTask {
          guard case .committed = try await ledger.settle(settlement) else {
            throw BenchFailure(message: "a lease was lost")
          }
        }
      }
      try await group.waitForAll()
    }
  }
}

extension Claim {
  /// Of an original and four variants that are there for the first time.
  fileprivate func settlement(job: JobNumber, run: RunNumber, number: UInt64) -> Settlement {
    var entry = entry
    let now = Timestamp.now
    let original = digest(of: number, 0)
    entry.response = StoredResponse(
      status: 200,
      fields: HTTPFields([
        .init(name: "ETag", value: "\"5f3c-\(number)\""),
        .init(name: "Cache-Control", value: "max-age=86400"),
        .init(name: "Content-Type", value: "image/jpeg"),
      ]), requestTime: now, responseTime: now)
    entry.original = Original(
      digest: original, bytes: 90_000, format: .jpeg, width: 1200, height: 900)
    entry.validatedAt = now
    entry.lastAnswer = .newBytes
    let made = (1...4).map { variant in
      StoredVariant(
        digest: digest(of: number, UInt64(variant)), bytes: 9000, format: .jpeg, width: 320,
        height: 240)
    }
    return Settlement(
      job: job, run: run, lease: lease, entries: [.stored(entry)],
      variants: made.enumerated().map { index, variant in
        VariantRecord(
          original: original, recipe: RecipeKey(digest(of: 0, UInt64(index + 9))),
          state: .made(variant))
      },
      objects: [ObjectRecord(digest: original, bytes: 90_000)]
        + made.map { ObjectRecord(digest: $0.digest, bytes: $0.bytes) },
      items: items.map { item in
        ItemSettlement(
          item: item.number, outcome: .fetched, state: .well, dueAt: now + .days(7),
          publications: made.enumerated().map { index, variant in
            Publication(
              path: "w\(index)/\(item.id.text).jpg", variant: "w\(index)", object: variant.digest)
          })
      }, at: now)
  }

  private func digest(of number: UInt64, _ part: UInt64) -> Digest {
    var noise = Noise(seed: number << 8 | part)
    return Digest(words: (noise.next(), noise.next(), noise.next(), noise.next()))
  }
}
