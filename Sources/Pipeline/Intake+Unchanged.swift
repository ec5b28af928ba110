import LedgerCore
import Manifests
import Storage
import Vocabulary

// A manifest whose bytes and sources are those that were read last is not read.

extension Intake {
  /// Asks the sources that stand at URLs, and looks at the others' files.
  ///
  /// - Returns: nil where something has changed, or may have.
  func unchanged(at now: Timestamp) async throws -> IntakeResult? {
    guard let job = try await ledger.job(named: manifest.settings.name),
      job.settingsDigest == Self.settingsDigest(ofHead: manifest.headText),
      let known = job.identity, known.digest == manifest.digest
    else { return nil }
    let addresses = known.sources.compactMap { SourceAddress(recorded: $0.address) }
    guard addresses.count == known.sources.count else { return nil }
    try await desk.ask(addresses.compactMap(\.url), credentialsFor: isTrusted)
    var result = IntakeResult(job: job.number)
    var sources: [SourceIdentity] = []
    for (address, before) in zip(addresses, known.sources) {
      guard let same = try await same(before, at: address, &result.failures, now) else {
        return nil
      }
      sources.append(same)
    }
    try await ledger.keep(manifest.ledgerIdentity(readAt: now, sources: sources), of: job.number)
    return result
  }

  /// - Returns: what it is to be known by from now on; nil where it is another.
  private func same(
    _ before: SourceIdentity, at address: SourceAddress, _ failures: inout [FailureRecord],
    _ now: Timestamp
  ) async throws -> SourceIdentity? {
    switch address.location {
    case .standardInput: return nil
    case .file: return await before.stillStanding(at: now)
    case .web(let url):
      let copy = try await desk.copy(of: url, sendsCredentials: isTrusted(url))
      guard copy.kept?.digest == before.digest else { return nil }
      if let failure = copy.failure { failures.append(failure) }
      return before
    }
  }
}

extension SourceIdentity {
  /// A file that was written within the last two seconds may be written again within the clock's step,
  /// and keep its size and time: then only its bytes tell.
  init(_ file: ManifestFile.Identity, path: String, digest: Digest, readAt now: Timestamp) {
    self.init(
      address: path, size: file.size, modifiedNanoseconds: file.settledTime(at: now),
      inode: file.inode, digest: digest)
  }

  /// - Returns: what the file is to be known by from now on; nil where it is another, or gone.
  func stillStanding(at now: Timestamp) async -> SourceIdentity? {
    guard let file = ManifestFile.identity(ofFileAt: address), file.size == size else { return nil }
    if inode == file.inode, modifiedNanoseconds == file.modifiedNanoseconds { return self }
    guard await ItemPages().digest(ofFileAt: address) == digest else { return nil }
    return SourceIdentity(file, path: address, digest: digest, readAt: now)
  }
}

extension ManifestFile.Identity {
  /// The modification time, or 0 where another change may leave it as it is.
  func settledTime(at now: Timestamp) -> Int64 {
    modifiedNanoseconds / 1_000_000 + 2000 < now.milliseconds ? modifiedNanoseconds : 0
  }
}
