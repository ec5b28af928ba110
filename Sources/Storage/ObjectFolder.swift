import CFiles
import Glibc
import Threading
import Vocabulary

/// The tree of objects: `ab/cdef…`, the digest's first byte and the rest of it, in hexadecimal.
struct ObjectFolder: Sendable {
  let folder: Folder

  init(opening path: String) throws(StorageFailure) { folder = try Folder(opening: path) }

  static func name(of digest: Digest) -> String {
    let hex = digest.description
    return "\(hex.prefix(2))/\(hex.dropFirst(2))"
  }

  /// The folder that an object's name stands in.
  static func branch(of digest: Digest) -> UInt8 { UInt8(digest.words.0 >> 56) }

  static func name(ofBranch branch: UInt8) -> String {
    (branch < 16 ? "0" : "") + String(branch, radix: 16)
  }

  /// Makes the 256 branches, so that a commit finds them there.
  func makeBranches() throws(StorageFailure) {
    let present = Set(try folder.names())
    var isChanged = false
    for branch in 0...UInt8.max where !present.contains(Self.name(ofBranch: branch)) {
      try makeBranch(branch)
      isChanged = true
    }
    if isChanged { try folder.sync() }
  }

  private func makeBranch(_ branch: UInt8) throws(StorageFailure) {
    let name = Self.name(ofBranch: branch)
    guard mkdirat(folder.descriptor, name, 0o755) == 0 || errno == EEXIST else {
      throw StorageFailure(errno: errno, "make the folder", folder.path + "/" + name)
    }
    fchmodat(folder.descriptor, name, 0o755, 0)
  }

  func contains(_ digest: Digest, bytes: Int) -> Bool {
    // Asked for each file of each item: so without a string.
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 2 + 64) { name in
      digest.writeHex(to: UnsafeMutableBufferPointer(rebasing: name[1..<65]))
      name[0] = name[1]
      name[1] = name[2]
      name[2] = UInt8(ascii: "/")
      name[65] = 0
      return name.withMemoryRebound(to: CChar.self) { name in
        guard let status = folder.status(of: name.baseAddress!) else { return false }
        return status.isRegularFile && Int(status.st_size) == bytes
      }
    }
  }

  func path(of digest: Digest) -> String { folder.path + "/" + Self.name(of: digest) }

  func open(_ digest: Digest) throws(StorageFailure) -> OwnedDescriptor {
    let descriptor = openat(
      folder.descriptor, Self.name(of: digest), O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    if descriptor >= 0 { return OwnedDescriptor(owning: descriptor) }
    if errno == ENOENT { throw .missing(digest) }
    throw StorageFailure(errno: errno, "open", path(of: digest))
  }

  /// Gives a synced file its name. A whole object of that name stays what it is; the branch is not
  /// synced. Until the staged file goes, the object is not removed.
  func name(_ staged: StagedObject) throws(StorageFailure) {
    let (file, digest) = (staged.file, staged.digest)
    let name = Self.name(of: digest)
    // Before it can be found by its name; nobody else has the file yet, so this never waits.
    try ObjectLock.share(file.descriptor, path: file.path)
    while linkat(file.folder.descriptor, file.name, folder.descriptor, name, 0) != 0 {
      switch errno {
      case EEXIST where contains(digest, bytes: staged.bytes):
        guard let lock = try lockForUse(digest) else { continue }
        file.keep(lock)
        // Its change time tells a collector of unused objects that somebody counts on it, and a web
        // server's validators are made of its modification time, which stays.
        _ = tw_mark_used(folder.descriptor, name)
      case EEXIST:
        // Cut short by something outside: the good file takes its place.
        guard renameat(file.folder.descriptor, file.name, folder.descriptor, name) == 0 else {
          throw StorageFailure(errno: errno, "replace", path(of: digest))
        }
      case ENOENT where folder.status(of: Self.name(ofBranch: Self.branch(of: digest))) == nil:
        try makeBranch(Self.branch(of: digest))
        try folder.sync()
        continue
      default: throw StorageFailure(errno: errno, "make", path(of: digest))
      }
      break
    }
    CrashSeam.objectNamed.reached()
    file.becomeCommitted()
  }

  /// Waits for a removal that is under way.
  /// - Returns: nil where the object has gone meanwhile.
  private func lockForUse(_ digest: Digest) throws(StorageFailure) -> OwnedDescriptor? {
    guard let object = try openIfThere(digest) else { return nil }
    try ObjectLock.share(object.descriptor, path: path(of: digest))
    return stands(object, as: digest) ? object : nil
  }

  /// - Returns: nil where the object has gone, or somebody counts on it.
  func lockForRemoval(_ digest: Digest) throws(StorageFailure) -> OwnedDescriptor? {
    guard let object = try openIfThere(digest),
      try ObjectLock.takeAlone(object.descriptor, path: path(of: digest))
    else { return nil }
    return stands(object, as: digest) ? object : nil
  }

  private func openIfThere(_ digest: Digest) throws(StorageFailure) -> OwnedDescriptor? {
    do throws(StorageFailure) {
      return try open(digest)
    } catch {
      if case .missing = error { return nil }
      throw error
    }
  }

  /// Whether a name still stands for the file that was opened under it.
  private func stands(_ object: OwnedDescriptor, as digest: Digest) -> Bool {
    var opened = stat()
    guard fstat(object.descriptor, &opened) == 0 else { return false }
    return folder.status(of: Self.name(of: digest))?.isSameFile(as: opened) ?? false
  }

  func syncBranch(_ branch: UInt8) throws(StorageFailure) {
    let (branch, code) = folder.subfolder(Self.name(ofBranch: branch))
    guard let branch else { throw StorageFailure(errno: code, "open", folder.path) }
    try branch.sync()
  }

  /// To be called under `lockForRemoval`. A name that is not there is no error. Not synced: an object that is back after a power cut is an
  /// orphan, nothing worse.
  func remove(_ digest: Digest) throws(StorageFailure) {
    guard unlinkat(folder.descriptor, Self.name(of: digest), 0) == 0 || errno == ENOENT else {
      throw StorageFailure(errno: errno, "remove", path(of: digest))
    }
  }
}
