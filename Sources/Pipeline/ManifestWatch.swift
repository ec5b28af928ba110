import LedgerCore
import Manifests
import Synchronization
import Threading
import Vocabulary

/// Brings jobs into line with their manifests while `work` goes on for months, as `enqueue` would.
///
/// The files of a manifest and of its sources are looked at each time and read when they have changed;
/// sources at URLs are asked once an hour. What came through a pipe, or as a list without a manifest, stays
/// as it was put on the queue.
final class ManifestWatch: Sendable {
  static let interval: Duration = .seconds(5)
  /// What was written to within this time may not be whole yet. What is to be written only later, by a
  /// clock that is ahead, is looked at then: until then its time tells nothing.
  static let rest: Duration = .seconds(5)
  /// How often sources at URLs are asked, and what could not be read is tried again.
  static let askInterval: Duration = .hours(1)

  private struct Watched {
    /// As the last reading found it that came to its end.
    var manifest: ReadManifest
    /// When it was last tried; at first, when it was first seen. The sleeper's time.
    var triedAt: Duration
    /// The files as they were when they could not be read.
    var failedOn: [ManifestFile.Identity?]?
    /// What was said of the last try.
    var failures: [FailureRecord] = []
  }

  private let worker: Worker
  private let environment: [String: String]
  private let tell: @Sendable (String, FailureRecord) -> Void
  private let isStopped: @Sendable () -> Bool
  private let watched = Mutex<[JobNumber: Watched]>([:])

  init(
    worker: Worker, environment: [String: String],
    tell: @escaping @Sendable (String, FailureRecord) -> Void,
    isStopped: @escaping @Sendable () -> Bool
  ) {
    self.worker = worker
    self.environment = environment
    self.tell = tell
    self.isStopped = isStopped
  }

  /// Until it is cancelled.
  func run() async {
    while !Task.isCancelled, !isStopped() {
      await look()
      try? await worker.sleeper.sleep(for: Self.interval)  // cancelled: the loop ends
    }
  }

  func look() async {
    do {
      for job in try await worker.ledger.nextDue() where !Task.isCancelled && !isStopped() {
        guard let record = try await worker.ledger.job(named: job.name) else { continue }
        try await look(at: record)
      }
    } catch {
      // Who works on the jobs meets the same at once, and ends by it.
    }
  }

  private func look(at job: JobRecord) async throws(LedgerFailure) {
    guard let known = known(job) else { return }
    let files = known.manifest.files
    // Where there is no manifest any more, its job is what was read.
    guard files[0] != nil else { return }
    if try await isToBeRead(job, known, files) { await read(job, known, files) }
  }

  /// Nil of what is not to be watched.
  private func known(_ job: JobRecord) -> Watched? {
    watched.withLock { watched in
      // A reading under way, or one that did not come to its end, leaves no identity in the ledger.
      guard let identity = job.identity, identity.isOfFile,
        watched[job.number]?.manifest.identity != identity
      else { return watched[job.number] }
      let manifest = ReadManifest(identity)
      let new = Watched(manifest: manifest, triedAt: worker.sleeper.now)
      watched[job.number, default: new].manifest = manifest
      return watched[job.number]
    }
  }

  private func isToBeRead(
    _ job: JobRecord, _ known: Watched, _ files: [ManifestFile.Identity?]
  ) async throws(LedgerFailure) -> Bool {
    let isTime = worker.sleeper.now - known.triedAt >= Self.askInterval
    let isTimeToAsk = isTime && known.manifest.hasSourcesAtURLs
    if job.identity != nil, known.manifest.isOf(files) { return isTimeToAsk }
    guard files.allSatisfy({ $0?.rests(at: worker.now) ?? true }) else { return false }
    if let failedOn = known.failedOn { return isTime || files != failedOn }
    guard job.identity != nil else { return isTime }
    let identity = known.manifest.identity
    guard let same = await identity.stillStanding(at: worker.now) else { return true }
    if same != identity { try await worker.ledger.keep(same, of: job.number) }
    return isTimeToAsk
  }

  private func read(
    _ job: JobRecord, _ known: Watched, _ files: [ManifestFile.Identity?]
  ) async {
    var failures: [FailureRecord]
    do {
      failures = try await takeIn(known.manifest.identity.path, of: job)
    } catch {
      if Task.isCancelled || isStopped() { return }
      failures = [RunStop(error).failure]
    }
    for failure in failures where !known.failures.contains(failure) { tell(job.name, failure) }
    watched.withLock { watched in
      watched[job.number]?.triedAt = worker.sleeper.now
      watched[job.number]?.failedOn = failures.isEmpty ? nil : files
      watched[job.number]?.failures = failures
    }
  }

  /// - Returns: why sources could not be read as they are now.
  private func takeIn(_ path: String, of job: JobRecord) async throws -> [FailureRecord] {
    let manifest = try await ItemPages().manifest(ofFileAt: path, environment: environment)
    guard manifest.settings.name == job.name else {
      throw RunStop(FailureRecord.otherJob(manifest.settings.name, at: path))
    }
    let desk = SourceDesk(
      fetcher: worker.fetcher, store: worker.store, settings: manifest.settings)
    let result = try await Intake(
      manifest: manifest, ledger: worker.ledger, desk: desk,
      watch: IntakeWatch(isCancelled: isStopped)
    ).read(reread: false, at: worker.now)
    _ = try await worker.publish(result.removed)  // removals: there is nothing to be in the way
    return result.failures
  }
}

/// What is compared at each look: kept, since an index may list as many sitemaps as a job has pictures.
private struct ReadManifest {
  let identity: ManifestIdentity
  let hasSourcesAtURLs: Bool
  private let fileSources: [SourceIdentity]

  init(_ identity: ManifestIdentity) {
    self.identity = identity
    fileSources = identity.fileSources
    hasSourcesAtURLs = identity.sources.contains {
      SourceAddress(recorded: $0.address)?.url != nil
    }
  }

  /// The manifest and its sources that are files, as they are now; nil where there is none.
  var files: [ManifestFile.Identity?] {
    ([identity.path] + fileSources.map(\.address)).map { ManifestFile.identity(ofFileAt: $0) }
  }

  /// Whether these are the files that were read, as far as that is told without reading.
  func isOf(_ files: [ManifestFile.Identity?]) -> Bool {
    let read =
      [(identity.size, identity.modifiedNanoseconds, identity.inode)]
      + fileSources.map { ($0.size, $0.modifiedNanoseconds, $0.inode) }
    return zip(read, files).allSatisfy { read, file in
      file.map { ($0.size, $0.modifiedNanoseconds, $0.inode) == read } ?? false
    }
  }
}

extension ManifestIdentity {
  /// Not of a list that stood in a manifest's place.
  fileprivate var isOfFile: Bool { inode != 0 }
}

extension ManifestFile.Identity {
  fileprivate func rests(at now: Timestamp) -> Bool {
    Timestamp(milliseconds: modifiedNanoseconds / 1_000_000) + ManifestWatch.rest <= now
  }
}

extension FailureRecord {
  fileprivate static func otherJob(_ name: String, at path: String) -> FailureRecord {
    FailureRecord(
      code: "manifest", message: "\(path) is the manifest of \"\(name)\" by now",
      hint: "put it on the queue, and remove this job if it is the same under another name",
      disposition: .giveUp)
  }
}
