import Glibc
import Threading
import Vocabulary

/// Makes and removes names below `public/`, many at a time.
///
/// A name is a hard link to an object. It appears by link(2), or changes by rename(2) over the old one:
/// a reader finds the old bytes or the new, all of them, at any moment.
struct Publisher: Sendable {
  let published: Folder
  let objects: ObjectFolder
  let temporary: TemporaryFolder

  /// - Returns: for each request, whether all its names are as they should be, durably.
  func perform(_ requests: [[PublicName]]) -> [Result<Void, StorageFailure>] {
    var walk = PublicWalk(from: published)
    var failures = [StorageFailure?](repeating: nil, count: requests.count)
    for (index, names) in requests.enumerated() {
      do throws(StorageFailure) {
        for name in names { try apply(CheckedName(name), for: index, &walk) }
      } catch {
        failures[index] = error
      }
    }
    for (index, failure) in walk.finish() { failures[index] = failures[index] ?? failure }
    return failures.map { $0.map { .failure($0) } ?? .success(()) }
  }

  private func apply(
    _ name: CheckedName, for request: Int, _ walk: inout PublicWalk
  ) throws(StorageFailure) {
    // A folder may be found empty and removed, by this process or another, between walking to it and
    // using it. Nobody removes it for ever.
    for _ in 0..<100 {
      if let object = name.publicName.object {
        let folder = try walk.folder(for: name, request: request)
        if try place(object, in: folder, name) { return CrashSeam.namePublished.reached() }
      } else {
        guard let folder = try walk.existingFolder(for: name, request: request) else { return }
        return try remove(name, in: folder)
      }
      walk.forget(name)
    }
    throw .gone(path: published.path + "/" + name.folders.joined(separator: "/"), operation: "use")
  }

  /// - Returns: false where the folder has been removed meanwhile.
  private func place(
    _ object: Digest, in folder: Folder, _ name: CheckedName
  ) throws(StorageFailure) -> Bool {
    let source = ObjectFolder.name(of: object)
    if linkat(objects.folder.descriptor, source, folder.descriptor, name.name, 0) == 0 {
      return true
    }
    switch errno {
    case EEXIST: return try replace(object, in: folder, name)
    case EMLINK, EPERM: return try copy(object, in: folder, name)
    case ENOENT:
      guard objects.folder.status(of: source) == nil else { return false }
      throw .missing(object)
    default: throw StorageFailure(errno: errno, "publish", folder.path + "/" + name.name)
    }
  }

  private func replace(
    _ object: Digest, in folder: Folder, _ name: CheckedName
  ) throws(StorageFailure) -> Bool {
    let source = ObjectFolder.name(of: object)
    if let old = folder.status(of: name.name), let new = objects.folder.status(of: source),
      old.isSameFile(as: new)
    {
      return true
    }
    let name2 = temporary.nextName()
    guard linkat(objects.folder.descriptor, source, temporary.folder.descriptor, name2, 0) == 0
    else {
      switch errno {
      case EMLINK, EPERM: return try copy(object, in: folder, name)
      case ENOENT where objects.folder.status(of: source) == nil: throw .missing(object)
      default: throw StorageFailure(errno: errno, "link", temporary.folder.path + "/" + name2)
      }
    }
    CrashSeam.linkPrepared.reached()
    return try move(name2, to: folder, name)
  }

  /// Takes the place of a link where the object has as many as its file system allows (65,000 on ext4),
  /// or the kernel refuses links to another user's file.
  private func copy(
    _ object: Digest, in folder: Folder, _ name: CheckedName
  ) throws(StorageFailure) -> Bool {
    let source = try objects.open(object)
    let copy = try TemporaryFile(in: temporary)
    try forEachChunk(of: source.descriptor, path: objects.path(of: object)) {
      bytes throws(StorageFailure) in
      try copy.write(bytes)
    }
    guard retryingInterrupts({ fdatasync(copy.descriptor) }) == 0 else {
      throw StorageFailure(errno: errno, "sync", copy.path)
    }
    defer { copy.becomeCommitted() }
    return try move(copy.name, to: folder, name)
  }

  /// - Returns: false where the folder has been removed meanwhile.
  private func move(
    _ temporaryName: String, to folder: Folder, _ name: CheckedName
  ) throws(StorageFailure) -> Bool {
    let code =
      renameat(temporary.folder.descriptor, temporaryName, folder.descriptor, name.name) == 0
      ? 0 : errno
    // Renaming one link of a file over another does nothing and leaves both.
    unlinkat(temporary.folder.descriptor, temporaryName, 0)
    switch code {
    case 0: return true
    case ENOENT: return false
    case EISDIR:
      throw .nameTaken(
        job: name.publicName.job, path: name.publicName.path, reason: "a folder stands there")
    default: throw StorageFailure(errno: code, "publish", folder.path + "/" + name.name)
    }
  }

  private func remove(_ name: CheckedName, in folder: Folder) throws(StorageFailure) {
    guard unlinkat(folder.descriptor, name.name, 0) == 0 || errno == ENOENT || errno == EISDIR
    else { throw StorageFailure(errno: errno, "remove", folder.path + "/" + name.name) }
  }
}
