import Glibc
import Hashing
import Storage
import TestSupport
import Vocabulary

/// A store in a folder of its own.
struct StoreFixture: Sendable {
  let folder: StorageTemporaryFolder
  let root: RootLayout
  let store: ObjectStore

  init(in parent: String? = nil, storeID: String = "one", minFree: Int? = nil) async throws {
    let folder = StorageTemporaryFolder(in: parent)
    try await self.init(folder: folder, storeID: storeID, minFree: minFree)
  }

  private init(
    folder: StorageTemporaryFolder, storeID: String, minFree: Int? = nil
  ) async throws {
    self.folder = folder
    root = RootLayout(root: folder.path + "/root")
    store = try await ObjectStore.open(root: root, storeID: storeID, minFree: minFree)
  }

  /// Another store on the same root, as another process would open it.
  func another(storeID: String = "one") async throws -> StoreFixture {
    try await StoreFixture(folder: folder, storeID: storeID)
  }

  func staged(_ bytes: [UInt8], of store: ObjectStore? = nil) throws -> StagedObject {
    let file = try (store ?? self.store).temporaryFile()
    try file.write(bytes)
    return StagedObject(file: file, digest: sha256(bytes), bytes: bytes.count)
  }

  @discardableResult
  func commit(_ bytes: [UInt8]) async throws -> Digest {
    let object = try staged(bytes)
    try await store.commit([object])
    return object.digest
  }

  func publish(
    _ path: String, _ object: Digest?, job: String = "job"
  ) async throws(StorageFailure) {
    try await store.publish([PublicName(job: job, path: path, object: object)])
  }

  /// Where a published name stands.
  func path(_ name: String, job: String = "job") -> String {
    root.published + "/" + job + "/" + name
  }

  /// Every file in `tmp/`, below the folders of all stores.
  var temporaryFiles: [String] {
    StorageTemporaryFolder.names(in: root.temporary).flatMap {
      StorageTemporaryFolder.names(in: root.temporary + "/" + $0)
    }
  }
}

extension TemporaryFile {
  func write(_ bytes: [UInt8]) throws(StorageFailure) {
    try bytes.withUnsafeBufferPointer { bytes throws(StorageFailure) in
      try write(UnsafeRawBufferPointer(bytes))
    }
  }
}

func sha256(_ bytes: [UInt8]) -> Digest {
  let hash = SHA256()
  bytes.withUnsafeBytes { hash.update($0) }
  return hash.finish()
}

/// Bytes that differ with the seed from the first on.
func someBytes(_ count: Int, seed: Int) -> [UInt8] {
  var state = UInt64(truncatingIfNeeded: seed) &* 0x9E37_79B9_7F4A_7C15 | 1
  return (0..<count).map { _ in
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return UInt8(truncatingIfNeeded: state >> 56)
  }
}

func status(of path: String) -> stat? {
  var status = stat()
  return lstat(path, &status) == 0 ? status : nil
}

func bytes(of path: String) -> [UInt8]? { StorageTemporaryFolder.bytes(of: path) }

/// How a call failed; nil where it did not.
func failure(
  of call: () async throws(StorageFailure) -> Void
) async -> StorageFailure? {
  do throws(StorageFailure) {
    try await call()
    return nil
  } catch {
    return error
  }
}
