// Storage: objects/, tmp/ and public/ of a root.
//
// In:  files in tmp/ that somebody has written and hashed (`temporaryFile`, `digest`, `commit`), names
//      for objects (`publish`), objects to forget (`hold`, `remove`).
// Out: objects that are whole and durable when `commit` returns, descriptors to read them (`open`),
//      names under public/ that are durable when `publish` returns.
// Where: whatever waits for a disk runs on threads of this target, in groups that share their syncs:
//      "store-commit" (2), "store-publish" (1), "store-hash" (2). What only looks up or opens a name runs
//      where it is called.
//
//   tmp file ─► bytes synced ─► linked to objects/ab/cdef… ─► folder synced ─► (ledger) ─► public/ link
//
// Many stores, in one process or several, may use a root at the same time: nothing here relies on being
// alone, and nothing is kept in memory that another process could change.

import Glibc
import Vocabulary

/// Objects by the digest of their bytes, never modified, and the names that are published for them.
package final class ObjectStore: Sendable {
  /// Whether `objects/.id` was missing or of another ledger when the store was opened: the store was
  /// emptied, replaced or never used. Then every file that the ledger names is to be checked before the
  /// ledger is trusted, and `confirmIdentity` called after.
  package let isStranger: Bool

  let root: RootLayout
  private let storeID: String
  let published: String
  let objects: ObjectFolder
  let temporary: TemporaryFolder
  private let space: DiskSpace
  private let beginnings: BeginningFolder
  private let commits: GroupedThreads<[StagedObject], Void>
  private let publications: GroupedThreads<[PublicName], Void>
  private let hashing: GroupedThreads<Int32, HashedFile>

  /// Opens the store of a root, makes what is missing of it and deletes what dead processes have left in
  /// `tmp/`.
  ///
  /// - Parameters:
  ///   - storeID: the name that the ledger knows the store by.
  ///   - minFree: bytes of its file system that bodies leave free; nil: a fiftieth of it, 256 MiB at most.
  package static func open(
    root: RootLayout, storeID: String, minFree: Int? = nil
  ) async throws(StorageFailure) -> ObjectStore {
    try await onThread(named: "store-open") { () throws(StorageFailure) in
      try ObjectStore(root: root, storeID: storeID, minFree: minFree)
    }
  }

  private init(root: RootLayout, storeID: String, minFree: Int?) throws(StorageFailure) {
    try root.create()
    self.root = root
    self.storeID = storeID
    published = root.published
    objects = try ObjectFolder(opening: root.objects)
    try objects.makeBranches()
    space = DiskSpace(of: objects.folder, floor: minFree)
    isStranger = try StoreIdentity.read(in: objects.folder) != storeID
    let allTemporary = try Folder(opening: root.temporary)
    temporary = try TemporaryFolder(below: allTemporary)
    beginnings = BeginningFolder(below: allTemporary)
    try TemporaryFolder.sweep(allTemporary, keeping: beginnings)
    beginnings.trim(now: time(nil))
    let commit = Commit(objects: objects)
    let publisher = Publisher(
      published: try Folder(opening: root.published), objects: objects, temporary: temporary)
    commits = GroupedThreads(
      name: "store-commit",
      rule: .init(threads: 2, fullWeight: 64, wait: .milliseconds(25)), weight: \.count,
      gathered: commit.startWriting, perform: commit.perform)
    publications = GroupedThreads(
      name: "store-publish",
      rule: .init(threads: 1, fullWeight: 256, wait: .milliseconds(25)), weight: \.count,
      perform: publisher.perform)
    hashing = GroupedThreads(
      name: "store-hash", rule: .init(threads: 2, fullWeight: 1, wait: .zero)
    ) { descriptors in
      descriptors.map { descriptor in
        Result { () throws(StorageFailure) in try HashedFile(of: descriptor) }
      }
    }
  }

  deinit {
    commits.stop()
    publications.stop()
    hashing.stop()
  }

  /// Writes `objects/.id`. To be called when every file that the ledger names has been checked: not
  /// earlier, or a run that is killed during the check would leave a store that the next run trusts.
  package func confirmIdentity() async throws(StorageFailure) {
    let (storeID, objects, temporary) = (storeID, objects, temporary)
    try await onThread(named: "store-identity") { () throws(StorageFailure) in
      try StoreIdentity.write(storeID, in: objects.folder, by: temporary)
    }
  }

  /// A new file, empty. Opens a file and no more; may be called on any thread.
  package func temporaryFile() throws(StorageFailure) -> TemporaryFile {
    try TemporaryFile(in: temporary)
  }

  /// A new file for a body from outside: what it takes of the disk is promised to it before it comes, so
  /// that many at a time end before the disk is full. Looks how much is free; may be called on any thread.
  ///
  /// - Parameter expected: its length; nil where that is not known: then it is promised step by step.
  /// - Throws: `spaceLow` where less than `minFree` would be left, here or by one of its writes.
  package func temporaryFile(expecting expected: Int?) throws(StorageFailure) -> TemporaryFile {
    let promise = try space.promise(expected ?? SpacePromise.step)
    let file = try temporaryFile()
    file.draw(on: promise)
    return file
  }

  /// Bytes that this user can still write; nil where the file system does not tell.
  package var freeBytes: Int? { space.free }

  /// Leaves a file that nobody finishes to whoever fetches the same URL next. Renames two files, and looks
  /// through the few that are kept.
  package func keep(_ file: TemporaryFile, for key: EntryKey) {
    file.keep(for: key, in: beginnings)
    beginnings.trim(now: time(nil))
  }

  /// Whether anything is known to be there under a key.
  package func mayHoldBeginning(_ key: EntryKey) -> Bool { beginnings.mayHold(key) }

  /// What a transfer has left under a key, read and found right; it is the caller's alone. Nil, at once,
  /// where nothing was known to be there when the store was opened or has kept something last.
  package func takeBeginning(_ key: EntryKey) async -> KeptBeginning? {
    guard beginnings.mayHold(key) else { return nil }
    let (beginnings, temporary) = (beginnings, temporary)
    let found = try? await onThread(named: "store-partial") { () throws(StorageFailure) in
      temporary.takeBeginning(key, from: beginnings)
    }
    // How much is still to come nobody knows yet.
    found?.file.draw(on: space.nothingPromised())
    return found ?? nil
  }

  /// Deletes what transfers have left under these keys.
  package func forgetBeginnings(_ keys: [EntryKey]) async throws(StorageFailure) {
    let beginnings = beginnings
    try await onThread(named: "store-partial") { () throws(StorageFailure) in
      beginnings.forget(Set(keys))
    }
  }

  /// The SHA-256 and the length of an open file: for files that another process has written. The
  /// descriptor's offset stays where it is; the caller keeps it open.
  package func digest(of descriptor: Int32) async throws(StorageFailure) -> (Digest, Int) {
    let file = try await hashing.submit(descriptor)
    return (file.digest, file.bytes)
  }

  /// Makes files into objects. When it returns, all of them are whole and durable, and nobody removes
  /// them while the staged files live: keep those until the ledger names the objects. An object that was
  /// there before stays as it is. When it throws, some may have become objects: orphans, until somebody
  /// commits them again or they are collected.
  ///
  /// - Throws: `notWhole` where a file is empty or has not the size that it was said to have.
  package func commit(_ staged: [StagedObject]) async throws(StorageFailure) {
    if staged.isEmpty { return }
    try await commits.submit(staged)
  }

  /// For reading.
  ///
  /// - Throws: `missing` where there is no such object.
  package func open(_ digest: Digest) throws(StorageFailure) -> OwnedDescriptor {
    try objects.open(digest)
  }

  /// Whether an object of that name and length is there; its bytes are not read.
  package func contains(_ digest: Digest, bytes: Int) -> Bool {
    objects.contains(digest, bytes: bytes)
  }

  package func path(of digest: Digest) -> String { objects.path(of: digest) }

  /// Takes hold of those objects that no worker has committed and not yet settled. Until the result is
  /// gone, a commit of the same bytes waits: keep it no longer than a look at the ledger takes.
  package func hold(_ digests: [Digest]) async throws(StorageFailure) -> HeldObjects {
    let objects = objects
    return try await onThread(named: "store-hold") { () throws(StorageFailure) in
      var held = HeldObjects()
      for digest in digests {
        if let lock = try objects.lockForRemoval(digest) { held.locks[digest] = lock }
      }
      return held
    }
  }

  /// Deletes held objects; names that are published for them stay.
  ///
  /// - Parameter named: what the ledger names, looked up since they were held: it stays.
  package func remove(
    _ held: HeldObjects, butNot named: Set<Digest>
  ) async throws(StorageFailure) {
    let objects = objects
    try await onThread(named: "store-remove") { () throws(StorageFailure) in
      for digest in held.digests where !named.contains(digest) { try objects.remove(digest) }
    }
    withExtendedLifetime(held) {}
  }

  /// Whether a job has a folder under `public/`.
  package func hasFolder(ofJob job: String) -> Bool { access(published + "/" + job, F_OK) == 0 }

  /// Makes, changes and removes names under `public/`, each atomically, in the order given. When it
  /// returns, they are durable; when it throws, those before the one that failed may stand.
  ///
  /// - Throws: `refusedName` where a name would leave its job's folder, `nameTaken` where a folder or a
  ///   file is in its way, `missing` where there is no such object.
  package func publish(_ names: [PublicName]) async throws(StorageFailure) {
    if names.isEmpty { return }
    try await publications.submit(names)
  }
}
