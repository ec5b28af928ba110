import LedgerCore
import LedgerSQLite
import TestSupport
import Testing
import Vocabulary

@Suite struct `What is known of a job's items` {
  @Test(arguments: LedgerKind.all)
  func `comes in pages, each item once and in the order of ids`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    try await scene.read(
      items(25) + [item("meta", "https://h0.example/m.jpg", meta: #"{"a":1}"#)],
      bad: [badItem("ftp")])
    var other = Scene(beside: scene)
    try await other.read(items(3), name: "other")
    try await scene.runOnce()
    var ids: [String] = []
    var known: [KnownItem] = []
    while case let page = try await scene.ledger.knownItems(
      of: scene.job, after: ids.last ?? "", limit: 10), !page.isEmpty
    {
      #expect(page.count <= 10)
      ids += page.map(\.view.id.text)
      known += page
    }
    #expect(ids == ids.sorted() && Set(ids).count == 27 && ids.count == 27)
    for item in known where item.view.id.text != "ftp" {
      #expect(item.entry?.key == item.view.key && item.entry?.original != nil)
      #expect(!item.records.isEmpty && !item.view.published.isEmpty)
      #expect(item.meta == (item.view.id.text == "meta" ? #"{"a":1}"# : nil))
    }
    let bad = try #require(known.first { $0.view.id.text == "ftp" })
    #expect(bad.entry == nil && bad.view.state == .unusable && bad.view.failure != nil)
  }
}

@Suite struct `Encoders that a ledger knows` {
  private let old = EncoderVersions([.jpeg: "vips-8.14.1", .webp: "vips-8.14.1+webp-7.1.5"])
  private let new = EncoderVersions([.jpeg: "vips-8.15.0", .webp: "vips-8.15.0+webp-7.1.5"])

  @Test(arguments: LedgerKind.all)
  func `make every item due when they are others, and only then`(_ kind: LedgerKind) async throws {
    var scene = try await Scene(kind)
    #expect(try await scene.ledger.encoders() == .unknown)
    try await scene.ledger.adopt(old)
    try await scene.read(items(5))
    try await scene.runOnce()
    #expect(try await scene.statusOfJob().fresh == 5)
    try await scene.ledger.adopt(old)
    #expect(try await scene.statusOfJob().fresh == 5)
    try await scene.ledger.adopt(new)
    #expect(try await scene.statusOfJob().stale == 5)
    #expect(try await scene.ledger.encoders() == new)
  }
}

@Suite struct `A ledger's examination` {
  @Test func `tells its version and whether it is whole`() async throws {
    let folder = LedgerFolder()
    let path = folder.file("ledger.sqlite")
    let clock = TestClock()
    let ledger = try await LedgerSQLite.open(path: path, clock: clock.wall, owner: "test")
    var scene = Scene(ledger: ledger, clock: clock)
    try await scene.read(items(500))
    try await scene.runOnce()
    let sound = try await LedgerSQLite.examine(path: path)
    #expect(sound.version == sound.newestVersion && sound.fault == nil)
    #expect(sound.lastRun == clock.now)
    await ledger.close()

    var bytes = try #require(readFile(path))
    // The second half of a page in the middle, where cells stand.
    let page = bytes.count / 8192 * 4096
    for place in page + 2048..<page + 4096 { bytes[place] = 0xA5 }
    StorageTemporaryFolder.write(bytes, to: path)
    #expect(try await LedgerSQLite.examine(path: path).fault != nil)
    StorageTemporaryFolder.write(Array("no ledger at all, but text".utf8), to: path)
    await #expect(throws: LedgerFailure.self) { try await LedgerSQLite.examine(path: path) }
  }
}
