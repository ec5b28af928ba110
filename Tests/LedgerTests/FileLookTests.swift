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

  /// How many runs pass at most before one of these takes an entry, where it is due in each `stride`th run.
  private func longestWait(for entry: EntryKey, stride: Int64) -> Int {
    var (longest, wait) = (0, 0)
    for run in Swift.stride(from: stride, through: stride * 400, by: Int(stride)) {
      wait += 1
      guard FileLook.sample.takes(entry, in: RunNumber(run)) else { continue }
      (longest, wait) = (max(longest, wait), 0)
    }
    return max(longest, wait)
  }

  @Test func `each entry's turn comes within thirteen runs`() {
    #expect(Self.entries.allSatisfy { longestWait(for: $0, stride: 1) <= 13 })
  }

  @Test(arguments: [2, 3, 4, 7, 8, 16] as [Int64])
  func `its turn comes also where it is not due in every run`(_ stride: Int64) {
    #expect(Self.entries.allSatisfy { longestWait(for: $0, stride: stride) <= 60 })
  }

  @Test func `a run takes an eighth of them`() {
    for run in 1...200 {
      let taken = Self.entries.count { FileLook.sample.takes($0, in: RunNumber(Int64(run))) }
      #expect((30...100).contains(taken), "run \(run)")
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
    request.files = look
    let claims = try await ledger.claim(request).claims
    #expect(claims.count == 64)
    for claim in claims {
      let original = Digest(of: claim.entry.url.unredactedText)
      let thumb = ObjectRecord(digest: Digest(of: "thumb of \(original)"), bytes: 100)
      let isTaken = look.takes(claim.entry.key, in: scene.run)
      #expect(claim.files == (isTaken ? [thumb] : []))
    }
    #expect(claims.contains { !$0.files.isEmpty })
    #expect(look == .all || claims.contains { $0.files.isEmpty })
  }

  @Test func `those whose names have to be made anew bring none`() async throws {
    var scene = try await Scene(LedgerKind.all[0])
    try await scene.read([item("a", "http://x.example/a")])
    try await scene.runOnce { $0.fetched($1) }
    scene.clock.advance(by: Scene.dayLong)
    try await scene.beginRun()
    var request = scene.request()
    request.files = .all
    let claims = try await scene.ledger.claim(request).claims
    #expect(claims.map(\.files) == [[]] && claims[0].items.map(\.published) == [nil])
  }
}
