import LedgerCore
import LedgerSQLite
import Threading
import Vocabulary

/// Claims and settlements in a ledger that is full.
struct ScaleWork: Work {
  private let path: String
  private let claims: Int

  init(_ values: WorkValues) throws {
    path = try values.text("ledger")
    claims = try values.count("claims")
  }

  func run() async throws {
    let ledger = try await LedgerSQLite.open(path: path, clock: .system, owner: "bench")
    guard let job = try await ledger.job(named: "bench") else {
      throw BenchFailure(message: "the ledger has no job")
    }
    let all = DueRule(horizon: .now, takesAll: true)
    let work = LedgerClaims(ledger: ledger, job: job.number, count: claims)
    try await work.work(all, .notModified, parts: ("claim", "confirm"))
    try await work.work(all, parts: ("claim again", "settle"))
    // What the pictures have replaced: else the next run would begin with its removal.
    while case let removals = try await ledger.pendingRemovals(limit: 1000), !removals.isEmpty {
      try await ledger.confirmRemoval(removals)
    }
    await ledger.close()
  }
}
