import Glibc
import Vocabulary

/// The folders below `public/` that a group of names touches: opened once, synced once, removed where
/// they are left empty.
struct PublicWalk {
  private struct Visit {
    let folder: Folder
    let path: [String]
    /// Indexes of the requests that changed names in it.
    var requests: Set<Int>
    var mayBeEmpty: Bool
  }

  /// So that a group with a name in each of very many folders does not run out of descriptors.
  private static let mostOpen = 64

  private let published: Folder
  private var visits: [[ExactText]: Visit] = [:]
  private var failures: [(request: Int, failure: StorageFailure)] = []

  init(from published: Folder) { self.published = published }

  /// The folder of a name that is to be made; folders on the way that are missing are made.
  mutating func folder(for name: CheckedName, request: Int) throws(StorageFailure) -> Folder {
    while true {
      if let folder = try visit(name, request: request, makesFolders: true) { return folder }
    }
  }

  /// The folder of a name that is to be removed; nil where there is none, so neither is the name.
  mutating func existingFolder(
    for name: CheckedName, request: Int
  ) throws(StorageFailure) -> Folder? {
    try visit(name, request: request, makesFolders: false)
  }

  /// The next walk to this name's folder starts anew.
  mutating func forget(_ name: CheckedName) { visits[name.key] = nil }

  /// Syncs what was touched. Nothing of the group is durable before.
  ///
  /// - Returns: which requests a failure concerns.
  mutating func finish() -> [(request: Int, failure: StorageFailure)] {
    flush()
    defer { failures = [] }
    return failures
  }

  private mutating func visit(
    _ name: CheckedName, request: Int, makesFolders: Bool
  ) throws(StorageFailure) -> Folder? {
    if visits[name.key] == nil {
      guard let folder = try open(name, makesFolders: makesFolders) else { return nil }
      if visits.count >= Self.mostOpen { flush() }
      visits[name.key] = Visit(
        folder: folder, path: name.folders, requests: [], mayBeEmpty: false)
    }
    visits[name.key]!.requests.insert(request)
    if !makesFolders { visits[name.key]!.mayBeEmpty = true }
    return visits[name.key]!.folder
  }

  private func open(_ name: CheckedName, makesFolders: Bool) throws(StorageFailure) -> Folder? {
    var folder = published
    for part in name.folders {
      var (next, code) = folder.subfolder(part)
      if next == nil, code == ENOENT {
        // Where this fails for want of the folder above, another process has just removed that.
        guard makesFolders, try make(part, in: folder) else { return nil }
        (next, code) = folder.subfolder(part)
        if next == nil, code == ENOENT { return nil }
      }
      guard let next else { throw obstacle(part, in: folder, code, name) }
      folder = next
    }
    return folder
  }

  private func make(_ part: String, in folder: Folder) throws(StorageFailure) -> Bool {
    do throws(StorageFailure) {
      _ = try folder.makeSubfolder(part)
      return true
    } catch .gone where folder !== published {
      return false
    }
  }

  private func obstacle(
    _ part: String, in folder: Folder, _ code: Int32, _ name: CheckedName
  ) -> StorageFailure {
    let (job, path) = (name.publicName.job, name.publicName.path)
    guard code == ENOTDIR || code == ELOOP else {
      return StorageFailure(errno: code, "open", folder.path + "/" + part)
    }
    return folder.status(of: part)?.isSymbolicLink == true
      ? .refusedName(
        job: job, path: path, reason: "\(folder.path)/\(part) is a symbolic link")
      : .nameTaken(job: job, path: path, reason: "\(folder.path)/\(part) is no folder")
  }

  private mutating func flush() {
    for visit in visits.values {
      if visit.mayBeEmpty, let above = removeIfEmpty(visit.path) {
        sync(above, for: visit.requests)
      } else {
        sync(visit.folder, for: visit.requests)
      }
    }
    visits = [:]
  }

  private mutating func sync(_ folder: Folder, for requests: Set<Int>) {
    do throws(StorageFailure) {
      try folder.sync()
    } catch {
      failures += requests.map { ($0, error) }
    }
  }

  /// Removes a folder that holds nothing, then those above it up to the job's, which stays.
  ///
  /// - Returns: the lowest folder that is left, if any was removed.
  private func removeIfEmpty(_ path: [String]) -> Folder? {
    var above = [published]  // above[i] is where path[i] stands
    for part in path.dropLast() {
      guard let next = above.last!.subfolder(part).folder else { return above.last! }
      above.append(next)
    }
    var lowest: Folder?
    for (index, part) in path.enumerated().dropFirst().reversed() {
      // The kernel refuses to remove what is not empty.
      guard unlinkat(above[index].descriptor, part, AT_REMOVEDIR) == 0 else { break }
      lowest = above[index]
    }
    return lowest
  }
}
