import Glibc
import Vocabulary

/// Who counts on an object, told between processes by locks on its file.
///
/// Between a commit and the settlement that names the object, the ledger knows nothing of it, and
/// somebody else may be about to remove the very same bytes. So whoever commits an object shares its
/// lock until its settlement is over, and whoever removes one takes the lock alone, looks into the
/// ledger and only then deletes. The kernel drops the locks of a process that dies.
enum ObjectLock {
  /// Waits while somebody has it alone, which lasts for one look at the ledger.
  static func share(_ descriptor: Int32, path: String) throws(StorageFailure) {
    guard retryingInterrupts({ flock(descriptor, LOCK_SH) }) == 0 else {
      throw StorageFailure(errno: errno, "lock", path)
    }
  }

  /// - Returns: false where somebody shares it.
  static func takeAlone(_ descriptor: Int32, path: String) throws(StorageFailure) -> Bool {
    if retryingInterrupts({ flock(descriptor, LOCK_EX | LOCK_NB) }) == 0 { return true }
    if errno == EWOULDBLOCK { return false }
    throw StorageFailure(errno: errno, "lock", path)
  }
}

/// Objects that their holder alone may remove, as long as this lives.
package struct HeldObjects: Sendable {
  var locks: [Digest: OwnedDescriptor] = [:]

  package var digests: [Digest] { locks.keys.sorted() }
}
