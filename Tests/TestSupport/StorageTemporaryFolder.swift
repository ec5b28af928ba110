import Glibc

/// A folder of its own for one test, deleted with everything in it when nobody holds it any more.
package final class StorageTemporaryFolder: Sendable {
  package let path: String

  /// - Parameter parent: where to make it; by default `$TMPDIR`, else `/tmp`.
  package init(in parent: String? = nil) {
    let parent = parent ?? getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array("\(parent)/thumbworker-test-XXXXXX".utf8CString)
    precondition(mkdtemp(&template) != nil, "no folder can be made in \(parent)")
    path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    chmod(path, 0o755)  // mkdtemp's folders are closed to other users, such as a web server's
  }

  deinit { Self.delete(path) }

  /// Deletes a file, or a folder with everything in it; symbolic links are not followed.
  package static func delete(_ path: String) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return }
    guard status.st_mode & S_IFMT == S_IFDIR else {
      unlink(path)
      return
    }
    for name in names(in: path) { delete(path + "/" + name) }
    rmdir(path)
  }

  /// The names in a folder, sorted; none where there is no such folder.
  package static func names(in path: String) -> [String] {
    guard let stream = opendir(path) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  /// A file's bytes; nil where it cannot be opened.
  package static func bytes(of path: String) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = read(descriptor, &chunk, chunk.count)
      guard count > 0 else { return count == 0 ? bytes : nil }
      bytes += chunk[..<count]
    }
  }

  /// Makes a file or replaces its bytes.
  package static func write(_ bytes: some Sequence<UInt8>, to path: String) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    precondition(descriptor >= 0, "\(path) cannot be written")
    defer { close(descriptor) }
    var rest = Array(bytes)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      precondition(count > 0, "\(path) cannot be written")
      rest = rest.dropFirst(count)
    }
  }
}
