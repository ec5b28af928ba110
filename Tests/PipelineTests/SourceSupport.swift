import Foundation
import LedgerCore
import Manifests
import Pipeline
import TestSupport
import Vocabulary

/// Manifests and the sources beside them, for the length of a test.
final class SourceFiles: Sendable {
  private let folder = StorageTemporaryFolder()

  func path(_ name: String) -> String { "\(folder.path)/\(name)" }

  func write(_ bytes: [UInt8], to name: String) {
    precondition(FileManager.default.createFile(atPath: path(name), contents: Data(bytes)))
  }

  func write(_ text: String, to name: String) { write(Array(text.utf8), to: name) }

  /// - Parameter members: JSON text of the manifest's `items` and `sources`.
  /// - Returns: its path.
  func manifest(_ members: String, job: String = "job") -> String {
    write(
      """
      {"version": 1, "name": "\(job)", "network": {"allow": ["127.0.0.0/8"], "attempts": 1},
        "variants": [{"name": "thumb", "width": 16}], \(members)}
      """, to: "\(job).json")
    return path("\(job).json")
  }
}

extension Workshop {
  /// Puts a job on the queue.
  ///
  /// - Returns: why sources could not be read as they are now.
  func enqueue(_ manifest: String, reread: Bool = false) async throws -> [FailureRecord] {
    let ledger = worker.ledger as! any Ledger & LedgerHousekeeping
    return try await Housekeeper(ledger: ledger, store: worker.store, clock: clock.wall).enqueue(
      .manifest(try ManifestFile.open(path: manifest, environment: [:])), reread: reread,
      fetcher: worker.fetcher)
  }

  func items(_ job: String = "job") async throws -> [String] {
    guard let job = try await worker.ledger.job(named: job) else { return [] }
    return try await worker.ledger.knownItems(of: job.number, after: "", limit: 100)
      .map { $0.view.shownURL }.sorted()
  }
}
