import HTTPCaching
import Hashing
import LedgerCore
import LedgerSQLite
import TestSupport
import Testing
import Vocabulary

@Suite("Which claims have their files looked for")
struct FileLookTests {
  private static let entries = (0..<500).map { EntryKey(Digest(of: "entry \($0)")) }

  @Test(arguments: [1, 2, 8, 13, 21, 144] as [Int64])
  func `each entry's turn comes in an eighth of the runs, whichever it is due in`(_ stride: Int64) {
    for entry in Self.entries.prefix(8) {
      let taken = (1...4000).count {
        FileLook.sample.takes(entry, in: RunNumber(Int64($0) * stride))
      }
      #expect((350...650).contains(taken))
      // Whoever had it is neither spared nor preferred.
      let again = (1...4000).count { run in
        [0, 1].allSatisfy {
          FileLook.sample.takes(entry, in: RunNumber((Int64(run) + $0) * stride))
        }
      }
      #expect((20...120).contains(again))
    }
  }

  @Test func `a run takes an eighth of them`() {
    for run in 1...200 {
      let taken = Self.entries.count { FileLook.sample.takes($0, in: RunNumber(Int64(run))) }
      #expect((20...110).contains(taken), "run \(run)")
    }
    #expect(Self.entries.allSatisfy { FileLook.all.takes($0, in: RunNumber(7)) })
  }

  @Test(arguments: [FileLook.all, .sample])
  func `those whose names may stand bring the files of their variants`(_ look: FileLook)
    async throws
  {
    let folder = LedgerFolder()
    let clock = TestClock()
    let ledger = try await LedgerSQLite.open(
      path: folder.file("ledger.sqlite"), clock: clock.wall, owner: "test")
    var scene = Scene(ledger: ledger, clock: clock)
    let urls = (0..<64).map { "http://x.example/\($0)" }
    try await scene.read(urls.enumerated().map { item("i\($0)", $1) })
    try await scene.runOnce { $0.keyed($1) }
    clock.advance(by: Scene.dayLong)

    try await scene.beginRun()
    var request = scene.request()
    request.fileLook = look
    let claims = try await ledger.claim(request).claims
    #expect(claims.count == 64)
    for claim in claims {
      let original = Digest(of: claim.entry.url.unredactedText)
      let thumb = ObjectRecord(digest: Digest(of: "thumb of \(original)"), bytes: 100)
      let isTaken = look.takes(claim.entry.key, in: scene.run)
      #expect(claim.variantFiles == (isTaken ? [thumb] : []))
    }
    #expect(claims.contains { !$0.variantFiles.isEmpty })
    #expect(look == .all || claims.contains { $0.variantFiles.isEmpty })
  }

  @Test func `those whose names have to be made anew bring none`() async throws {
    var scene = try await Scene(LedgerKind.all[0])
    try await scene.read([item("a", "http://x.example/a")])
    try await scene.runOnce { $0.fetched($1) }
    scene.clock.advance(by: Scene.dayLong)
    try await scene.beginRun()
    var request = scene.request()
    request.fileLook = .all
    let claims = try await scene.ledger.claim(request).claims
    #expect(claims.map(\.variantFiles) == [[]] && claims[0].items.map(\.published) == [nil])
  }
}
