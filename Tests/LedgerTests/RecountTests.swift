import ForeignSQLite
import Hashing
import LedgerCore
import Testing
import Vocabulary

@testable import LedgerSQLite

@Suite struct `Kept counters` {
  fileprivate struct Row: CustomTestStringConvertible, Sendable {
    var change: String
    var findings: [WrongCounter]

    var testDescription: String { change }
  }

  private static func row(
    _ change: String, _ kind: String, _ place: String, kept: Int64, counted: Int64
  ) -> Row {
    let finding = WrongCounter(kind: kind, place: place, kept: kept, counted: counted)
    return Row(change: change, findings: [finding])
  }

  private static let states = "items by job and state"
  private static let minutes = "items by the minute that they are due in"
  private static let hosts = "items by host"
  private static let runs = "items by the run that settled them"
  private static let dead = "items that no other try is expected to mend, by job"
  private static let failures = "failed items that another try may mend, by host"
  private static let firstTries = "when a host's first failed item is due"
  private static let entries = "entries whose original an object is"
  private static let uses = "variants and names that an object is"

  private static let original = Digest(of: "https://c.example/1.jpg")
  private static let originalPlace = "\(original)".uppercased()
  private static let thumbPlace = "\(Digest(of: "thumb of \(original)"))".uppercased()

  fileprivate static let rows = [
    row("UPDATE job_counts SET n = 9 WHERE state = 2", states, "1/2", kept: 9, counted: 4),
    row("DELETE FROM job_counts WHERE state = 1", states, "1/1", kept: 0, counted: 1),
    row("INSERT INTO job_counts VALUES (7, 0, 3)", states, "7/0", kept: 3, counted: 0),
    row(
      "PRAGMA ignore_check_constraints = ON; UPDATE job_counts SET n = -1 WHERE state = 4",
      states, "1/4", kept: -1, counted: 1),
    row(
      "UPDATE due_by_minute SET n = 5 WHERE state = 1", minutes, "1/1/30001440", kept: 5, counted: 1
    ),
    row("DELETE FROM due_by_minute WHERE state = 1", minutes, "1/1/30001440", kept: 0, counted: 1),
    row("INSERT INTO due_by_minute VALUES (1, 0, 3, 2)", minutes, "1/0/3", kept: 2, counted: 0),
    row("UPDATE host_counts SET n = 1 WHERE host = 2", hosts, "1/2", kept: 1, counted: 2),
    row("DELETE FROM host_counts WHERE host = 2", hosts, "1/2", kept: 0, counted: 2),
    row("INSERT INTO host_counts VALUES (1, 9, 2)", hosts, "1/9", kept: 2, counted: 0),
    row("UPDATE run_counts SET n = 6 WHERE state = 2", runs, "1/2", kept: 6, counted: 4),
    row("DELETE FROM run_counts WHERE state = 2", runs, "1/2", kept: 0, counted: 4),
    row("INSERT INTO run_counts VALUES (8, 1, 1)", runs, "8/1", kept: 1, counted: 0),
    row("UPDATE jobs SET dead = 7", dead, "1", kept: 7, counted: 2),
    row("UPDATE host_failures SET n = 5 WHERE n = 2", failures, "1/2", kept: 5, counted: 2),
    row(
      "UPDATE host_failures SET next_try = 1 WHERE n = 1", firstTries, "1/1", kept: 1,
      counted: 1_800_003_600_000),
    Row(
      change: "DELETE FROM host_failures WHERE n = 2",
      findings: [
        WrongCounter(kind: failures, place: "1/2", kept: 0, counted: 2),
        WrongCounter(kind: firstTries, place: "1/2", kept: 0, counted: 1_800_003_600_000),
      ]),
    Row(
      change: "INSERT INTO host_failures VALUES (1, 3, 4, 9)",
      findings: [
        WrongCounter(kind: failures, place: "1/3", kept: 4, counted: 0),
        WrongCounter(kind: firstTries, place: "1/3", kept: 9, counted: 0),
      ]),
    row("INSERT INTO host_failures VALUES (1, 3, 0, 9)", firstTries, "1/3", kept: 9, counted: 0),
    row("UPDATE meta SET objects = 0", "objects", "in all", kept: 0, counted: 2),
    row(
      "UPDATE meta SET object_bytes = 7", "bytes of objects", "in all", kept: 7, counted: 1100),
    row(
      "UPDATE objects SET entries = 0 WHERE entries = 1", entries, originalPlace, kept: 0,
      counted: 1),
    row("UPDATE objects SET uses = 5 WHERE uses = 2", uses, thumbPlace, kept: 5, counted: 2),
    Row(
      change: """
        UPDATE job_counts SET n = 0; DELETE FROM due_by_minute; DELETE FROM host_failures;
        UPDATE objects SET uses = 1 WHERE uses = 2;
        """,
      findings: [
        WrongCounter(kind: states, place: "1/1", kept: 0, counted: 1),
        WrongCounter(kind: states, place: "1/2", kept: 0, counted: 4),
        WrongCounter(kind: states, place: "1/4", kept: 0, counted: 1),
        WrongCounter(kind: minutes, place: "1/1/30001440", kept: 0, counted: 1),
        WrongCounter(kind: minutes, place: "1/2/30000060", kept: 0, counted: 2),
        WrongCounter(kind: minutes, place: "1/2/30010080", kept: 0, counted: 1),
        WrongCounter(kind: minutes, place: "1/2/4223371679", kept: 0, counted: 1),
        WrongCounter(kind: failures, place: "1/1", kept: 0, counted: 1),
        WrongCounter(kind: failures, place: "1/2", kept: 0, counted: 2),
        WrongCounter(kind: firstTries, place: "1/1", kept: 0, counted: 1_800_003_600_000),
        WrongCounter(kind: firstTries, place: "1/2", kept: 0, counted: 1_800_003_600_000),
        WrongCounter(kind: uses, place: thumbPlace, kept: 1, counted: 2),
      ]),
  ]

  @Test(arguments: rows)
  fileprivate func `that are wrong are found by a recount, which puts them right`(
    _ row: Row
  ) async throws {
    var scene = try await FailureScene()
    try await scene.fill()
    let before = try counters(of: scene)
    try scene.foreign.execute(row.change)
    #expect(try await scene.ledger.wrongCounters() == row.findings)
    let kinds = Set(row.findings.map(\.kind))
    #expect(try await scene.ledger.mendCounters(of: kinds) == kinds)
    #expect(try await scene.ledger.wrongCounters() == [])
    #expect(try counters(of: scene) == before)
  }

  @Test func `are each spoilt once above`() {
    let kinds = Recount.all.map(\.kind)
    #expect(Set(Self.rows.flatMap(\.findings).map(\.kind)) == Set(kinds))
    #expect(Set(kinds).count == kinds.count, "by their names they are told from each other")
  }

  @Test func `of other kinds than those to be mended are left alone`() async throws {
    var scene = try await FailureScene()
    try await scene.fill()
    try scene.foreign.execute("UPDATE jobs SET dead = 7; UPDATE meta SET objects = 3")
    #expect(try await scene.ledger.mendCounters(of: [Self.dead]) == [Self.dead])
    #expect(try await scene.ledger.wrongCounters().map(\.kind) == ["objects"])
  }

  @Test func `that stand in a row that is missing are not said to be right`() async throws {
    var scene = try await FailureScene()
    try await scene.fill()
    try scene.foreign.execute("DELETE FROM objects WHERE entries = 1")
    let wrong = try await scene.ledger.wrongCounters()
    #expect(wrong.map(\.kind) == ["objects", "bytes of objects", Self.entries])
    let mended = try await scene.ledger.mendCounters(of: Set(wrong.map(\.kind)))
    #expect(mended == ["objects", "bytes of objects"])
    #expect(try await scene.ledger.wrongCounters() == [wrong[2]])
  }

  /// A counter of nothing that stays is as good as none.
  private func counters(of scene: FailureScene) throws -> [[[String]]] {
    let foreign = try scene.foreign
    return try [
      "SELECT * FROM job_counts WHERE n > 0", "SELECT * FROM due_by_minute",
      "SELECT * FROM host_counts", "SELECT * FROM run_counts", "SELECT number, dead FROM jobs",
      "SELECT * FROM host_failures", "SELECT objects, object_bytes FROM meta",
      "SELECT hex(digest), entries, uses FROM objects",
    ].map { try foreign.query($0) }
  }
}
