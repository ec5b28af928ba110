import Glibc
import Threading
import Vocabulary

/// What a look at an object's file finds.
package enum ObjectCondition: Sendable, Hashable {
  case whole
  case missing
  /// Its bytes are not those that its name says.
  case damaged
}

extension ObjectStore {
  /// The branches of `objects/`, each with some of the digests: what `digests(inBranch:)` takes.
  package static var branches: ClosedRange<UInt8> { 0...UInt8.max }

  /// The objects that stand in a branch, in no order.
  package func digests(inBranch branch: UInt8) async throws(StorageFailure) -> [Digest] {
    let objects = objects
    return try await onThread(named: "store-list") { () throws(StorageFailure) in
      try objects.digests(inBranch: branch)
    }
  }

  /// Reads a whole object and compares it with its name.
  package func condition(of digest: Digest) async throws(StorageFailure) -> ObjectCondition {
    let file: OwnedDescriptor
    do throws(StorageFailure) {
      file = try open(digest)
    } catch {
      if case .missing = error { return .missing }
      throw error
    }
    var status = stat()
    guard fstat(file.descriptor, &status) == 0 else {
      throw StorageFailure(errno: errno, "look at", objects.path(of: digest))
    }
    guard status.isRegularFile else { return .damaged }
    let (found, _) = try await self.digest(of: file.descriptor)
    withExtendedLifetime(file) {}
    return found == digest ? .whole : .damaged
  }

  /// How long an object's file is; nil where there is none.
  package func bytes(of digest: Digest) -> Int? {
    objects.folder.status(of: ObjectFolder.name(of: digest)).map { Int($0.st_size) }
  }

  /// Whether a damaged object of that name was put aside.
  package func isQuarantined(_ digest: Digest) -> Bool {
    access("\(root.quarantine)/\(digest)", F_OK) == 0
  }

  /// Moves a damaged object out of the store, to `quarantine/` in the root, for somebody to look at.
  ///
  /// - Returns: where it is now; nil where it has gone, or a worker counts on it at this moment.
  package func quarantine(_ digest: Digest) async throws(StorageFailure) -> String? {
    let (objects, quarantine) = (objects, root.quarantine)
    return try await onThread(named: "store-move") { () throws(StorageFailure) in
      guard let lock = try objects.lockForRemoval(digest) else { return nil }
      defer { withExtendedLifetime(lock) {} }
      try Folder.create(quarantine)
      try objects.move(digest, to: try Folder(opening: quarantine))
      return "\(quarantine)/\(digest)"
    }
  }

  /// - Returns: those of the names that are not links to their objects, and those whose objects are gone.
  package func faults(
    among names: [PublicName]
  ) async throws(StorageFailure) -> (notStanding: Set<PublicName>, lost: Set<PublicName>) {
    let (objects, published) = (objects, published)
    return try await onThread(named: "store-names") { () throws(StorageFailure) in
      let folder = try Folder(opening: published)
      var (notStanding, lost): (Set<PublicName>, Set<PublicName>) = ([], [])
      for name in names {
        let file = name.object.flatMap { objects.folder.status(of: ObjectFolder.name(of: $0)) }
        if name.object != nil, file == nil { lost.insert(name) }
        guard let object = name.object, let link = folder.status(of: "\(name.job)/\(name.path)")
        else {
          notStanding.insert(name)
          continue
        }
        guard let file, !file.isSameFile(as: link) else { continue }
        // A copy takes the place of a link where the file system allows no more of them.
        if file.st_size != link.st_size || !folder.holds(object, in: "\(name.job)/\(name.path)") {
          notStanding.insert(name)
        }
      }
      return (notStanding, lost)
    }
  }

  /// Removes the folder that a job had under `public/`; one in which anything stands is left alone.
  package func removeFolderIfEmpty(ofJob job: String) { rmdir("\(published)/\(job)") }

  /// The jobs that have a folder under `public/`.
  package func publishedJobs() async throws(StorageFailure) -> [String] {
    let published = published
    return try await onThread(named: "store-names") { () throws(StorageFailure) in
      let folder = try Folder(opening: published)
      return try folder.names().filter { folder.status(of: $0)?.isFolder == true }.sorted()
    }
  }

  /// Goes through the files under a job's folder, folder by folder.
  package func listing(ofJob job: String) -> PublishedListing {
    PublishedListing(published: published, job: job)
  }
}

/// The files below `public/JOB/`, a folder at a time, read on a thread of its own.
package actor PublishedListing {
  private let executor = ThreadExecutor(name: "store-listing")
  private let base: String
  private var open = [""]

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    executor.asUnownedSerialExecutor()
  }

  init(published: String, job: String) { base = "\(published)/\(job)" }

  deinit { executor.stop() }

  /// The paths of the next folder's files, relative to the job's folder; nil at the end.
  package func next() throws(StorageFailure) -> [String]? {
    guard let path = open.popLast() else { return nil }
    let folder: Folder
    do throws(StorageFailure) {
      folder = try Folder(opening: base + "/" + path)
    } catch .gone {
      return []
    }
    var files: [String] = []
    for name in try folder.names() {
      let below = path.isEmpty ? name : "\(path)/\(name)"
      if folder.status(of: name)?.isFolder == true {
        open.append(below)
      } else {
        files.append(below)
      }
    }
    return files
  }
}

extension ObjectFolder {
  fileprivate func digests(inBranch branch: UInt8) throws(StorageFailure) -> [Digest] {
    let name = Self.name(ofBranch: branch)
    let (folder, code) = folder.subfolder(name)
    guard let folder else {
      if code == ENOENT { return [] }
      throw StorageFailure(errno: code, "open", self.folder.path + "/" + name)
    }
    return try folder.names().compactMap { Digest(hex: name + $0) }
  }

  fileprivate func move(_ digest: Digest, to other: Folder) throws(StorageFailure) {
    guard renameat(folder.descriptor, Self.name(of: digest), other.descriptor, "\(digest)") == 0
    else { throw StorageFailure(errno: errno, "move away", path(of: digest)) }
  }
}

extension Folder {
  /// Whether a file below has the bytes of an object.
  fileprivate func holds(_ object: Digest, in path: String) -> Bool {
    let file = openat(descriptor, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    guard file >= 0 else { return false }
    defer { close(file) }
    return (try? HashedFile(of: file).digest) == object
  }
}
