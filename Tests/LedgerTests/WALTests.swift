import ForeignSQLite
import LedgerCore
import TestSupport
import Testing
import Threading
import Vocabulary

@testable import LedgerSQLite

/// Another program that reads one state of the ledger for as long as it likes.
private final class LongReader: Sendable {
  private let goesOn = OriginGate()

  /// Returns nil where it could not begin.
  static func begin(_ path: String) async -> LongReader? {
    let reader = LongReader()
    let hasBegun = await withCheckedContinuation { begun in
      _ = OwnedThread(name: "foreign") {
        guard let foreign = try? ForeignProgram(path), (try? foreign.query("BEGIN")) != nil,
          (try? foreign.query("SELECT count(*) FROM items")) != nil
        else { return begun.resume(returning: false) }
        begun.resume(returning: true)
        reader.goesOn.wait()
        _ = try? foreign.query("ROLLBACK")
      }
    }
    return hasBegun ? reader : nil
  }

  func end() { goesOn.open() }
}

@Suite struct `The WAL beside a program that reads for long` {
  private static let most = 64 << 20
  private static let count = 400
  private let folder = LedgerFolder()
  private let clock = TestClock()
  private var path: String { folder.file("ledger.sqlite") }
  private var walSize: Int { folder.size("ledger.sqlite-wal") }

  private func scene(patience: Duration) async throws -> Scene {
    let ledger = try await LedgerSQLite.open(
      path: path, clock: clock.wall, owner: "test", patience: patience)
    return Scene(ledger: ledger, clock: clock)
  }

  /// A job whose rows are large, so that little work writes much.
  private func fill(_ scene: inout Scene) async throws {
    try await scene.read(items(Self.count))
    try ForeignProgram(path).query("UPDATE items SET meta = hex(zeroblob(20000))")
  }

  /// Writes some thirty megabytes in each round: every row, twice.
  private func write(_ scene: inout Scene, rounds: Int) async throws -> Int {
    var largest = 0
    for _ in 1...rounds {
      try await scene.runOnce()
      try await scene.ledger.makeAllDue(of: scene.job)
      largest = max(largest, walSize)
    }
    return largest
  }

  @Test func `stays under 64 MiB: what is to be written waits, and goes on when it may`()
    async throws
  {
    var scene = try await scene(patience: .seconds(60))
    try await fill(&scene)
    let reader = try #require(await LongReader.begin(path))
    let folder = folder
    // It ends when the WAL has grown as far as it may.
    let ending = Task {
      while folder.size("ledger.sqlite-wal") < 40 << 20 {
        try await Task.sleep(for: .milliseconds(5))
      }
      let full = folder.size("ledger.sqlite-wal")
      reader.end()
      return full
    }
    let largest = try await write(&scene, rounds: 3)
    ending.cancel()
    let full = try await ending.value
    #expect(full <= Self.most && largest <= Self.most)
    #expect(try await scene.ledger.status(at: clock.now).queuePending == Self.count)
  }

  @Test func `is no reason to write on for ever: at some time it ends the run`() async throws {
    var scene = try await scene(patience: .milliseconds(50))
    try await fill(&scene)
    let reader = try #require(await LongReader.begin(path))
    let failure = await #expect(throws: LedgerFailure.self) {
      _ = try await write(&scene, rounds: 4)
    }
    guard case .readForTooLong? = failure else {
      reader.end()
      Issue.record("\(String(describing: failure))")
      return
    }
    #expect(failure?.code == "ledger" && failure?.hint.contains("fuser") == true)
    #expect(walSize <= Self.most)
    reader.end()
    // Nothing that was committed is lost.
    #expect(try await scene.ledger.status(at: clock.now).jobs[0].items == Self.count)
  }
}
