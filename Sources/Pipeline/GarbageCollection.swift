import Hashing
import LedgerCore
import Manifests
import Storage
import Vocabulary

/// What `gc` is to keep to.
package struct CollectionRule: Sendable, Hashable {
  /// What no item has needed for so long goes.
  package var retain: Duration = .days(30)
  /// Of all objects; nil: no limit.
  package var maxBytes: Int?
  package var maxCount: Int?
  /// Bytes of the file system that are to be free; nil: no matter.
  package var minFree: Int?
  /// Whether limits take only what no job needs.
  package var sparesNeeded = false
  package var isDryRun = false

  package init() {}
}

/// What `gc` found and, unless it was a dry run, deleted.
package struct CollectionSummary: Sendable, Hashable {
  /// Entries that no item needs.
  package var unneeded = 0
  /// Those of them whose time was over.
  package var expired = 0
  /// Entries that went because of a limit, though they were within their time.
  package var evicted = 0
  /// Those of them that a job needs; its next run fetches them again.
  package var evictedNeeded = 0
  /// Variants of recipes that no job asks for any more, and those of them whose time was over.
  package var unwantedVariants = 0
  package var expiredVariants = 0
  /// Objects that nothing referred to, and files that the ledger did not know.
  package var orphans = 0
  package var orphanBytes = 0
  /// What the store holds after it; in a dry run, what it holds.
  package var objects = 0
  package var bytes = 0

  package init() {}
}

/// Deletes what nothing refers to, what no item needs any more and what is over the limits, least recently
/// needed first. In small steps: runs go on meanwhile.
package struct GarbageCollection: Sendable {
  private let keeper: Housekeeper
  private let rule: CollectionRule
  /// What the jobs ask for; nil where not all of them can be read.
  private let wanted: Set<RecipeKey>?
  private let tell: @Sendable (EntryOverview, Reason) -> Void

  /// Why an entry goes.
  package enum Reason: Sendable, Hashable {
    /// No item needs it since then.
    case unneeded(since: Timestamp)
    case overLimit(isNeeded: Bool)
  }

  /// - Parameters:
  ///   - wanted: the recipes that the jobs ask for; nil where that is not known: then no variant goes for
  ///     its recipe.
  ///   - tell: called with each entry that goes.
  package init(
    keeper: Housekeeper, rule: CollectionRule, wanted: Set<RecipeKey>?,
    tell: @escaping @Sendable (EntryOverview, Reason) -> Void = { _, _ in }
  ) {
    self.keeper = keeper
    self.rule = rule
    self.wanted = wanted
    self.tell = tell
  }

  package func run() async throws(RunStop) -> CollectionSummary {
    do {
      var summary = CollectionSummary()
      try await collectUnneeded(&summary)
      try await collectUnwanted(&summary)
      try await collectUnused(&summary)
      try await collectUnknownFiles(&summary)
      try await collectSources()
      // Last: what nothing refers to does not cost anybody his place.
      try await enforceLimits(&summary)
      (summary.objects, summary.bytes) = try await keeper.ledger.objectTotals()
      return summary
    } catch {
      throw RunStop(error)
    }
  }

  // MARK: Entries that no item needs

  private func collectUnneeded(_ summary: inout CollectionSummary) async throws {
    // A redirect that goes may have been the last to need what it led to: purging takes both.
    try await keeper.forEachEntry { page in
      var notes: [EntryKey: Timestamp?] = [:]
      var expired: [EntryKey] = []
      for entry in page {
        guard entry.jobs.isEmpty else {
          if entry.unneededSince != nil { notes[entry.key] = .some(nil) }
          continue
        }
        summary.unneeded += 1
        // A time that is still to come was noted before the clock went back: it counts from now.
        let since = min(entry.unneededSince ?? keeper.now, keeper.now)
        if entry.unneededSince != since { notes[entry.key] = since }
        guard keeper.now >= since + rule.retain else { continue }
        tell(entry, .unneeded(since: since))
        expired.append(entry.key)
      }
      summary.expired += expired.count
      guard !rule.isDryRun else { return }
      try await keeper.ledger.note(notes)
      _ = try await keeper.purge(expired)
    }
  }

  // MARK: Variants that no job asks for

  /// A job's sizes change, or its encoders: what the former ones have made goes after the same time.
  private func collectUnwanted(_ summary: inout CollectionSummary) async throws {
    let known = try await keeper.ledger.unwantedRecipes()
    var unwanted: [RecipeKey: Timestamp] = [:]
    var last: VariantKey?
    while case let page = try await keeper.ledger.variants(after: last, limit: Housekeeper.pageSize),
      let end = page.last
    {
      last = end.variant
      let left = Set(page.filter { !$0.hasEntry }.map(\.variant.original))
      if !rule.isDryRun { try await keeper.ledger.letGoVariants(of: Array(left)) }
      var expired: [VariantKey] = []
      for (variant, hasEntry) in page where hasEntry {
        guard let wanted, !wanted.contains(variant.recipe) else { continue }
        summary.unwantedVariants += 1
        let since = min(known[variant.recipe] ?? keeper.now, keeper.now)
        unwanted[variant.recipe] = since
        if keeper.now >= since + rule.retain { expired.append(variant) }
      }
      summary.expiredVariants += expired.count
      guard !rule.isDryRun, !expired.isEmpty || !left.isEmpty else { continue }
      try await keeper.ledger.forgetVariants(expired)
      try await keeper.removeUnused()
    }
    if !rule.isDryRun, wanted != nil { try await keeper.ledger.note(unwanted: unwanted) }
  }

  // MARK: Limits

  private func enforceLimits(_ summary: inout CollectionSummary) async throws {
    guard rule.maxBytes != nil || rule.maxCount != nil || rule.minFree != nil else { return }
    var excess = try await self.excess()
    guard excess.isPositive else { return }
    var ranks = NeedRanks()
    try await keeper.forEachEntry { page in
      for entry in page where entry.files > 0 && mayTake(entry) {
        ranks.count(entry, at: keeper.now)
      }
    }
    guard let last = ranks.last(toCover: excess) else { return }
    try await evict({ $0 < last }, &excess, &summary)
    try await evict({ $0 == last }, &excess, &summary)
  }

  private func evict(
    _ isChosen: (NeedRanks.Rank) -> Bool, _ excess: inout Excess,
    _ summary: inout CollectionSummary
  ) async throws {
    try await keeper.forEachEntry { page in
      for entry in page where entry.files > 0 && mayTake(entry) {
        guard isChosen(NeedRanks.Rank(entry, at: keeper.now)) else { continue }
        guard excess.isPositive else { return }
        tell(entry, .overLimit(isNeeded: !entry.jobs.isEmpty))
        summary.evicted += 1
        if !entry.jobs.isEmpty { summary.evictedNeeded += 1 }
        guard !rule.isDryRun else {
          excess -= Excess(entry)
          continue
        }
        _ = try await keeper.purge([entry.key])
        // Equal bytes may have been shared: what has become of the totals counts.
        excess = try await self.excess()
      }
    }
  }

  private func mayTake(_ entry: EntryOverview) -> Bool {
    !rule.sparesNeeded || entry.jobs.isEmpty
  }

  private func excess() async throws -> Excess {
    let (objects, bytes) = try await keeper.ledger.objectTotals()
    return Excess(
      bytes: bytes, objects: objects, free: keeper.store.freeBytes, over: rule)
  }

  // MARK: Objects

  /// Objects that the ledger knows and nothing refers to.
  private func collectUnused(_ summary: inout CollectionSummary) async throws {
    var last: Digest?
    while case let page = try await keeper.ledger.objects(after: last, limit: Housekeeper.pageSize),
      let end = page.last
    {
      last = end.digest
      let unused = page.filter { !$0.isUsed }
      guard !rule.isDryRun else {
        summary.orphans += unused.count
        summary.orphanBytes += unused.reduce(0) { $0 + $1.bytes }
        continue
      }
      let gone = Set(try await keeper.ledger.letGoUnused(unused.map(\.digest)))
      summary.orphans += gone.count
      summary.orphanBytes += unused.reduce(0) { $0 + (gone.contains($1.digest) ? $1.bytes : 0) }
      if !gone.isEmpty { try await keeper.removeUnused() }
    }
  }

  /// Files that the ledger does not know: a crash between commit and settlement leaves them.
  private func collectUnknownFiles(_ summary: inout CollectionSummary) async throws {
    for branch in ObjectStore.branches {
      let digests = try await keeper.store.digests(inBranch: branch)
      for start in stride(from: 0, to: digests.count, by: Housekeeper.pageSize) {
        let page = Array(digests[start..<min(start + Housekeeper.pageSize, digests.count)])
        let known = try await keeper.ledger.objectsKnown(among: page)
        let unknown = page.filter { !known.contains($0) }
        guard !unknown.isEmpty else { continue }
        try await remove(unknown, &summary)
      }
    }
  }

  /// What manifests' sources at URLs have sent, where no job has had them for long.
  private func collectSources() async throws {
    guard !rule.isDryRun else { return }
    let needed = try await keeper.sourceKeys()
    let before = Timestamp(
      milliseconds: keeper.now.milliseconds - rule.retain.wholeMilliseconds)
    try await keeper.store.sweepSources(keeping: needed, before: before)
  }

  /// What a worker has committed and not settled yet cannot be held; what it has settled since is known.
  private func remove(
    _ unknown: [Digest], _ summary: inout CollectionSummary
  ) async throws {
    let held = try await keeper.store.hold(unknown)
    let known = try await keeper.ledger.objectsKnown(among: held.digests)
    for digest in held.digests where !known.contains(digest) {
      summary.orphans += 1
      summary.orphanBytes += keeper.store.bytes(of: digest) ?? 0
    }
    guard !rule.isDryRun else { return }
    try await keeper.store.remove(held, butNot: known)
  }
}
