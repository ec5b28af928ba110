import HTTPCaching
import Hashing
import LedgerCore
import Storage
import Vocabulary

/// One claim from its lease to its outcome.
///
/// The steps: walk to the bytes, render what is missing, commit the files, settle in the ledger,
/// publish. Each takes values and gives values; none calls back into an earlier one.
// An object, and what is not async is not inlined: see `ChainWalk`.
final class ItemRun {
  let context: RunContext
  let claim: Claim
  private let walker: ChainWalk

  @inline(never)
  init(context: RunContext, claim: Claim) {
    self.context = context
    self.claim = claim
    walker = ChainWalk(context: context, claim: claim)
  }

  private var worker: Worker { context.worker }
  private var settings: JobSettings { context.settings }
  private var board: RunBoard { context.board }

  /// A settlement with the files that it rests on.
  private final class Result {
    let settlement: Settlement
    /// Nobody removes their objects while they live, which is until the ledger names them.
    let staged: [StagedObject]
    /// The original that others may be waiting to have rendered.
    let rendered: Digest?
    /// The items failed, and their older copy goes on serving.
    let keepsStale: Bool
    /// See `RenderedOriginal`.
    let hasLostFiles: Bool

    init(
      settlement: Settlement, staged: [StagedObject] = [], rendered: Digest? = nil,
      keepsStale: Bool = false, hasLostFiles: Bool = false
    ) {
      self.settlement = settlement
      self.staged = staged
      self.rendered = rendered
      self.keepsStale = keepsStale
      self.hasLostFiles = hasLostFiles
    }
  }

  nonisolated(nonsending) func perform() async throws(RunStop) {
    try await walk()
    let result: Result
    if let known = knownResult() {
      result = known
    } else if let rendered = try await renderedResult() {
      result = rendered
    } else {
      return try await giveBack()
    }
    defer { if let original = result.rendered { context.renderings.leave(original) } }
    try await settle(result)
    endLeases()
    withExtendedLifetime(result.staged) {}
  }

  nonisolated(nonsending) private func walk() async throws(RunStop) {
    defer { endAsking() }
    try await walker.walk()
  }

  @inline(never)
  private func endAsking() {
    let host = claim.entry.url.host
    context.hosts.claimHasAsked(host)
    // However it ended: what was asked for before a stop was asked for.
    board.add(walker.result.traffic)
    board.gotBytes(host: host)
  }

  /// What the walk has learnt rests on what has gone: the items are claimed again, and the original is looked
  /// for. As nobody has the bytes by then, they are asked for without conditions, so that this comes to an end.
  @inline(never)
  nonisolated(nonsending) private func giveBack() async throws(RunStop) {
    context.doubtFiles(of: claim.entry.key)
    do {
      try await worker.ledger.release([claim.lease] + walker.result.targets)
    } catch {
      throw RunStop(error)
    }
    endLeases()
  }

  @inline(never)
  private func endLeases() {
    context.leases.remove(claim.lease)
    context.leases.remove(walker.result.targets)
  }

  // MARK: What the walk means

  /// - Returns: nil where something has to be rendered, or may have to be.
  @inline(never)
  private func knownResult() -> Result? {
    let walk = walker.result
    switch walk.end {
    case .bytes(let bytes):
      return standing(bytes, pages, walk)
    case .notStored:
      return Result(
        settlement: settlement(walk) { item in
          .init(
            item: item.number, outcome: .notStored, state: .notStored,
            dueAt: dueAt(freshUntil: worker.now), publications: [])
        })
    case .failed(let failure, let nextTry, let withdrawal):
      return Result(
        settlement: settlement(walk) { item in
          failed(item, .failed, failure, until: nextTry, withdrawal)
        }, keepsStale: withdrawal.keeps)
    case .cooling(let failure, let until, let withdrawal):
      return Result(
        settlement: settlement(walk) { item in
          failed(item, .cooling, failure, until: until, withdrawal)
        }, keepsStale: withdrawal.keeps)
    }
  }

  /// What a warning names.
  private var example: String { claim.items.first?.id.text ?? "\(claim.entry.url)" }

  private var pages: [RecipeBook.Page] {
    claim.items.map { context.recipes.page(for: $0.variants) }
  }

  private func settlement(
    _ walk: WalkResult, items: (ClaimedItem) -> ItemSettlement
  ) -> Settlement {
    Settlement(
      job: context.job, run: context.run, lease: claim.lease, targets: walk.targets,
      entries: walk.changes, items: claim.items.map(items), at: worker.now)
  }

  private func failed(
    _ item: ClaimedItem, _ outcome: Outcome, _ failure: FailureRecord, until nextTry: Timestamp,
    _ withdrawal: WalkResult.Withdrawal
  ) -> ItemSettlement {
    var settlement = ItemSettlement(
      item: item.number, outcome: outcome, state: .failed, dueAt: nextTry, failure: failure)
    switch withdrawal {
    case .nothing: break
    case .withdraws: settlement.publications = []
    case .keeps(let until): settlement.dueAt = min(nextTry, until)
    }
    return settlement
  }

  // MARK: Bytes

  /// - Returns: nil where the original has gone meanwhile.
  @inline(never)
  nonisolated(nonsending) private func renderedResult() async throws(RunStop) -> Result? {
    let walk = walker.result
    guard case .bytes(let bytes) = walk.end else {
      preconditionFailure("what has brought no bytes has its result")
    }
    let pages = pages
    var wanted = pages.first?.wanted ?? [:]
    for page in pages.dropFirst() { wanted.merge(page.wanted) { first, _ in first } }
    let rendered: RenderedOriginal
    do {
      rendered = try await Rendering(
        worker: worker, limits: settings.limits,
        retriesFailed: context.options.force || context.options.retryFailed,
        desk: context.renderings
      ).render(bytes, wanted: wanted)
    } catch {
      switch error {
      case .stop(let stop): throw stop
      case .originalHasGone: return nil
      case .notAnImage(let failure):
        return notAnImage(failure.naming(bytes.entry.url), bytes, walk)
      }
    }
    board.add(variantsMade: rendered.madeCount)
    board.add(warnings: rendered.warnings, of: example)

    var settlement = settlement(walk) { item in
      let i = claim.items.firstIndex { $0.number == item.number }!
      return settled(
        item, pages[i], rendered, bytes, dueAt: dueAt(freshUntil: walk.freshUntil))
    }
    var entry = bytes.entry
    entry.original = rendered.original
    if entry != bytes.previous { settlement.entries.append(.stored(entry)) }
    settlement.variants = rendered.new
    settlement.objects = rendered.staged.map { ObjectRecord(digest: $0.digest, bytes: $0.bytes) }
    return Result(
      settlement: settlement, staged: rendered.staged,
      rendered: rendered.isAtDesk ? rendered.original.digest : nil,
      hasLostFiles: rendered.hasLostFiles)
  }

  /// What has its names from just these bytes and settings has everything, if the files are there: those of
  /// variants are looked for where the claim names them, see `FileLook`.
  ///
  /// - Returns: nil where that does not hold for each of the items.
  private func standing(
    _ bytes: WalkResult.Bytes, _ pages: [RecipeBook.Page], _ walk: WalkResult
  ) -> Result? {
    guard let outcome = bytes.arrival.outcomeOfKnownBytes else { return nil }
    let original = bytes.original.digest
    guard original == claim.entry.original?.digest, areInStore(claim.variantFiles) else {
      return nil
    }
    for (item, page) in zip(claim.items, pages) {
      guard let published = item.published,
        published == context.recipes.publicationKey(page, id: item.id, original: original)
      else { return nil }
    }
    let dueAt = dueAt(freshUntil: walk.freshUntil)
    var settlement = settlement(walk) { item in
      ItemSettlement(
        item: item.number, outcome: outcome, state: .well, dueAt: dueAt, published: item.published,
        before: item.state == .well ? item.before : nil)
    }
    if let change = bytes.change { settlement.entries.append(change) }
    return Result(settlement: settlement)
  }

  /// Variants of a small original are often the same file: it is looked for once.
  private func areInStore(_ objects: [ObjectRecord]) -> Bool {
    objects.indices.allSatisfy { i in
      objects[..<i].contains(objects[i])
        || worker.store.contains(objects[i].digest, bytes: objects[i].bytes)
    }
  }

  /// When to look again; a worker that runs for months spreads what falls due.
  private func dueAt(freshUntil: Timestamp) -> Timestamp {
    let now = worker.now
    guard context.options.refreshesAhead else { return max(freshUntil, now) }
    guard freshUntil > now else { return now + RunOptions.leastRefreshInterval }
    let ahead = RefreshSpread(claim.entry.key).ahead(ofLifetime: freshUntil - now)
    return freshUntil - ahead
  }

  private func settled(
    _ item: ClaimedItem, _ page: RecipeBook.Page, _ rendered: RenderedOriginal,
    _ bytes: WalkResult.Bytes, dueAt: Timestamp
  ) -> ItemSettlement {
    var failure = rendered.passingFailure
    var publications: [Publication] = []
    let names = context.recipes.names
    for line in page.lines {
      switch rendered.variants[line.key]?.state {
      case .made(let variant):
        if let names {
          publications.append(
            names.publication(
              of: line.name, id: item.id, format: variant.format, object: variant.digest))
        }
      case .failed(let reason):
        failure = failure ?? reason
      case nil:
        break
      }
    }
    if let names, settings.publish?.original == true, let format = rendered.original.format {
      publications.append(
        names.publication(
          of: "original", id: item.id, format: format, object: rendered.original.digest))
    }
    // New bytes of which nothing could be made leave the older copy where it is.
    let keepsOlder = failure != nil && publications.isEmpty
    let retryAt = worker.now + coolDown(failuresInARow: 1)
    let published =
      failure == nil
      ? context.recipes.publicationKey(page, id: item.id, original: rendered.original.digest) : nil
    return ItemSettlement(
      item: item.number, outcome: outcome(bytes.arrival, rendered, failure),
      state: failure == nil ? .well : .failed,
      dueAt: rendered.passingFailure == nil ? dueAt : min(dueAt, retryAt), failure: failure,
      publications: keepsOlder ? nil : publications, published: published)
  }

  private func outcome(
    _ arrival: WalkResult.Bytes.Arrival, _ rendered: RenderedOriginal, _ failure: FailureRecord?
  ) -> Outcome {
    if failure != nil { return .failed }
    let outcome = arrival.outcomeOfKnownBytes ?? .fetched
    return outcome == .fresh && !rendered.new.isEmpty ? .rebuilt : outcome
  }

  /// An error page with a success's status: the answer failed, not the copy that is in force.
  private func notAnImage(
    _ failure: FailureRecord, _ bytes: WalkResult.Bytes, _ walk: WalkResult
  ) -> Result {
    let cache = context.book[bytes.entry.url.host].cache
    var entry = bytes.previous
    entry.failure = cache.failure(
      failure, status: nil, head: nil, after: bytes.previous.failure, at: worker.now)
    let withdrawal = walker.judge.withdrawal(
      after: entry.failure!, of: bytes.previous, at: worker.now)
    var settlement = settlement(walk) { item in
      failed(
        item, .failed, failure, until: entry.failure!.nextTry, withdrawal)
    }
    settlement.entries.append(.stored(entry))
    return Result(settlement: settlement, keepsStale: withdrawal.keeps)
  }

  // MARK: Writing it down

  nonisolated(nonsending) private func settle(_ result: Result) async throws(RunStop) {
    let settlement = result.settlement
    let reply: SettlementResult
    board.settles()
    defer { board.hasSettled() }
    do {
      reply = try await worker.ledger.settle(settlement)
    } catch {
      throw RunStop(error)
    }
    // A lost lease means that these items are claimed again, by another worker or by us: they are
    // counted as that one leaves them.
    guard case .committed(let receipt) = reply else { return }
    if result.hasLostFiles || walker.result.hasLostFiles { tellOfLoss() }
    board.add(bytesStored: receipt.stored)
    let refused = try await worker.publish(receipt.links)
    board.noteRemaining(refused)
    count(result, receipt, refused)
    let purges = settlement.entries.contains { if case .purged = $0 { true } else { false } }
    if purges { try await worker.removeUnused() }
  }

  /// Not before it is settled: what a purge has removed meanwhile is not lost.
  private func tellOfLoss() {
    worker.fileTrust.lose(at: worker.now)
    board.add(
      warnings: [
        "stored files were missing; what could be fetched or made anew was (`thumbworker verify` looks for all)"
      ], of: example)
  }

  private func count(
    _ result: Result, _ receipt: SettlementReceipt, _ refused: [RefusedLink]
  ) {
    let host = walker.result.failedAt?.host ?? claim.entry.url.host
    var kept = 0
    for (item, settled) in zip(claim.items, result.settlement.items)
    where receipt.items.contains(item.number) {
      let failure =
        receipt.refused[item.number] ?? settled.refusal(among: refused, job: context.job)
      if let failure {
        board.settled(item, .failed, failure, host: nil)
      } else {
        board.settled(item, settled.outcome, settled.failure, host: host)
      }
      kept += result.keepsStale ? 1 : 0
    }
    board.addStaleKept(kept)
  }
}

extension ItemSettlement {
  /// Why one of its names could not be made.
  fileprivate func refusal(among refused: [RefusedLink], job: JobNumber) -> FailureRecord? {
    guard !refused.isEmpty else { return nil }
    let paths = Set((publications ?? []).map { ExactText($0.path) })
    return refused.first {
      $0.link.job == job && $0.link.object != nil && paths.contains(ExactText($0.link.path))
    }?.failure
  }
}

extension WalkResult.Bytes {
  /// What becomes of the entry where it keeps its bytes; nil: nothing.
  fileprivate var change: EntryChange? {
    guard case .confirmed = arrival else {
      return entry == previous ? nil : .stored(entry)
    }
    guard let response = entry.response, let before = previous.response, previous.failure == nil,
      response.hasValidators(of: before)
    else { return .stored(entry) }
    return .confirmed(entry, since: before.responseTime)
  }
}

extension WalkResult.Bytes.Arrival {
  /// How an item ends for which nothing has to be made; nil where the bytes are new.
  fileprivate var outcomeOfKnownBytes: Outcome? {
    switch self {
    case .received, .shared: nil
    case .confirmed: .revalidated
    case .fresh: .fresh
    }
  }
}

extension WalkResult.Withdrawal {
  fileprivate var keeps: Bool { if case .keeps = self { true } else { false } }
}
