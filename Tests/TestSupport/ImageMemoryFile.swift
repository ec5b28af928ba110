import Glibc

/// A file without a name, gone with its owner.
package final class MemoryFile: Sendable {
  package let descriptor: Int32

  package init(_ bytes: [UInt8] = []) {
    var path = Array("/tmp/thumbworker-test-XXXXXX".utf8CString)
    descriptor = mkstemp(&path)
    precondition(descriptor >= 0, "no temporary file: \(String(cString: strerror(errno)))")
    unlink(&path)
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      precondition(count > 0)
      rest = rest.dropFirst(count)
    }
  }

  deinit { close(descriptor) }

  package var bytes: [UInt8] {
    var status = stat()
    fstat(descriptor, &status)
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
    let count = pread(descriptor, &bytes, bytes.count, 0)
    precondition(count == bytes.count)
    return bytes
  }
}
