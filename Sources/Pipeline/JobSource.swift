import LedgerCore
import Manifests
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
  func takeIn(
    to ledger: any Ledger, asking desk: SourceDesk, reread: Bool, at now: Timestamp,
    watch: IntakeWatch = IntakeWatch()
  ) async throws(RunStop) -> IntakeResult {
    switch self {
    case .known(let record, _, let identity):
      do {
        if let identity { try await ledger.keep(identity, of: record.number) }
      } catch {
        throw RunStop(error)
      }
      return IntakeResult(job: record.number)
    case .manifest(let manifest):
      return try await Intake(manifest: manifest, ledger: ledger, desk: desk, watch: watch)
        .read(reread: reread, at: now)
    }
  }
}

/// Finds the job of a manifest that has not changed since it was read, without reading it again.
///
/// Its size, modification time and inode tell, and those of its sources, or where only those moved (it was
/// copied, or touched) the SHA-256 of the bytes. Anything else, sources at URLs too, is for the manifest's own reading to tell.
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
      guard let sources = await standing(identity.sources) else { continue }
      if identity.isSame(as: found) {
        guard sources != identity.sources else { return .known(record, settings) }
        var renewed = identity
        renewed.sources = sources
        return .known(record, settings, identity: renewed)
      }
      guard await ItemPages().digest(ofFileAt: path) == identity.digest else { continue }
      var renewed = ManifestIdentity(found, path: path, digest: identity.digest, readAt: now)
      renewed.sources = sources
      return .known(record, settings, identity: renewed)
    }
    return nil
  }

  /// - Returns: what they are to be known by; nil where one is another, or at a URL: it has to be asked.
  private func standing(_ sources: [SourceIdentity]) async -> [SourceIdentity]? {
    var standing: [SourceIdentity] = []
    for source in sources {
      guard case .file? = SourceAddress(recorded: source.address)?.location,
        let same = await source.stillStanding(at: now)
      else { return nil }
      standing.append(same)
    }
    return standing
  }
}

extension ManifestIdentity {
  init(_ file: ManifestFile.Identity, path: String, digest: Digest, readAt now: Timestamp) {
    self.init(
      path: path, size: file.size, modifiedNanoseconds: file.settledTime(at: now),
      inode: file.inode, digest: digest)
  }

  fileprivate func isSame(as file: ManifestFile.Identity) -> Bool {
    inode == file.inode && modifiedNanoseconds == file.modifiedNanoseconds
  }
}
