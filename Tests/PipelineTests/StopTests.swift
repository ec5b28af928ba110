import LedgerCore
import Pipeline
import TestSupport
import Testing
import Vocabulary

@Suite(.timeLimit(.minutes(1))) struct `A run that is stopped` {
  private let board = RunBoard()

  /// Of a run that is stopped when its origin has got so many requests.
  private func summary(
    of names: [String], network: String, at requests: Int, _ origin: OriginServer,
    adjust: @escaping @Sendable (inout RunOptions) -> Void, stop: () async throws -> Void
  ) async throws -> RunSummary {
    let shop = try await Workshop()
    let items = Dictionary(uniqueKeysWithValues: names.map { ($0, origin.url("/\($0)")) })
    let run = Task { [board] in
      try await shop.run(items, network: network, board: board, adjust: adjust)
    }
    await origin.requests(reach: requests)
    try await stop()
    return try await run.value
  }

  @Test func `counts the requests as well that it does not wait for`() async throws {
    let origin = try OriginServer.start { request in
      request.path == "/moved" ? .redirect(to: "/a") : .steps([.hang])
    }
    defer { origin.stop() }
    let summary = try await summary(
      of: ["moved", "b", "c"], network: #""attempts": 1"#, at: 4, origin,
      adjust: { $0.grace = .zero }, stop: { board.interrupt() })
    #expect(summary.isInterrupted && summary.pending == 3)
    #expect(summary.traffic.requests == 4)
  }
  /// The clock stands still: neither the rate nor the grace would end it.
  @Test func `does not wait for the turns of requests that it does not make any more`() async throws
  {
    let gate = OriginGate()
    let origin = try OriginServer.start { _ in
      .steps([.wait(gate)] + OriginResponse.ok(PlainPNG.bytes()).steps)
    }
    defer { origin.stop() }
    let summary = try await summary(
      of: (0..<60).map { "\($0)" }, network: #""attempts": 1, "ratePerHost": "1/m""#, at: 1, origin,
      adjust: { _ in },
      stop: {
        board.interrupt()
        gate.open()
      })
    #expect(summary.isInterrupted && summary.outcomes[.fetched] == 1 && summary.pending == 59)
    #expect(summary.traffic.requests == 1 && origin.requests.count == 1)
  }
}
