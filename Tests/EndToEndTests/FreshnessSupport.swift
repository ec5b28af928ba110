import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

/// What a scripted origin says at the moment: changed between two runs.
final class Script<Value: Sendable>: Sendable {
  private let value: Mutex<Value>

  init(_ value: Value) { self.value = Mutex(value) }

  var now: Value {
    get { value.withLock { $0 } }
    set { value.withLock { $0 = newValue } }
  }
}

extension Scenario {
  /// `show URL|ID`, for people.
  func told(_ subject: String) async throws -> String {
    try await ProgramRun.thumbworker("show", subject, "--root", root, in: folder.path).output
  }

  /// How one job sees it, in `show --json`.
  func view(_ subject: String, of job: String? = nil) async throws -> [String: Any] {
    let jobs = try await show(subject)["jobs"] as? [[String: Any]] ?? []
    return jobs.first { $0["job"] as? String == job ?? name } ?? [:]
  }

  /// The digests of all objects in the store.
  var objects: Set<String> {
    let folder = root + "/objects"
    return Set(
      StorageTemporaryFolder.names(in: folder).filter { $0.count == 2 }.flatMap { branch in
        StorageTemporaryFolder.names(in: "\(folder)/\(branch)").map { branch + $0 }
      })
  }

  /// The name of the object that an item or a URL has as its original.
  func original(of subject: String) async throws -> String {
    let shown = try await show(subject)["original"] as? [String: Any]
    return try #require(shown?["sha256"] as? String)
  }

  func deleteObject(_ digest: String) { StorageTemporaryFolder.delete(path(ofObject: digest)) }

  func cutShort(_ digest: String) throws {
    let path = path(ofObject: digest)
    try #require(chmod(path, 0o644) == 0 && truncate(path, 40) == 0)
  }

  /// Changes a byte of a stored file, which its published names stand for as well.
  func damage(_ digest: String) throws {
    let path = path(ofObject: digest)
    var bytes = try #require(StorageTemporaryFolder.bytes(of: path))
    bytes[bytes.count / 2] ^= 0xFF
    let file = open(path, O_WRONLY)
    defer { close(file) }
    #expect(pwrite(file, bytes, bytes.count, 0) == bytes.count)
  }

  func path(ofObject digest: String) -> String {
    "\(root)/objects/\(digest.prefix(2))/\(digest.dropFirst(2))"
  }
}

/// The span between two of `show`'s times, in milliseconds.
func milliseconds(from start: Any?, to end: Any?) -> Int? {
  func parse(_ value: Any?) -> Date? {
    guard let text = value as? String else { return nil }
    let parser = ISO8601DateFormatter()
    parser.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
    return parser.date(from: text)
  }
  guard let start = parse(start), let end = parse(end) else { return nil }
  return Int((end.timeIntervalSince(start) * 1000).rounded())
}
