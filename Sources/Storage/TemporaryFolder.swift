import Glibc
import Synchronization

/// This store's own folder below `tmp/`, locked for as long as the store lives.
///
/// The kernel drops the lock when the process ends, however it ends, so a folder whose lock can be had
/// belongs to nobody: that holds over restarts, equal process numbers and containers.
final class TemporaryFolder: Sendable {
  let folder: Folder
  private let parent: Folder
  private let name: String
  private let counter = Atomic<UInt64>(0)

  /// Makes a folder of its own below `parent`.
  init(below parent: Folder) throws(StorageFailure) {
    self.parent = parent
    while true {
      let name = "\(getpid())-" + String(UInt64.random(in: .min ... .max), radix: 16)
      guard try parent.makeSubfolder(name), let folder = parent.subfolder(name).folder else {
        continue
      }
      // A sweep may come between making and locking; then it has the lock, or the folder is gone.
      switch try folder.tryLock() {
      case true where parent.status(of: name) != nil:
        self.folder = folder
        self.name = name
        return
      default: continue
      }
    }
  }

  /// Files that are still open keep this object, so none is left here by now.
  deinit { unlinkat(parent.descriptor, name, AT_REMOVEDIR) }

  /// A name that no other file of this folder has had.
  func nextName() -> String {
    String(counter.wrappingAdd(1, ordering: .relaxed).newValue)
  }

  /// Deletes the folders that processes have left when they ended.
  static func sweep(_ parent: Folder) throws(StorageFailure) {
    for name in try parent.names() {
      // Not a folder, gone meanwhile, or somebody's: none of our business.
      guard let folder = parent.subfolder(name).folder, try folder.tryLock() else { continue }
      for file in try folder.names() { unlinkat(folder.descriptor, file, 0) }
      unlinkat(parent.descriptor, name, AT_REMOVEDIR)
    }
  }
}

extension Folder {
  /// - Returns: false where another open description of the folder holds its lock.
  fileprivate func tryLock() throws(StorageFailure) -> Bool {
    if retryingInterrupts({ flock(descriptor, LOCK_EX | LOCK_NB) }) == 0 { return true }
    if errno == EWOULDBLOCK { return false }
    throw StorageFailure(errno: errno, "lock", path)
  }
}
