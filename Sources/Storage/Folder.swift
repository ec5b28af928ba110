import Glibc

/// An open folder: names are looked up from it, so that nobody can swap a part of the path on the way.
final class Folder: Sendable {
  let descriptor: Int32
  /// For messages only.
  let path: String

  private init(owning descriptor: Int32, path: String) {
    self.descriptor = descriptor
    self.path = path
  }

  deinit { close(descriptor) }

  /// Follows symbolic links: where the root and its parts stand is the operator's choice.
  convenience init(opening path: String) throws(StorageFailure) {
    let descriptor = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw StorageFailure(errno: errno, "open", path) }
    self.init(owning: descriptor, path: path)
  }

  /// Opens a folder right below, never through a symbolic link.
  ///
  /// - Returns: nil and the system's error number where that fails.
  func subfolder(_ name: String) -> (folder: Folder?, code: Int32) {
    let descriptor = openat(
      self.descriptor, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { return (nil, errno) }
    return (Folder(owning: descriptor, path: path + "/" + name), 0)
  }

  /// Makes a folder right below that everybody may read, whatever the umask says, and its name durable.
  ///
  /// - Returns: false where something of that name exists.
  func makeSubfolder(_ name: String) throws(StorageFailure) -> Bool {
    guard mkdirat(descriptor, name, 0o755) == 0 else {
      if errno == EEXIST { return false }
      throw StorageFailure(errno: errno, "make the folder", path + "/" + name)
    }
    // Gone already where another process found it empty; whoever needs it makes it again.
    _ = fchmodat(descriptor, name, 0o755, 0)
    try sync()
    return true
  }

  /// Waits until names that were made or removed in this folder are on disk.
  func sync() throws(StorageFailure) {
    guard retryingInterrupts({ fsync(descriptor) }) == 0 else {
      throw StorageFailure(errno: errno, "sync", path)
    }
  }

  /// What a name stands for, symbolic links not followed; nil where there is nothing.
  func status(of name: UnsafePointer<CChar>) -> stat? {
    var status = stat()
    return fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status : nil
  }

  /// The names in this folder but `.` and `..`, in no order.
  func names() throws(StorageFailure) -> [String] {
    // A description of its own: reading moves its offset, and closedir closes it.
    let descriptor = openat(self.descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw StorageFailure(errno: errno, "open", path) }
    guard let stream = fdopendir(descriptor) else {
      defer { close(descriptor) }
      throw StorageFailure(errno: errno, "read", path)
    }
    defer { closedir(stream) }
    var names: [String] = []
    errno = 0
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    guard errno == 0 else { throw StorageFailure(errno: errno, "read", path) }
    return names
  }

  /// Makes a folder with those above it that are missing.
  static func create(_ path: String) throws(StorageFailure) {
    var status = stat()
    if stat(path, &status) == 0 {
      guard status.st_mode & S_IFMT == S_IFDIR else {
        throw StorageFailure(errno: ENOTDIR, "use", path)
      }
      return
    }
    let (parent, name) = split(path)
    if parent != "/", parent != "." { try create(parent) }
    _ = try Folder(opening: parent).makeSubfolder(name)
  }

  private static func split(_ path: String) -> (parent: String, name: String) {
    guard let slash = path.lastIndex(of: "/") else { return (".", path) }
    let parent = path[..<slash]
    return (parent.isEmpty ? "/" : String(parent), String(path[path.index(after: slash)...]))
  }
}

extension stat {
  var isRegularFile: Bool { st_mode & S_IFMT == S_IFREG }
  var isFolder: Bool { st_mode & S_IFMT == S_IFDIR }
  var isSymbolicLink: Bool { st_mode & S_IFMT == S_IFLNK }

  func isSameFile(as other: stat) -> Bool { st_ino == other.st_ino && st_dev == other.st_dev }
}

/// Repeats a call that a signal has interrupted.
func retryingInterrupts<Number: SignedInteger>(_ call: () -> Number) -> Number {
  while true {
    let result = call()
    if result != -1 || errno != EINTR { return result }
  }
}
