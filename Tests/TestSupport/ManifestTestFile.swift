import Glibc

/// A manifest on disk for the length of a test.
package final class ManifestTestFile {
  package let path: String
  private let folder: String

  package init(_ bytes: [UInt8], named name: String = "job.json") {
    var template = Array("/tmp/tw-manifest-XXXXXX".utf8CString)
    folder = String(cString: mkdtemp(&template)!)
    path = "\(folder)/\(name)"
    replace(with: bytes)
  }

  package convenience init(_ text: String, named name: String = "job.json") {
    self.init(Array(text.utf8), named: name)
  }

  deinit {
    unlink(path)
    rmdir(folder)
  }

  package func replace(with bytes: [UInt8]) {
    let file = fopen(path, "w")!
    precondition(fwrite(bytes, 1, bytes.count, file) == bytes.count)
    fclose(file)
  }
}
