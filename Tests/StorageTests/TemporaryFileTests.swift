import Glibc
import Storage
import TestSupport
import Testing
import Vocabulary

@Suite struct `A temporary file` {
  @Test func `goes when nobody holds it`() async throws {
    let fixture = try await StoreFixture()
    do {
      let file = try fixture.store.temporaryFile()
      try file.write([1, 2, 3])
      #expect(fixture.temporaryFiles.count == 1)
    }
    #expect(fixture.temporaryFiles.isEmpty)
  }

  @Test func `goes when it is discarded`() async throws {
    let fixture = try await StoreFixture()
    let file = try fixture.store.temporaryFile()
    file.discard()
    file.discard()
    #expect(fixture.temporaryFiles.isEmpty)
    withExtendedLifetime(file) {}
  }

  @Test func `stays readable after its commit, and its object outlives it`() async throws {
    let fixture = try await StoreFixture()
    let content = someBytes(100, seed: 1)
    var object: StagedObject? = try fixture.staged(content)
    try await fixture.store.commit([object!])
    let (digest, _) = try await fixture.store.digest(of: object!.file.descriptor)
    #expect(digest == sha256(content))
    object!.file.discard()
    object = nil
    #expect(fixture.store.contains(digest, bytes: 100))
  }

  @Test func `of a dead process is swept, of a living one is not`() async throws {
    let fixture = try await StoreFixture()
    let file = try fixture.store.temporaryFile()
    let dead = fixture.root.temporary + "/4242-dead"
    #expect(mkdir(dead, 0o755) == 0)
    StorageTemporaryFolder.write([1, 2, 3], to: dead + "/1")
    StorageTemporaryFolder.write([1, 2, 3], to: fixture.root.temporary + "/note.txt")
    let another = try await fixture.another()
    #expect(status(of: dead) == nil)
    #expect(fixture.temporaryFiles.count == 1)
    #expect(status(of: fixture.root.temporary + "/note.txt") != nil)
    withExtendedLifetime((file, another)) {}
  }

  @Test func `has a folder that goes with its store`() async throws {
    let folder = StorageTemporaryFolder()
    let root = RootLayout(root: folder.path + "/root/")
    do {
      let store = try await ObjectStore.open(root: root, storeID: "one")
      #expect(StorageTemporaryFolder.names(in: root.temporary).count == 1)
      withExtendedLifetime(store) {}
    }
    // Its threads let go of it on their own time; the next store finds it unlocked or gone.
    let next = try await ObjectStore.open(root: root, storeID: "one")
    let left = try await ObjectStore.open(root: root, storeID: "one")
    #expect(StorageTemporaryFolder.names(in: root.temporary).count <= 3)
    withExtendedLifetime((next, left)) {}
  }
}

@Suite struct `A store` {
  @Test func `is a stranger until every file was checked`() async throws {
    let fixture = try await StoreFixture()
    #expect(fixture.store.isStranger)
    #expect(try await fixture.another().store.isStranger)
    try await fixture.store.confirmIdentity()
    #expect(try await !fixture.another().store.isStranger)
  }

  @Test func `is a stranger to another ledger, and after it was emptied`() async throws {
    let fixture = try await StoreFixture()
    try await fixture.store.confirmIdentity()
    let other = try await fixture.another(storeID: "two")
    #expect(other.store.isStranger)
    try await other.store.confirmIdentity()
    #expect(try await fixture.another().store.isStranger)
    #expect(try await !fixture.another(storeID: "two").store.isStranger)
    StorageTemporaryFolder.delete(fixture.root.objects)
    #expect(try await fixture.another(storeID: "two").store.isStranger)
  }

  @Test func `says so when its root was deleted`() async throws {
    let fixture = try await StoreFixture()
    let object = try fixture.staged([1, 2, 3])
    StorageTemporaryFolder.delete(fixture.root.root)
    await #expect(throws: StorageFailure.self) { try await fixture.store.commit([object]) }
    do throws(StorageFailure) {
      _ = try fixture.store.temporaryFile()
      Issue.record("a file was made in a folder that is gone")
    } catch {
      #expect(error.code == "store")
      #expect(error.disposition == .stopRun)
      #expect(error.message.hasSuffix("it is no longer there"))
    }
  }

  @Test func `says so when its root cannot be made`() async throws {
    let folder = StorageTemporaryFolder()
    StorageTemporaryFolder.write([1], to: folder.path + "/file")
    for root in [folder.path + "/file", folder.path + "/file/root"] {
      do throws(StorageFailure) {
        _ = try await ObjectStore.open(root: RootLayout(root: root), storeID: "one")
        Issue.record("\(root) cannot be a root")
      } catch {
        #expect(error.code == "store")
        #expect(error.message.contains(folder.path + "/file"))
      }
    }
  }
}
