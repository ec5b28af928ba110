import Glibc
import Synchronization
import Vocabulary

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

  /// Deletes the folders that processes have left when they ended, but for the beginnings that they had
  /// noted.
  static func sweep(_ parent: Folder, keeping kept: BeginningFolder) throws(StorageFailure) {
    for name in try parent.names() where name != BeginningFolder.name {
      // Not a folder, gone meanwhile, or somebody's: none of our business.
      guard let folder = parent.subfolder(name).folder, try folder.tryLock() else { continue }
      let files = try folder.names()
      for note in files {
        let parts = note.split(separator: ".")
        guard parts.count == 2, let key = EntryKey(hex: parts[1]) else { continue }
        kept.put(String(parts[0]), note, for: key, from: folder)
      }
      for file in files { unlinkat(folder.descriptor, file, 0) }
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
