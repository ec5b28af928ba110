import Glibc

/// A folder for one test's ledger; it goes with the last reference to it.
package final class LedgerFolder: Sendable {
  package let path: String

  /// - Parameter isOnDisk: else in memory where the system has a place for that, so that tests do not
  ///   wait for syncs.
  package init(isOnDisk: Bool = false) {
    let parent = isOnDisk || access("/dev/shm", W_OK) != 0 ? "/tmp" : "/dev/shm"
    var template = Array("\(parent)/ledger-test-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { fatalError("no folder for a test: error \(errno)") }
    path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
  }

  deinit {
    guard let folder = opendir(path) else { return }
    while let entry = readdir(folder) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      unlink("\(path)/\(name)")
    }
    closedir(folder)
    rmdir(path)
  }

  package func file(_ name: String) -> String { "\(path)/\(name)" }

  /// In bytes; 0 where there is no such file.
  package func size(_ name: String) -> Int {
    var about = stat()
    return stat(file(name), &about) == 0 ? Int(about.st_size) : 0
  }

  package func contents(_ name: String) -> [UInt8]? {
    guard let file = fopen(self.file(name), "r") else { return nil }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = fread(&part, 1, part.count, file)
      guard count > 0 else { return bytes }
      bytes += part[..<count]
    }
  }

  package func write(_ bytes: [UInt8], to name: String) {
    guard let file = fopen(self.file(name), "w") else { fatalError("cannot write \(name)") }
    defer { fclose(file) }
    fwrite(bytes, 1, bytes.count, file)
  }
}

/// A file that nobody can write, root included, as long as this lives.
package final class UnwritableFile: Sendable {
  private let path: String
  /// Linux' FS_IOC_GETFLAGS, FS_IOC_SETFLAGS and FS_IMMUTABLE_FL, which are macros of shifts.
  private static let getFlags: UInt = 0x8008_6601
  private static let setFlags: UInt = 0x4008_6602
  private static let immutable: CLong = 0x10

  /// Nil where that cannot be had: a root on a file system without such a flag.
  package init?(_ path: String) {
    self.path = path
    chmod(path, 0o444)
    guard geteuid() == 0 else { return }
    guard Self.change(path, { $0 | Self.immutable }) else { return nil }
  }

  deinit { _ = Self.change(path) { $0 & ~Self.immutable } }

  private static func change(_ path: String, _ edit: (CLong) -> CLong) -> Bool {
    let file = open(path, O_RDONLY)
    guard file >= 0 else { return false }
    defer { close(file) }
    var flags: CLong = 0
    guard ioctl(file, getFlags, &flags) == 0 else { return false }
    flags = edit(flags)
    return ioctl(file, setFlags, &flags) == 0
  }
}

/// A file system in memory of a given size, mounted as long as this lives. Needs root.
package final class SmallDisk: Sendable {
  private let path: String

  package init?(bytes: Int) {
    var template = Array("/tmp/ledger-disk-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { return nil }
    path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    guard mount("tmpfs", path, "tmpfs", 0, "size=\(bytes)") == 0 else {
      rmdir(path)
      return nil
    }
  }

  deinit {
    umount2(path, 2)  // MNT_DETACH
    rmdir(path)
  }

  package func file(_ name: String) -> String { "\(path)/\(name)" }

  package func grow(to bytes: Int) throws { try remount(0, "size=\(bytes)") }

  package func makeReadOnly() throws { try remount(1, "") }  // MS_RDONLY

  private func remount(_ flags: UInt, _ options: String) throws {
    struct CannotRemount: Error {}
    // 32: MS_REMOUNT
    guard mount("tmpfs", path, "tmpfs", 32 | flags, options) == 0 else { throw CannotRemount() }
  }
}
