import Foundation
import TestSupport

/// A root and a manifest of one test, and the built program to run on them.
struct Scenario {
  let folder = StorageTemporaryFolder()
  var name = "job"
  /// The manifest's keys besides version, name and items.
  var settings: [String: Any] = [
    "variants": [["name": "thumb", "width": 16]]
  ]
  var network: [String: Any] = [
    "allow": ["127.0.0.0/8"], "backoff": ["initial": "10ms", "max": "20ms"],
  ]

  /// Variables that runs get, besides those of the tests.
  var environment: [String: String] = [:]

  /// Where the root is to be, if not in the folder.
  var rootPath: String?

  var root: String { rootPath ?? folder.path + "/root" }

  /// Another job on the same root.
  func beside(_ name: String) -> Scenario {
    var other = self
    other.name = name
    return other
  }

  /// Writes the manifest and says where.
  func manifest(_ items: [Any], name file: String? = nil) throws -> String {
    var document = settings
    document["version"] = 1
    document["name"] = name
    document["network"] = network
    document["items"] = items
    let path = "\(folder.path)/\(file ?? name).json"
    try JSONSerialization.data(withJSONObject: document).write(to: URL(fileURLWithPath: path))
    return path
  }

  /// `run MANIFEST --root … --json` with more options, to its end.
  func run(_ manifest: String, _ options: String...) async throws -> ProgramRun.Result {
    try await ProgramTurns.shared.inTurn { try await start(manifest, options).result() }
  }

  func start(_ manifest: String, _ options: [String] = []) throws -> ProgramRun {
    // A decoder's start costs more than these small pictures: one is enough, unless told otherwise.
    let workers = options.contains("--workers") ? [] : ["--workers", "1"]
    return try ProgramRun(
      "thumbworker", ["run", manifest, "--root", root, "--json"] + workers + options,
      in: folder.path, environment: environment)
  }

  func show(_ subject: String) async throws -> [String: Any] {
    try await ProgramRun.thumbworker("show", subject, "--root", root, "--json", in: folder.path)
      .json
  }

  func status() async throws -> [String: Any] {
    try await ProgramRun.thumbworker("status", "--root", root, "--json", in: folder.path).json
  }

  func published(_ path: String) -> [UInt8]? {
    StorageTemporaryFolder.bytes(of: "\(root)/public/\(name)/\(path)")
  }

  /// Every published path below the job's folder, sorted.
  var publishedPaths: [String] {
    let base = "\(root)/public/\(name)"
    guard let all = FileManager.default.enumerator(atPath: base) else { return [] }
    return all.compactMap { $0 as? String }.filter { path in
      var isFolder: ObjCBool = false
      _ = FileManager.default.fileExists(atPath: "\(base)/\(path)", isDirectory: &isFolder)
      return !isFolder.boolValue
    }.sorted()
  }

  /// How many objects the store holds.
  var objectCount: Int {
    StorageTemporaryFolder.names(in: root + "/objects").filter { $0.count == 2 }
      .reduce(0) { $0 + StorageTemporaryFolder.names(in: "\(root)/objects/\($1)").count }
  }
}
