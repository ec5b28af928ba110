import LedgerCore
import Manifests
import Threading
import Vocabulary

/// A job that is to be run.
package enum JobSource: Sendable {
  /// As its manifest gives it now.
  case manifest(ManifestFile)
  /// As the ledger has it: its manifest is unchanged, or not at hand.
  ///
  /// - Parameter identity: what the ledger is to know the manifest by from now on; nil: as before.
  case known(JobRecord, JobSettings, identity: ManifestIdentity? = nil)

  package var settings: JobSettings {
    switch self {
    case .manifest(let manifest): manifest.settings
    case .known(_, let settings, _): settings
    }
  }

  /// What the items are settled with.
  var settingsDigest: Digest {
    switch self {
    case .manifest(let manifest): Intake.settingsDigest(ofHead: manifest.headText)
    case .known(let record, _, _): record.settingsDigest
    }
  }

  /// Brings the ledger's items of the job into line with it.
  ///
  /// - Returns: the job, and the published names that are to go.
  func takeIn(
    to ledger: any Ledger, reread: Bool, at now: Timestamp
  ) async throws(RunStop) -> (JobNumber, [LinkTask]) {
    switch self {
    case .known(let record, _, let identity):
      do {
        if let identity { try await ledger.keep(identity, of: record.number) }
      } catch {
        throw RunStop(error)
      }
      return (record.number, [])
    case .manifest(let manifest):
      return try await Intake(manifest: manifest, ledger: ledger).read(reread: reread, at: now)
    }
  }
}

/// Finds the job of a manifest that has not changed since it was read, without reading it again.
///
/// Its size, modification time and inode tell, or where only those moved (it was copied, or touched) the
/// SHA-256 of its bytes. Anything else is for the manifest's own reading to tell.
package struct ManifestRecall: Sendable {
  private let ledger: any Ledger
  private let environment: [String: String]
  private let now: Timestamp

  package init(ledger: any Ledger, environment: [String: String], now: Timestamp) {
    self.ledger = ledger
    self.environment = environment
    self.now = now
  }

  /// - Parameter path: absolute.
  /// - Returns: nil where the manifest has to be read.
  package func source(ofManifestAt path: String) async -> JobSource? {
    guard let found = ManifestFile.identity(ofFileAt: path),
      // Whoever opens the ledger to write says why it cannot be read.
      let records = try? await ledger.jobs(readFrom: path)
    else { return nil }
    for record in records {
      guard let identity = record.identity, identity.size == found.size,
        record.settingsDigest == Intake.settingsDigest(ofHead: record.settings),
        let settings = try? settings(fromHead: record.settings, environment: environment)
      else { continue }
      if identity.isSame(as: found) { return .known(record, settings) }
      guard await ManifestHash().digest(ofFileAt: path) == identity.digest else { continue }
      let renewed = ManifestIdentity(found, path: path, digest: identity.digest, readAt: now)
      return .known(record, settings, identity: renewed)
    }
    return nil
  }
}

extension ManifestIdentity {
  /// A file that was written within the last two seconds may be written again within the clock's step,
  /// and keep its size and time: then only its bytes tell.
  init(_ file: ManifestFile.Identity, path: String, digest: Digest, readAt now: Timestamp) {
    let isSettled = file.modifiedNanoseconds / 1_000_000 + 2000 < now.milliseconds
    self.init(
      path: path, size: file.size,
      modifiedNanoseconds: isSettled ? file.modifiedNanoseconds : 0, inode: file.inode,
      digest: digest)
  }

  fileprivate func isSame(as file: ManifestFile.Identity) -> Bool {
    inode == file.inode && modifiedNanoseconds == file.modifiedNanoseconds
  }
}

/// Hashes manifests on a thread of its own.
private actor ManifestHash {
  private let executor = ThreadExecutor(name: "tw-manifest")

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  deinit { executor.stop() }

  func digest(ofFileAt path: String) -> Digest? { try? ManifestFile.digest(ofFileAt: path) }
}
