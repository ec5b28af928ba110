import Glibc
import Synchronization
import Vocabulary

/// What the store's file system has left, and how much of it is promised to bodies that are on their way.
///
/// Bodies of one process know of each other's promises; those of other processes count once they are
/// written. So much stays free that the ledger can still write down what was done.
final class DiskSpace: Sendable {
  private let folder: Folder
  /// Bytes that no body may use.
  let floor: Int
  /// Promised and not written yet.
  private let promised = Mutex(0)

  /// Most that is kept free where nobody has said how much.
  private static let mostByDefault = 256 << 20

  /// - Parameters:
  ///   - folder: anywhere on the file system.
  ///   - floor: bytes that are to stay free; nil: a fiftieth of the file system, 256 MiB at most.
  init(of folder: Folder, floor: Int?) {
    self.folder = folder
    self.floor = floor ?? min(Self.mostByDefault, (folder.fileSystem?.bytes ?? 0) / 50)
  }

  /// Bytes that this user can still write, promises aside; nil where the file system does not tell.
  var free: Int? { folder.fileSystem?.free }

  /// Promises so many bytes to one body.
  ///
  /// - Throws: `spaceLow` where less than the floor would be left after it.
  func promise(_ bytes: Int) throws(StorageFailure) -> SpacePromise {
    let claim = SpacePromise(in: self)
    try claim.grow(by: bytes)
    return claim
  }

  /// For a body that is promised its space with its first bytes.
  func nothingPromised() -> SpacePromise { SpacePromise(in: self) }

  fileprivate func take(_ bytes: Int) throws(StorageFailure) {
    guard let free = free else { return }
    let left = promised.withLock { promised -> Int? in
      guard free - promised - bytes < floor else {
        promised += bytes
        return nil
      }
      return free - promised
    }
    guard let left else { return }
    throw .spaceLow(path: folder.path, free: max(0, left), needed: bytes, floor: floor)
  }

  fileprivate func giveBack(_ bytes: Int) { promised.withLock { $0 -= bytes } }
}

/// The space that one body was promised. What is left of it goes back when nobody holds it any more.
final class SpacePromise: Sendable {
  private let space: DiskSpace
  private let left = Mutex(0)

  /// What a body of unknown length is promised at a time.
  static let step = 1 << 20

  fileprivate init(in space: DiskSpace) { self.space = space }

  deinit { space.giveBack(left.withLock { $0 }) }

  fileprivate func grow(by bytes: Int) throws(StorageFailure) {
    try space.take(bytes)
    left.withLock { $0 += bytes }
  }

  /// So many bytes are about to be written: they count among what the file system has from then on.
  ///
  /// - Throws: `spaceLow` where they were not promised and cannot be.
  func use(_ bytes: Int) throws(StorageFailure) {
    let missing = bytes - left.withLock { $0 }
    if missing > 0 { try grow(by: max(missing, Self.step)) }
    left.withLock { $0 -= bytes }
    space.giveBack(bytes)
  }
}

extension Folder {
  /// How large its file system is and what this user can still write, in bytes; nil where it does not tell.
  fileprivate var fileSystem: (bytes: Int, free: Int)? {
    var status = statvfs()
    guard fstatvfs(descriptor, &status) == 0, status.f_blocks > 0 else { return nil }
    let block = Int(status.f_frsize)
    return (Int(status.f_blocks) * block, Int(status.f_bavail) * block)
  }
}
