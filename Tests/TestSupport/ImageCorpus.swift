import Glibc

/// The corpus of odd and hostile images, where this checkout has it beside it.
package struct ImageCorpus: Sendable {
  /// A file as the corpus' index describes it.
  package struct File: Sendable, CustomStringConvertible {
    package var path: String
    package var name: String
    /// Nil where unknown.
    package var width: Int?
    package var height: Int?
    package var format: String
    package var kind: String
    /// `decodes`, `fails`, `bomb` or `unsafe`.
    package var expected: String
    package var detail: String
    package var note: String

    package var description: String { name }
  }

  package let files: [File]
  /// Absolute, without links on the way.
  package let folder: String

  /// Nil where there is none: `$THUMBWORKER_SHARED/corpus`, else `../shared/corpus`.
  package static let shared: ImageCorpus? = {
    let beside = getenv("THUMBWORKER_SHARED").map { String(cString: $0) } ?? "../shared"
    return ImageCorpus(folder: beside + "/corpus")
  }()

  private init?(folder: String) {
    guard let index = readFile(folder + "/INDEX.tsv"), let real = realpath(folder, nil) else {
      return nil
    }
    defer { free(real) }
    self.folder = String(cString: real)
    files = String(decoding: index, as: UTF8.self).split(separator: "\n").dropFirst().map { line in
      let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
      return File(
        path: folder + "/" + fields[0], name: fields[0], width: Int(fields[2]),
        height: Int(fields[3]), format: fields[4], kind: fields[5], expected: fields[6],
        detail: fields[9], note: fields.count > 10 ? fields[10] : "")
    }
  }

  package func files(in folder: String) -> [File] {
    files.filter { $0.name.hasPrefix(folder + "/") }
  }
}

/// A file's bytes; nil where it cannot be read.
package func readFile(_ path: String) -> [UInt8]? {
  let descriptor = open(path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { return nil }
  defer { close(descriptor) }
  var bytes: [UInt8] = []
  var chunk = [UInt8](repeating: 0, count: 1 << 16)
  while true {
    let count = read(descriptor, &chunk, chunk.count)
    guard count > 0 else { return count == 0 ? bytes : nil }
    bytes += chunk[..<count]
  }
}
