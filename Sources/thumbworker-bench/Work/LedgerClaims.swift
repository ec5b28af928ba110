import HTTPCaching
import Hashing
import LedgerCore
import LedgerSQLite
import Vocabulary

/// Claims a job's items and settles them, as many at a time as a run has under way.
struct LedgerClaims {
  /// What has come of the claims.
  enum Answers {
    /// Pictures that are there for the first time.
    case newBytes
    /// 304, to each.
    case notModified
  }

  let ledger: LedgerSQLite
  let job: JobNumber
  let count: Int
  /// So that no two rounds bring the same pictures.
  private let seed = UInt64.random(in: 0 ... .max)

  private static let together = 192

  init(ledger: LedgerSQLite, job: JobNumber, count: Int) {
    self.ledger = ledger
    self.job = job
    self.count = count
  }

  /// - Parameters:
  ///   - rule: which items are due.
  ///   - parts: under which names the claims' and the settlements' figures are reported.
  func work(
    _ rule: DueRule, _ answers: Answers = .newBytes, parts: (String, String) = ("claim", "settle")
  ) async throws {
    let run = try await ledger.beginRun(job: job, at: .now)
    var (claiming, settling) = (Meter(), Meter())
    var done = 0
    while done < count {
      var claimed: [Claim] = []
      try await claiming.run {
        claimed = try await ledger.claim(
          ClaimRequest(
            job: job, run: run, due: rule,
            limit: min(Self.together, count - done), perHost: Self.together, room: [:], now: .now,
            leaseDuration: .seconds(300))
        ).claims
      }
      guard !claimed.isEmpty else { throw BenchFailure(message: "nothing more is claimed") }
      let settlements = try claimed.enumerated().map { index, claim in
        switch answers {
        case .newBytes:
          claim.settlement(job: job, run: run, number: seed &+ UInt64(done + index))
        case .notModified: try claim.confirmation(job: job, run: run)
        }
      }
      try await settling.run { try await settle(settlements) }
      done += claimed.count
    }
    try claiming.report(parts.0, items: done)
    try settling.report(parts.1, items: done)
  }

  private func settle(_ settlements: [Settlement]) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for settlement in settlements {
        group.addTask {
          guard case .committed(let receipt) = try await ledger.settle(settlement) else {
            throw BenchFailure(message: "a lease was lost")
          }
          try await ledger.confirm(receipt.links)
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
          item: item.number, outcome: .fetched, state: .well, dueAt: now + .days(90),
          publications: made.enumerated().map { index, variant in
            Publication(
              path: "w\(index)/\(item.id.text).jpg", variant: "w\(index)", object: variant.digest)
          })
      }, at: now)
  }

  /// Of an original that the server has confirmed.
  fileprivate func confirmation(job: JobNumber, run: RunNumber) throws -> Settlement {
    guard let since = entry.response?.responseTime else {
      throw BenchFailure(message: "an entry without a response was claimed")
    }
    var entry = entry
    let now = Timestamp.now
    entry.response?.requestTime = now
    entry.response?.responseTime = now
    entry.validatedAt = now
    entry.lastAnswer = .notModified
    return Settlement(
      job: job, run: run, lease: lease, entries: [.confirmed(entry, since: since)],
      items: items.map { item in
        ItemSettlement(
          item: item.number, outcome: .revalidated, state: .well, dueAt: now + .days(90),
          published: item.published, before: item.before)
      }, at: now)
  }

  private func digest(of number: UInt64, _ part: UInt64) -> Digest {
    var noise = Noise(seed: number << 8 | part)
    return Digest(words: (noise.next(), noise.next(), noise.next(), noise.next()))
  }
}
