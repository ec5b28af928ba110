import Glibc
import Storage
import TestSupport
import Testing
import Vocabulary

@Suite struct `A commit` {
  @Test func `gives each file the name of its digest and leaves nothing in tmp`() async throws {
    let fixture = try await StoreFixture()
    let contents = (1...5).map { someBytes(1000 * $0, seed: $0) }
    try await fixture.store.commit(contents.map { try fixture.staged($0) })
    for content in contents {
      let digest = sha256(content)
      let hex = digest.description
      #expect(
        fixture.store.path(of: digest)
          == "\(fixture.root.objects)/\(hex.prefix(2))/\(hex.dropFirst(2))")
      #expect(bytes(of: fixture.store.path(of: digest)) == content)
      #expect(fixture.store.contains(digest, bytes: content.count))
      #expect(!fixture.store.contains(digest, bytes: content.count + 1))
      let file = try fixture.store.open(digest)
      let (found, count) = try await fixture.store.digest(of: file.descriptor)
      #expect(found == digest && count == content.count)
    }
    #expect(fixture.temporaryFiles.isEmpty)
  }

  @Test func `makes files and folders that a web server may read`() async throws {
    let fixture = try await StoreFixture()
    let digest = try await fixture.commit(someBytes(10, seed: 1))
    try await fixture.publish("thumb/a.jpg", digest)
    let branch = fixture.root.objects + "/" + digest.description.prefix(2)
    for folder in [fixture.root.root, fixture.root.objects, branch, fixture.path("thumb")] {
      #expect(try #require(status(of: folder)).st_mode & 0o777 == 0o755, "\(folder)")
    }
    #expect(try #require(status(of: fixture.path("thumb/a.jpg"))).st_mode & 0o777 == 0o644)
  }

  @Test func `leaves an object that is there as it is`() async throws {
    let fixture = try await StoreFixture()
    let content = someBytes(5000, seed: 1)
    let path = fixture.store.path(of: try await fixture.commit(content))
    let before = try #require(status(of: path))
    try await fixture.commit(content)
    let after = try #require(status(of: path))
    #expect(after.st_ino == before.st_ino)
    #expect(after.st_mtim.tv_nsec == before.st_mtim.tv_nsec)
    #expect(after.st_nlink == 1)
    #expect(fixture.temporaryFiles.isEmpty)
  }

  @Test func `replaces an object that was cut short`() async throws {
    let fixture = try await StoreFixture()
    let content = someBytes(5000, seed: 1)
    let path = fixture.store.path(of: try await fixture.commit(content))
    #expect(truncate(path, 100) == 0)
    try await fixture.commit(content)
    #expect(bytes(of: path) == content)
    #expect(fixture.temporaryFiles.isEmpty)
  }

  @Test func `makes a branch again that somebody deleted`() async throws {
    let fixture = try await StoreFixture()
    let content = someBytes(5000, seed: 1)
    let branch = fixture.root.objects + "/" + sha256(content).description.prefix(2)
    #expect(rmdir(branch) == 0)
    let digest = try await fixture.commit(content)
    #expect(bytes(of: fixture.store.path(of: digest)) == content)
  }

  @Test(arguments: [(0, 0), (100, 0), (100, 99), (100, 101), (0, 1)])
  func `refuses a file that is empty or not of its size`(written: Int, said: Int) async throws {
    let fixture = try await StoreFixture()
    var object = try fixture.staged(someBytes(written, seed: 1))
    object.bytes = said
    let staged = [object]
    let found = await failure { () throws(StorageFailure) in
      try await fixture.store.commit(staged)
    }
    #expect(found == .notWhole(object.digest, expected: said, found: written))
    #expect(!fixture.store.contains(object.digest, bytes: written))
    #expect(fixture.temporaryFiles.isEmpty)
  }

  @Test func `fails only for the caller whose file is bad`() async throws {
    let fixture = try await StoreFixture()
    let results = await withTaskGroup(of: (Int, Bool).self) { group in
      for index in 0..<40 {
        group.addTask {
          do {
            var object = try fixture.staged(someBytes(2000, seed: index))
            if index % 10 == 3 { object.bytes += 1 }
            try await fixture.store.commit([object])
            return (index, true)
          } catch {
            return (index, false)
          }
        }
      }
      return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
    }
    for index in 0..<40 {
      #expect(results[index] == (index % 10 != 3), "caller \(index)")
      #expect(
        fixture.store.contains(sha256(someBytes(2000, seed: index)), bytes: 2000)
          == (index % 10 != 3))
    }
  }

  @Test func `serves many callers of two stores on one root, equal bytes among them`() async throws
  {
    let one = try await StoreFixture()
    let two = try await one.another()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<300 {
        group.addTask {
          try await (index % 2 == 0 ? one : two).commit(someBytes(3000, seed: index / 3))
        }
      }
      try await group.waitForAll()
    }
    for seed in 0..<100 {
      let content = someBytes(3000, seed: seed)
      #expect(bytes(of: one.store.path(of: sha256(content))) == content)
    }
    #expect(one.temporaryFiles.isEmpty)
  }

}

@Suite struct `A removal` {
  @Test func `takes the objects that it holds, but not those that are named`() async throws {
    let fixture = try await StoreFixture()
    let digest = try await fixture.commit(someBytes(100, seed: 1))
    let named = try await fixture.commit(someBytes(100, seed: 2))
    let held = try await fixture.store.hold([digest, named, sha256([1, 2, 3])])
    #expect(Set(held.digests) == [digest, named])
    try await fixture.store.remove(held, butNot: [named])
    #expect(!fixture.store.contains(digest, bytes: 100))
    #expect(throws: StorageFailure.missing(digest)) { try fixture.store.open(digest) }
    #expect(fixture.store.contains(named, bytes: 100))
  }

  /// Another process has found the object there and is about to name it in the ledger.
  @Test(arguments: [false, true])
  func `passes over what somebody has committed and still counts on`(isNew: Bool) async throws {
    let fixture = try await StoreFixture()
    let other = try await fixture.another()
    let content = someBytes(100, seed: 1)
    if !isNew { try await fixture.commit(content) }
    let staged = try fixture.staged(content, of: other.store)
    try await other.store.commit([staged])
    #expect(try await fixture.store.hold([staged.digest]).digests == [])
    withExtendedLifetime(staged) {}
  }

  @Test func `may take it when nobody counts on it any more`() async throws {
    let fixture = try await StoreFixture()
    let content = someBytes(100, seed: 1)
    let digest = try await fixture.commit(content)
    try await fixture.commit(content)
    #expect(try await fixture.store.hold([digest]).digests == [digest])
  }

  @Test func `makes a commit of the same bytes wait, which then brings its own`() async throws {
    let fixture = try await StoreFixture()
    let other = try await fixture.another()
    let content = someBytes(100, seed: 1)
    let digest = try await fixture.commit(content)
    let before = try #require(status(of: fixture.store.path(of: digest))).st_ino
    let held = try await fixture.store.hold([digest])
    async let commit = other.commit(content)
    try await fixture.store.remove(held, butNot: [])
    // The hold ends with its last use.
    _ = consume held
    _ = try await commit
    #expect(bytes(of: fixture.store.path(of: digest)) == content)
    #expect(before != 0 && fixture.temporaryFiles.isEmpty)
  }
}

@Suite struct `A digest of a descriptor` {
  @Test(arguments: [0, 1, 131_071, 131_072, 131_073, 1_000_000])
  func `is of all bytes, wherever the offset stands, and leaves it there`(count: Int) async throws {
    let fixture = try await StoreFixture()
    let content = someBytes(count, seed: 7)
    let file = try fixture.store.temporaryFile()
    try file.write(content)
    lseek(file.descriptor, off_t(count / 2), SEEK_SET)
    let (digest, bytes) = try await fixture.store.digest(of: file.descriptor)
    #expect(digest == sha256(content))
    #expect(bytes == count)
    #expect(lseek(file.descriptor, 0, SEEK_CUR) == off_t(count / 2))
  }
}
