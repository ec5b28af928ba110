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
      // Those at URLs have to be asked.
      guard identity.fileSources.count == identity.sources.count,
        let same = await identity.stillStanding(at: now)
      else { continue }
      return .known(record, settings, identity: same == identity ? nil : same)
    }
    return nil
  }
}

extension ManifestIdentity {
  init(_ file: ManifestFile.Identity, path: String, digest: Digest, readAt now: Timestamp) {
    self.init(
      path: path, size: file.size, modifiedNanoseconds: file.settledTime(at: now),
      inode: file.inode, digest: digest)
  }

  var fileSources: [SourceIdentity] {
    sources.filter {
      if case .file? = SourceAddress(recorded: $0.address)?.location { true } else { false }
    }
  }

  /// - Returns: what the manifest and its sources are to be known by from now on, those at URLs as before;
  ///   nil where one of the files is another, or gone.
  func stillStanding(at now: Timestamp) async -> ManifestIdentity? {
    guard let file = ManifestFile.identity(ofFileAt: path), file.size == size else { return nil }
    var renewed = self
    let files = Set(fileSources)
    for (place, source) in sources.enumerated() where files.contains(source) {
      guard let same = await source.stillStanding(at: now) else { return nil }
      renewed.sources[place] = same
    }
    if inode == file.inode, modifiedNanoseconds == file.modifiedNanoseconds { return renewed }
    guard await ItemPages().digest(ofFileAt: path) == digest else { return nil }
    renewed.modifiedNanoseconds = file.settledTime(at: now)
    renewed.inode = file.inode
    return renewed
  }
}
