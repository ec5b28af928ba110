import Glibc
import Hashing
import TestSupport
import Testing
import Vocabulary

@testable import Storage

@Suite struct `The beginning of a body` {
  private let key = EntryKey(Digest(of: "http://example.com/a.jpg"))
  private let content = someBytes(700_000, seed: 7)
  private let record = Array("what else it takes\n".utf8)

  /// A file with a mark at each of these places, and some bytes more.
  private func begun(_ fixture: StoreFixture, marks: [Int] = [300_000, 600_000]) throws
    -> TemporaryFile
  {
    let file = try fixture.store.temporaryFile()
    try file.write(content)
    for mark in marks {
      file.note(mark, sha256(Array(content[..<mark])), for: key, record: { record })
    }
    return file
  }

  private func keep(in fixture: StoreFixture, marks: [Int] = [300_000, 600_000]) throws {
    fixture.store.keep(try begun(fixture, marks: marks), for: key)
  }

  private func kept(_ fixture: StoreFixture) -> [String] {
    StorageTemporaryFolder.names(in: fixture.root.temporary + "/partial")
  }

  private func change(_ path: String, at offset: Int) {
    var all = bytes(of: path) ?? []
    all[offset] ^= 1
    StorageTemporaryFolder.write(all, to: path)
  }

  @Test func `is found by the next store, up to its last mark`() async throws {
    let fixture = try await StoreFixture()
    try keep(in: fixture)
    let next = try await fixture.another()
    let found = try #require(await next.store.takeBeginning(key))
    #expect(found.bytes == 600_000)
    #expect(found.record == record)
    #expect(found.hash.digestSoFar() == sha256(Array(content[..<600_000])))
    let rest = Array(content[600_000...])
    try found.file.write(rest)
    rest.withUnsafeBytes { found.hash.update($0) }
    let digest = found.hash.finish()
    #expect(digest == sha256(content))
    try await next.store.commit([
      StagedObject(file: found.file, digest: digest, bytes: content.count)
    ])
    #expect(bytes(of: next.store.path(of: digest)) == content)
    #expect(kept(fixture) == [])
    #expect(next.temporaryFiles == [])
  }

  @Test func `goes without a trace where nobody keeps it`() async throws {
    let fixture = try await StoreFixture()
    _ = try begun(fixture)
    try begun(fixture).discard()
    #expect(fixture.temporaryFiles == [])
    #expect(try await fixture.another().store.takeBeginning(key) == nil)
  }

  @Test func `is kept only where it was noted`() async throws {
    let fixture = try await StoreFixture()
    try keep(in: fixture, marks: [])
    #expect(fixture.temporaryFiles == [])
    #expect(await fixture.store.takeBeginning(key) == nil)
  }

  @Test func `of a dead process is kept, all else of it is swept`() async throws {
    let fixture = try await StoreFixture()
    let file = try begun(fixture)
    let own = fixture.root.temporary + "/" + fixture.ownFolder
    let dead = fixture.root.temporary + "/4242-dead"
    #expect(mkdir(dead, 0o755) == 0)
    for name in StorageTemporaryFolder.names(in: own) {
      StorageTemporaryFolder.write(bytes(of: "\(own)/\(name)") ?? [], to: "\(dead)/\(name)")
    }
    StorageTemporaryFolder.write([1, 2], to: "\(dead)/99")
    let next = try await fixture.another()
    #expect(status(of: dead) == nil)
    #expect(await next.store.takeBeginning(key)?.bytes == 600_000)
    withExtendedLifetime(file) {}
  }

  @Test func `is nobody's but one's`() async throws {
    let fixture = try await StoreFixture()
    try keep(in: fixture)
    let stores = try await [fixture.another(), fixture.another(), fixture]
    let found = await withTaskGroup(of: KeptBeginning?.self) { group -> [KeptBeginning] in
      for store in stores { group.addTask { await store.store.takeBeginning(key) } }
      return await group.reduce(into: []) { if let found = $1 { $0.append(found) } }
    }
    #expect(found.map(\.bytes) == [600_000])
  }

  struct Damage: CustomTestStringConvertible {
    let testDescription: String
    /// Of the body, or of the note.
    var ofBody: Int?
    var ofNote: Int?
    /// The body's or the note's new length.
    var bodyLength: Int?
    var noteLoses: Int?
    let left: Int?
  }

  @Test(arguments: [
    Damage(testDescription: "behind the last mark", ofBody: 650_000, left: 600_000),
    Damage(testDescription: "between the marks", ofBody: 450_000, left: 300_000),
    Damage(testDescription: "before the first", ofBody: 0, left: nil),
    Damage(testDescription: "a file cut short", bodyLength: 599_999, left: 300_000),
    Damage(testDescription: "an empty file", bodyLength: 0, left: nil),
    Damage(testDescription: "the note's first line", ofNote: 3, left: nil),
    Damage(testDescription: "the record", ofNote: 100, left: nil),
    Damage(testDescription: "the last mark torn", noteLoses: 5, left: 300_000),
    Damage(testDescription: "no mark left", noteLoses: 200, left: nil),
  ])
  func `is believed as far as it is under a digest`(_ row: Damage) async throws {
    let fixture = try await StoreFixture()
    try keep(in: fixture)
    let folder = fixture.root.temporary + "/partial"
    let note = try #require(kept(fixture).first { !$0.hasSuffix(".body") })
    if let offset = row.ofBody { change("\(folder)/\(note).body", at: offset) }
    if let offset = row.ofNote { change("\(folder)/\(note)", at: offset) }
    if let length = row.bodyLength { truncate("\(folder)/\(note).body", off_t(length)) }
    if let count = row.noteLoses {
      truncate("\(folder)/\(note)", off_t((bytes(of: "\(folder)/\(note)") ?? []).count - count))
    }
    let found = await fixture.store.takeBeginning(key)
    #expect(found?.bytes == row.left)
    #expect(
      found?.hash.digestSoFar() == row.left.map { sha256(Array(content[..<$0])) })
    #expect(kept(fixture) == [])
  }

  /// It goes on, breaks off again and is found again, though its first note had a mark that was wrong.
  @Test func `may break off again`() async throws {
    let fixture = try await StoreFixture()
    try keep(in: fixture)
    let folder = fixture.root.temporary + "/partial"
    let note = try #require(kept(fixture).first { !$0.hasSuffix(".body") })
    change("\(folder)/\(note).body", at: 450_000)
    let found = try #require(await fixture.store.takeBeginning(key))
    try found.file.write(Array(content[300_000..<650_000]))
    found.file.note(650_000, sha256(Array(content[..<650_000])), for: key, record: { record })
    fixture.store.keep(found.file, for: key)
    #expect(try await fixture.another().store.takeBeginning(key)?.bytes == 650_000)
  }

  @Test func `gives way to younger ones, in number, bytes and age`() async throws {
    let fixture = try await StoreFixture()
    let parent = try Folder(opening: fixture.root.temporary)
    var limits = BeginningFolder.Limits()
    limits.count = 3
    limits.bytes = 2_000_000
    let folder = BeginningFolder(below: parent, limits: limits)
    for number in 1...6 {
      let file = try fixture.store.temporaryFile()
      try file.write(content)
      let key = EntryKey(UInt64(number), 0)
      file.note(300_000, sha256(Array(content[..<300_000])), for: key, record: { record })
      file.keep(for: key, in: folder)
    }
    #expect(kept(fixture).count == 12)
    folder.trim(now: time(nil))
    #expect(kept(fixture).count == 4)  // three would have 2,100,000 bytes
    folder.trim(now: time(nil) + limits.age + 60)
    #expect(kept(fixture) == [])
  }

  @Test func `leaves foreign files alone, and half a pair only for a while`() async throws {
    let fixture = try await StoreFixture()
    try keep(in: fixture)
    let folder = fixture.root.temporary + "/partial"
    let note = try #require(kept(fixture).first { !$0.hasSuffix(".body") })
    unlink("\(folder)/\(note)")
    StorageTemporaryFolder.write([1], to: "\(folder)/README")
    symlink("/etc/passwd", "\(folder)/\(key).1")
    symlink("/etc/passwd", "\(folder)/\(key).1.body")
    let parent = try Folder(opening: fixture.root.temporary)
    let kept = BeginningFolder(below: parent)
    kept.trim(now: time(nil))
    #expect(self.kept(fixture).count == 4)
    #expect(try await fixture.another().store.takeBeginning(key) == nil)
    #expect(self.kept(fixture) == ["README", "\(note).body"].sorted())
    kept.trim(now: time(nil) + 7200)
    #expect(self.kept(fixture) == ["README"])
    #expect((bytes(of: "/etc/passwd") ?? []).count > 100)
  }
}

extension StoreFixture {
  /// The name of the folder in `tmp/` that holds this store's files.
  fileprivate var ownFolder: String {
    StorageTemporaryFolder.names(in: root.temporary).first { name in
      !StorageTemporaryFolder.names(in: root.temporary + "/" + name).isEmpty
    } ?? ""
  }
}
