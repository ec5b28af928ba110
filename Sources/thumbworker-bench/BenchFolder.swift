import FoundationEssentials
import Glibc

/// Where everything of a run is made. It goes when the run ends.
final class BenchFolder {
  let path: String
  private var count = 0

  /// - Parameter parent: nil: `$TMPDIR`, else `/tmp`.
  init(_ parent: String?) throws {
    let parent = parent ?? ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
    var template = Array("\(parent)/thumbworker-bench-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw BenchFailure.system("make a folder in", parent) }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// A new empty folder.
  func make(_ name: String) throws -> String {
    count += 1
    let folder = "\(path)/\(name)-\(count)"
    guard mkdir(folder, 0o755) == 0 else { throw BenchFailure.system("make", folder) }
    return folder
  }

  /// Each call gives a new empty folder, for a round's outputs. None goes before the end: file systems
  /// pass over what was deleted lately, and that would be measured as well.
  func turns(_ name: String) -> () throws -> String { { try self.make(name) } }

  func remove() { Self.remove(path) }

  private static func remove(_ path: String) {
    // What is left stands under a name that says whose it is.
    try? FileManager.default.removeItem(atPath: path)
  }
}
