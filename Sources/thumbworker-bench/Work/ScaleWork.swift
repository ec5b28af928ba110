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
    try await LedgerClaims(ledger: ledger, job: job.number, count: claims).work(all)
    await ledger.close()
  }
}
