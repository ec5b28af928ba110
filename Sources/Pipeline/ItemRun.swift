import HTTPCaching
import Hashing
import LedgerCore
import Storage
import Vocabulary

/// One claim from its lease to its outcome.
///
/// The steps: walk to the bytes, render what is missing, commit the files, settle in the ledger,
/// publish. Each takes values and gives values; none calls back into an earlier one.
struct ItemRun {
  let worker: Worker
  let settings: JobSettings
  let options: RunOptions
  let job: JobNumber
  let run: RunNumber
  let board: RunBoard
  let claim: Claim

  private var walker: ChainWalk {
    ChainWalk(worker: worker, settings: settings, options: options, item: claim.entry.url)
  }

  /// A settlement with the files that it rests on.
  private struct Result {
    var settlement: Settlement
    /// Nobody removes their objects while they live, which is until the ledger names them.
    var staged: [StagedObject] = []
    /// The items failed, and their older copy goes on serving.
    var keepsStale = false
  }

  func perform() async throws(RunStop) {
    let walk: WalkResult
    do {
      walk = try await walker.walk(from: claim.entry)
    } catch {
      board.gotBytes(host: claim.entry.url.host)
      throw error
    }
    board.add(walk.traffic)
    board.gotBytes(host: claim.entry.url.host)
    let result = try await result(of: walk)
    try await settle(result)
    withExtendedLifetime(result.staged) {}
  }

  // MARK: What the walk means

  private func result(of walk: WalkResult) async throws(RunStop) -> Result {
    switch walk.end {
    case .bytes(let bytes):
      return try await result(of: bytes, walk: walk)
    case .notStored:
      return Result(
        settlement: settlement(walk) { item in
          .init(
            item: item.number, outcome: .notStored, state: .notStored, dueAt: worker.now,
            publications: [])
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

  private func settlement(
    _ walk: WalkResult, items: (ClaimedItem) -> ItemSettlement
  ) -> Settlement {
    Settlement(
      job: job, run: run, lease: claim.lease, entries: walk.changes,
      items: claim.items.map(items), at: worker.now)
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

  private func result(
    of bytes: WalkResult.Bytes, walk: WalkResult
  ) async throws(RunStop) -> Result {
    let named = claim.items.map { settings.recipes(named: $0.variants, by: worker.encoders) }
    var wanted: [RecipeKey: Recipe] = [:]
    for recipe in named.joined() { wanted[RecipeKey(recipe.recipe)] = recipe.recipe }
    let rendered: RenderedOriginal
    do {
      rendered = try await Rendering(
        worker: worker, limits: settings.limits,
        retriesFailed: options.force || options.retryFailed
      ).render(bytes, wanted: wanted)
    } catch {
      switch error {
      case .stop(let stop): throw stop
      case .notAnImage(let failure):
        return notAnImage(failure, bytes, walk)
      }
    }
    do {
      try await worker.store.commit(rendered.staged)
    } catch {
      throw RunStop(error)
    }
    board.addStored(
      bytes: rendered.staged.reduce(0) { $0 + $1.bytes }, variants: rendered.madeCount)
    board.add(warnings: rendered.warnings, of: claim.items.first?.id.text ?? "\(claim.entry.url)")

    var settlement = settlement(walk) { item in
      let i = claim.items.firstIndex { $0.number == item.number }!
      return settled(item, named[i], rendered, bytes, dueAt: max(walk.freshUntil, worker.now))
    }
    var entry = bytes.entry
    entry.original = rendered.original
    if entry != bytes.previous { settlement.entries.append(.stored(entry)) }
    settlement.variants = rendered.new
    settlement.objects = rendered.staged.map { ObjectRecord(digest: $0.digest, bytes: $0.bytes) }
    return Result(settlement: settlement, staged: rendered.staged)
  }

  private func settled(
    _ item: ClaimedItem, _ recipes: [NamedRecipe], _ rendered: RenderedOriginal,
    _ bytes: WalkResult.Bytes, dueAt: Timestamp
  ) -> ItemSettlement {
    var failure = rendered.passingFailure
    var publications: [Publication] = []
    let names = settings.publish.map { PublishedNames(template: $0.path) }
    for named in recipes {
      switch rendered.variants[RecipeKey(named.recipe)]?.state {
      case .made(let variant):
        if let names {
          publications.append(
            Publication(
              path: names.path(variant: named.name, id: item.id, format: variant.format),
              variant: named.name, object: variant.digest))
        }
      case .failed(let reason):
        failure = failure ?? reason
      case nil:
        break
      }
    }
    if let names, settings.publish?.original == true, let format = rendered.original.format {
      publications.append(
        Publication(
          path: names.path(variant: "original", id: item.id, format: format), variant: "original",
          object: rendered.original.digest))
    }
    // New bytes of which nothing could be made leave the older copy where it is.
    let keepsOlder = failure != nil && publications.isEmpty
    let retryAt = worker.now + coolDown(failuresInARow: 1)
    return ItemSettlement(
      item: item.number, outcome: outcome(bytes.arrival, rendered, failure),
      state: failure == nil ? .well : .failed,
      dueAt: rendered.passingFailure == nil ? dueAt : min(dueAt, retryAt), failure: failure,
      publications: keepsOlder ? nil : publications)
  }

  private func outcome(
    _ arrival: WalkResult.Bytes.Arrival, _ rendered: RenderedOriginal, _ failure: FailureRecord?
  ) -> Outcome {
    if failure != nil { return .failed }
    switch arrival {
    case .received: return .fetched
    case .confirmed: return .revalidated
    case .fresh: return rendered.new.isEmpty ? .fresh : .rebuilt
    }
  }

  /// An error page with a success's status: the answer failed, not the copy that is in force.
  private func notAnImage(
    _ failure: FailureRecord, _ bytes: WalkResult.Bytes, _ walk: WalkResult
  ) -> Result {
    let cache = settings.cache(forHost: bytes.entry.url.host)
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

  private func settle(_ result: Result) async throws(RunStop) {
    let settlement = result.settlement
    let reply: SettlementResult
    do {
      reply = try await worker.ledger.settle(settlement)
    } catch {
      throw RunStop(error)
    }
    // A lost lease means that these items are claimed again, by another worker or by us: they are
    // counted as that one leaves them.
    guard case .committed(let links, let counted) = reply else { return }
    for (item, settled) in zip(claim.items, settlement.items) where counted.contains(item.number) {
      board.settled(item, settled)
    }
    if result.keepsStale { board.addStaleKept(counted.count) }
    board.noteRefused(try await worker.publish(links))
    let purges = settlement.entries.contains { if case .purged = $0 { true } else { false } }
    if purges { try await worker.removeUnused() }
  }
}

extension WalkResult.Withdrawal {
  fileprivate var keeps: Bool { if case .keeps = self { true } else { false } }
}
