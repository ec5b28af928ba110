import Glibc

/// A folder for one test's ledger; it goes with the last reference to it.
package final class LedgerFolder: Sendable {
  package let path: String

  package init() {
    var template = Array("/tmp/ledger-test-XXXXXX".utf8CString)
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
