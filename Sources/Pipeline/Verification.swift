import LedgerCore
import Storage
import Threading
import Vocabulary

package struct VerificationRule: Sendable, Hashable {
  /// Quarantine what is damaged, make it due, link again what does not stand, count anew what is counted
  /// wrongly.
  package var repairs = false
  /// Of objects that are read; nil: as fast as the disk.
  package var bytesPerSecond: Int?

  package init() {}
}

/// One thing that is not as it should be.
package enum Finding: Sendable, Hashable {
  case damaged(Digest, quarantine: String?)
  case missing(Digest)
  /// A published name that does not stand, or is no link to its object.
  case name(job: String, path: String)
  /// A file under `public/` that no job of the ledger has published.
  case stranger(path: String)
  case counter(WrongCounter)
}

package struct VerificationSummary: Sendable, Hashable {
  /// Objects and bytes that were read.
  package var objects = 0
  package var bytes = 0
  package var names = 0
  /// Damaged and missing objects.
  package var damaged = 0
  package var missing = 0
  /// Names that do not stand.
  package var brokenNames = 0
  /// Not a fault of ours: nothing is done about them.
  package var strangers = 0
  package var wrongCounters = 0
  /// Items that were made due, and names that were linked again.
  package var itemsMadeDue = 0
  package var namesLinked = 0
  /// Kinds of counters that were put right, and those that could not be.
  package var counterKindsMended = 0
  package var counterKindsLeft = 0
  /// Whether it went on where an earlier look had stopped.
  package var isContinued = false

  package var faults: Int { damaged + missing + brokenNames + wrongCounters }

  package init() {}
}

/// Reads every object again and compares ledger, objects and published names, both ways.
///
/// A look that is stopped goes on from there the next time.
package struct Verification: Sendable {
  private let keeper: Housekeeper
  private let rule: VerificationRule
  private let sleeper: any Sleeper
  private let tell: @Sendable (Finding) -> Void

  package init(
    keeper: Housekeeper, rule: VerificationRule, sleeper: any Sleeper,
    tell: @escaping @Sendable (Finding) -> Void
  ) {
    self.keeper = keeper
    self.rule = rule
    self.sleeper = sleeper
    self.tell = tell
  }

  /// A look that mends goes over what a mere look has passed.
  private var look: String { rule.repairs ? "repair" : "verify" }

  package func run() async throws(RunStop) -> VerificationSummary {
    do {
      var summary = VerificationSummary()
      try await checkObjects(&summary)
      for job in try await keeper.ledger.jobs() {
        try await checkNames(of: job, &summary)
        try await findStrangers(below: job, &summary)
      }
      try await findStrangeJobs(&summary)
      try await checkCounters(&summary)
      return summary
    } catch {
      throw RunStop(error)
    }
  }

  // MARK: Objects

  private func checkObjects(_ summary: inout VerificationSummary) async throws {
    var last = try await keeper.ledger.place(of: look).flatMap { Digest(hex: $0) }
    summary.isContinued = last != nil
    let start = sleeper.now
    while case let page = try await keeper.ledger.objects(after: last, limit: 64),
      let end = page.last
    {
      var faulty = Faulty()
      for object in page where object.isUsed {
        try await check(object, &faulty, &summary)
        try await keepPace(summary.bytes, since: start)
      }
      if rule.repairs { try await repair(faulty, &summary) }
      last = end.digest
      try await keeper.ledger.keepPlace("\(end.digest)", of: look)
    }
    try await keeper.ledger.keepPlace(nil, of: look)
  }

  private struct Faulty {
    var damaged: Set<Digest> = []
    var missing: Set<Digest> = []
  }

  private func check(
    _ object: ObjectOverview, _ faulty: inout Faulty, _ summary: inout VerificationSummary
  ) async throws {
    switch try await keeper.store.condition(of: object.digest) {
    case .whole: break
    case .missing:
      // It may have been let go since the page was read.
      guard try await isStillUsed(object.digest) else { return }
      // Who put it aside was stopped before its names went: they still stand for the damaged file.
      if keeper.store.isQuarantined(object.digest) { faulty.damaged.insert(object.digest) }
      faulty.missing.insert(object.digest)
      summary.missing += 1
      tell(.missing(object.digest))
    case .damaged:
      let place = rule.repairs ? try await keeper.store.quarantine(object.digest) : nil
      CrashSeam.objectPutAside.reached()
      faulty.damaged.insert(object.digest)
      summary.damaged += 1
      tell(.damaged(object.digest, quarantine: place))
    }
    summary.objects += 1
    summary.bytes += object.bytes
  }

  private func isStillUsed(_ digest: Digest) async throws -> Bool {
    try await !keeper.ledger.objectsKnown(among: [digest]).isEmpty
  }

  /// Names of damaged objects are links to the damaged file: they go until the picture is made again.
  private func repair(_ faulty: Faulty, _ summary: inout VerificationSummary) async throws {
    let all = faulty.damaged.union(faulty.missing)
    guard !all.isEmpty else { return }
    let result = try await keeper.ledger.makeDue(
      restingOn: all, withdrawing: faulty.damaged)
    summary.itemsMadeDue += result.items
    try await keeper.publishPending()
  }

  private func keepPace(_ bytes: Int, since start: Duration) async throws {
    guard let rate = rule.bytesPerSecond, rate > 0 else { return }
    let due = start + .milliseconds(Int64(bytes) * 1000 / Int64(rate))
    if due > sleeper.now { try await sleeper.sleep(until: due) }
  }

  // MARK: Names

  private func checkNames(
    of job: JobOverview, _ summary: inout VerificationSummary
  ) async throws {
    var last = ""
    while case let page = try await keeper.ledger.names(of: job.number, after: last, limit: 1000),
      let end = page.last
    {
      last = end.path
      summary.names += page.count
      let names = page.map { PublicName(job: $0.jobName, path: $0.path, object: $0.object) }
      let faults = try await keeper.store.faults(among: names)
      let links = zip(page, names).filter { faults.notStanding.contains($1) }.map(\.0)
      for link in links { tell(.name(job: link.jobName, path: link.path)) }
      summary.brokenNames += links.count
      guard rule.repairs else { continue }
      try await repair(zip(page, names).filter { faults.lost.contains($1) }.map(\.0), &summary)
      guard !links.isEmpty else { continue }
      try await keeper.ledger.forget(links)
      try await keeper.publishPending()
      summary.namesLinked += links.count
    }
  }

  /// Names whose objects are gone, where nothing else leads from those to the items: by a redirect that may not
  /// be stored, or since the same recipe has made other bytes for another job.
  private func repair(
    _ lost: [LinkTask], _ summary: inout VerificationSummary
  ) async throws {
    guard !lost.isEmpty else { return }
    let damaged = Set(lost.compactMap(\.object).filter { keeper.store.isQuarantined($0) })
    let result = try await keeper.ledger.makeDue(named: lost, withdrawing: damaged)
    summary.itemsMadeDue += result.items
    try await keeper.publishPending()
  }

  private func findStrangers(
    below job: JobOverview, _ summary: inout VerificationSummary
  ) async throws {
    let listing = keeper.store.listing(ofJob: job.name)
    while let files = try await listing.next() {
      for path in try await keeper.ledger.paths(files, notPublishedBy: job.number) {
        summary.strangers += 1
        tell(.stranger(path: "\(job.name)/\(path)"))
      }
    }
  }

  private func findStrangeJobs(_ summary: inout VerificationSummary) async throws {
    let known = Set(try await keeper.ledger.jobs().map(\.name))
    for job in try await keeper.store.publishedJobs() where !known.contains(job) {
      summary.strangers += 1
      tell(.stranger(path: job))
    }
  }

  // MARK: Counters

  /// Everything is read beside those who write; they wait only while the kinds that are wrong are counted
  /// once more.
  private func checkCounters(_ summary: inout VerificationSummary) async throws {
    let wrong = try await keeper.ledger.wrongCounters()
    summary.wrongCounters = wrong.count
    for counter in wrong { tell(.counter(counter)) }
    guard rule.repairs, !wrong.isEmpty else { return }
    let kinds = Set(wrong.map(\.kind))
    summary.counterKindsMended = try await keeper.ledger.mendCounters(of: kinds).count
    summary.counterKindsLeft = kinds.count - summary.counterKindsMended
  }
}
