import Fetching
import Hashing
import HTTPCaching
import HTTPTransfer
import LedgerCore
import Storage
import Threading
import Vocabulary

/// Walks from an item's URL to its bytes, asking only for what is not fresh.
///
/// Each hop of a redirect chain is an entry with a lifetime of its own. A stale hop is asked even if
/// the target is fresh; if it leads there again, the target is not asked. It belongs to its claim's task.
// Entries and the like are handled by functions that are not async, and not inlined into those that are:
// they would become parts of the task's frame, once for each use. Hundreds of claims are under way at a
// time, and to allocate and touch many kilobytes for each costs more than all the rest.
final class ChainWalk {
  let context: RunContext
  let claim: Claim
  let judge: EntryJudge
  private(set) var result = WalkResult(end: .notStored)
  /// Of the whole chain, on the sleeper's clock.
  private var deadline: Duration
  /// The claim's own settings, since most chains have one host.
  private let ownSettings: HostSettings
  /// Empty before the first redirect.
  private var seen: [EntryKey] = []

  /// One entry of the chain, as it is known.
  final class Hop: Sendable {
    let entry: Entry
    init(_ entry: Entry) { self.entry = entry }
  }

  @inline(never)
  init(context: RunContext, claim: Claim) {
    self.context = context
    self.claim = claim
    let url = claim.entry.url
    judge = EntryJudge(
      book: context.book, options: context.options, itemOrigin: url.origin,
      runStarted: context.started,
      spread: context.options.refreshesAhead ? RefreshSpread(claim.entry.key) : nil)
    ownSettings = context.book[url.host]
    deadline = context.worker.sleeper.now + ownSettings.network.timeout
  }

  var worker: Worker { context.worker }
  var item: ItemURL { claim.entry.url }

  private func settings(of entry: Entry) -> HostSettings {
    entry.url.host == item.host ? ownSettings : context.book[entry.url.host]
  }

  /// Then `result` tells where it came to.
  nonisolated(nonsending) func walk() async throws(RunStop) {
    var hop = firstHop()
    while let target = try await visit(hop) {
      hop = try await self.hop(to: target)
      guard mayVisit(hop) else { return }
    }
  }

  @inline(never)
  private func firstHop() -> Hop { Hop(claim.entry) }

  /// - Parameter hop: any but the first.
  /// - Returns: false where it ends the walk: the chain is a ring, or too long.
  @inline(never)
  private func mayVisit(_ hop: Hop) -> Bool {
    let maxRedirects = ownSettings.network.maxRedirects
    if seen.isEmpty { seen.append(claim.entry.key) }
    guard !seen.contains(hop.entry.key) else {
      giveUp(.redirectLoop(at: hop.entry.url), &result)
      return false
    }
    seen.append(hop.entry.key)
    guard seen.count <= maxRedirects + 1 else {
      giveUp(.tooManyRedirects(limit: maxRedirects, from: item), &result)
      return false
    }
    return true
  }

  @inline(never)
  nonisolated(nonsending) private func hop(to target: ItemURL) async throws(RunStop) -> Hop {
    do {
      let key = EntryKey(target)
      return Hop(try await worker.ledger.entry(key) ?? Entry(key: key, url: target))
    } catch {
      throw RunStop(error)
    }
  }

  private enum Look {
    /// Nothing is asked; a redirect leads there.
    case known(ItemURL?)
    case asks(HTTPFields)
    /// It is to be asked, and nobody has it yet.
    case reserves
  }

  /// - Returns: where it leads; nil at the chain's end.
  nonisolated(nonsending) private func visit(_ known: Hop) async throws(RunStop) -> ItemURL? {
    var hop = known
    while true {
      switch look(at: hop) {
      case .known(let target): return target
      case .asks(let conditions): return try await ask(hop, with: conditions)
      case .reserves: hop = try await reserve(hop)
      }
    }
  }

  @inline(never)
  private func look(at hop: Hop) -> Look {
    let verdict = judge.verdict(on: hop.entry, hasCopy: hasCopy(hop.entry), at: worker.now)
    if case .asks(_, let conditions) = verdict {
      return holds(hop.entry.key) ? .asks(conditions) : .reserves
    }
    return .known(take(follow(verdict, on: hop.entry, into: &result)))
  }

  private func holds(_ key: EntryKey) -> Bool {
    key == claim.lease.entry || result.unreserved.contains(key)
      || result.targets.contains { $0.entry == key }
  }

  func add(_ target: Lease) { result.targets.append(target) }

  func leaveUnreserved(_ target: EntryKey) { result.unreserved.insert(target) }

  func extendDeadline(by wait: Duration) { deadline += wait }

  private enum Step {
    case end(WalkResult.End)
    case redirect(ItemURL)
  }

  /// - Returns: where it leads.
  private func take(_ step: Step) -> ItemURL? {
    switch step {
    case .redirect(let target): return target
    case .end(let end):
      result.end = end
      return nil
    }
  }

  /// - Parameter verdict: any but one that asks.
  private func follow(
    _ verdict: EntryVerdict, on entry: Entry, into result: inout WalkResult
  ) -> Step {
    let now = worker.now
    switch verdict {
    case .fresh(let until):
      result.freshUntil = min(result.freshUntil, until)
      if let target = entry.redirectTarget { return .redirect(target) }
      // What has a copy and no target has an original.
      return .end(
        .bytes(
          .init(
            entry: entry, original: entry.original!, arrival: judge.arrival(of: entry, at: now),
            previous: entry)))
    case .cooling(let failure, let until):
      return .end(
        .cooling(
          failure.failure, until: until,
          judge.withdrawal(after: failure, of: entry, at: now)))
    case .failed(let failure, let until):
      result.failedAt = entry.url
      return .end(
        .failed(
          failure.failure, nextTry: until, judge.withdrawal(after: failure, of: entry, at: now)))
    case .notStored:
      return .end(.notStored)
    case .asks:
      preconditionFailure("what is to be asked is not followed")
    }
  }

  // MARK: Asking

  private enum Asked {
    /// Nil: at the chain's end.
    case leadsTo(ItemURL?)
    case asksAgainWithoutConditions
  }

  nonisolated(nonsending) private func ask(
    _ hop: Hop, with validators: HTTPFields
  ) async throws(RunStop) -> ItemURL? {
    var conditions = validators
    while true {
      let reply: FetchedResponse
      do {
        reply = try await worker.fetcher.fetch(request(for: hop, with: conditions))
      } catch {
        try fail(hop, error)
        return nil
      }
      switch take(reply, of: hop, wasConditional: !conditions.lines.isEmpty) {
      case .asksAgainWithoutConditions: conditions = HTTPFields()
      case .leadsTo(let target): return target
      }
    }
  }

  @inline(never)
  private func take(_ reply: FetchedResponse, of hop: Hop, wasConditional: Bool) -> Asked {
    result.traffic += Traffic(reply)
    deadline += reply.effort.waited
    switch judge(reply, for: hop.entry, wasConditional: wasConditional, into: &result) {
    case .asksAgainWithoutConditions: return .asksAgainWithoutConditions
    case .step(let step): return .leadsTo(take(step))
    }
  }

  @inline(never)
  private func fail(_ hop: Hop, _ error: FetchFailure) throws(RunStop) {
    result.traffic += Traffic(error)
    if error.disposition == .stopRun || error.isCancellation { throw RunStop(error) }
    if error.code == FetchFailure.postponedCode { context.hosts.refreshPauses() }
    result.end = failedEnd(
      FailureRecord(error), status: nil, head: nil, of: hop.entry, into: &result)
  }

  /// Whether what the entry's response brought is there: a redirect's target, or an original's file.
  private func hasCopy(_ entry: Entry) -> Bool {
    if entry.redirectTarget != nil { return true }
    guard let original = entry.original else { return false }
    if isTrusted(entry) || isInStore(original) { return true }
    result.hasLostFiles = true
    return false
  }

  /// Whether the ledger's word is enough. It is not where names are to be made anew, as after a repair; and
  /// redirects' targets have no names by which it could be taken back.
  private func isTrusted(_ entry: Entry) -> Bool {
    entry.key == claim.lease.entry && claim.items.allSatisfy { $0.published != nil }
      && !context.looksForFiles(of: entry.key)
  }

  private func isInStore(_ original: Original) -> Bool {
    worker.store.contains(original.digest, bytes: original.bytes)
  }

  @inline(never)
  private func request(for hop: Hop, with conditions: HTTPFields) -> FetchRequest {
    let (url, key) = (hop.entry.url, hop.entry.key)
    let (store, board) = (worker.store, context.board)
    let settings = settings(of: hop.entry)
    let sendsCredentials = url.origin == item.origin
    let keeping = FileSink.Keeping(
      key: key, of: settings, sendsCredentials: sendsCredentials, at: worker.now)
    var request = FetchRequest(
      url: url, conditions: conditions, manner: settings.manner,
      sendsCredentials: sendsCredentials, deadline: deadline,
      makeSink: { expected throws(FailureRecord) -> any BodySink in
        try FileSink(store: store, expecting: expected, keeping: keeping)
      })
    if store.mayHoldBeginning(key) {
      request.takeBeginning = { await store.takePartial(keeping) }
    }
    // What nothing was asked for yet does not begin after a stop.
    if result.traffic.requests == 0 { request.mayBegin = { !board.isStopping } }
    return request
  }

  private enum Judgement {
    case step(Step)
    case asksAgainWithoutConditions
  }

  private func judge(
    _ reply: FetchedResponse, for entry: Entry, wasConditional: Bool, into result: inout WalkResult
  ) -> Judgement {
    let head = ResponseHead(
      status: reply.status, fields: reply.fields, requestTime: reply.requestTime,
      responseTime: reply.responseTime)
    let request = RequestContext(
      hadAuthorization: reply.hadAuthorization, wasConditional: wasConditional,
      fields: reply.requestFields)
    switch reply.status {
    case 304:
      guard let stored = entry.response else {
        return failed(.unaskedNotModified(entry.url), head)
      }
      switch applying304(head, to: stored, request: request) {
      case .updated(let response):
        return keep(response, of: entry, into: &result)
      case .mismatchedValidator:
        return .asksAgainWithoutConditions
      case .unconditional:
        return failed(.unaskedNotModified(entry.url), head)
      }
    case _ where isRedirect(status: reply.status):
      return redirect(reply, head: head, request: request, of: entry, into: &result)
    case 200..<300 where reply.body != nil:
      return represent(reply, head: head, request: request, of: entry, into: &result)
    case 200..<300:
      return failed(.emptyBody(entry.url), head)
    default:
      return failed(FailureRecord(reply.statusFailure(of: entry.url)), head)
    }

    func failed(_ failure: FailureRecord, _ head: ResponseHead) -> Judgement {
      .step(
        .end(failedEnd(failure, status: reply.status, head: head, of: entry, into: &result)))
    }
  }

  /// A 304 was taken over: the stored copy is in force again, or may no longer be kept.
  private func keep(
    _ response: StoredResponse, of entry: Entry, into result: inout WalkResult
  ) -> Judgement {
    let rules = settings(of: entry).rules
    guard rules.storability(of: response) == .storable else {
      return .step(.end(purge(entry, after: response, into: &result)))
    }
    var updated = entry
    updated.response = response
    updated.failure = nil
    updated.validatedAt = response.responseTime
    updated.lastAnswer = .notModified
    result.freshUntil = min(
      result.freshUntil, rules.freshness(of: response).freshUntil)
    guard let target = entry.redirectTarget else {
      return .step(
        .end(
          .bytes(
            .init(
              entry: updated, original: entry.original!, arrival: .confirmed, previous: entry))))
    }
    result.changes.append(.stored(updated))
    return .step(.redirect(target))
  }

  private func redirect(
    _ reply: FetchedResponse, head: ResponseHead, request: RequestContext, of entry: Entry,
    into result: inout WalkResult
  ) -> Judgement {
    guard let location = reply.fields["Location"].first else {
      return .step(
        .end(
          failedEnd(
            .noLocation(reply.status, at: entry.url), status: reply.status, head: head, of: entry,
            into: &result)))
    }
    let target: ItemURL
    do {
      target = try entry.url.resolving(bytes: location.fieldBytes ?? Array(location.utf8))
    } catch {
      return .step(
        .end(
          failedEnd(
            .badLocation(error, status: reply.status, at: entry.url), status: reply.status,
            head: head, of: entry,
            into: &result)))
    }
    let rules = settings(of: entry).rules
    var updated = Entry(key: entry.key, url: entry.url)
    updated.validatedAt = reply.responseTime
    updated.lastAnswer = .redirect
    if case .forbidden(let reason) = rules.storability(of: head, request: request) {
      // Not kept, so it is asked at each run; what it leads to has a life of its own.
      result.freshUntil = .distantPast
      if reason.withdrawsOlderCopies, entry.original != nil {
        result.changes.append(.purged(updated))
        return .step(.redirect(target))
      }
    } else {
      let response = StoredResponse(head, request: request)
      updated.response = response
      updated.redirectTarget = target
      result.freshUntil = min(
        result.freshUntil, rules.freshness(of: response).freshUntil)
    }
    result.changes.append(.stored(updated))
    return .step(.redirect(target))
  }

  private func represent(
    _ reply: FetchedResponse, head: ResponseHead, request: RequestContext, of entry: Entry,
    into result: inout WalkResult
  ) -> Judgement {
    let rules = settings(of: entry).rules
    guard let body = reply.body, body.bytes > 0, let sink = body.sink as? FileSink else {
      return .step(
        .end(
          failedEnd(
            .emptyBody(entry.url), status: reply.status, head: head, of: entry, into: &result)))
    }
    if case .forbidden(let reason) = rules.storability(of: head, request: request) {
      sink.file.discard()
      guard reason.withdrawsOlderCopies else {
        return .step(
          .end(
            failedEnd(
              FailureRecord(reply.statusFailure(of: entry.url)), status: reply.status, head: head,
              of: entry, into: &result)
          ))
      }
      return .step(
        .end(purge(entry, after: StoredResponse(head, request: request), into: &result)))
    }
    var updated = entry
    let response = StoredResponse(head, request: request)
    updated.response = response
    updated.redirectTarget = nil
    updated.failure = nil
    updated.validatedAt = reply.responseTime
    result.freshUntil = min(
      result.freshUntil, rules.freshness(of: response).freshUntil)
    if let original = entry.original, original.digest == body.digest {
      if isInStore(original) {
        sink.file.discard()
        updated.lastAnswer = .sameBytes
        return .step(
          .end(
            .bytes(
              .init(entry: updated, original: original, arrival: .confirmed, previous: entry))))
      }
      result.hasLostFiles = true
    }
    let original = Original(digest: body.digest, bytes: body.bytes, format: nil)
    updated.original = original
    updated.lastAnswer = .newBytes
    return .step(
      .end(
        .bytes(
          .init(
            entry: updated, original: original, arrival: .received(sink.file), previous: entry))))
  }

  // MARK: Failing

  /// The chain as a whole is at fault. That is noted at its first entry; the others keep what their
  /// servers said.
  private func giveUp(_ failure: FailureRecord, _ result: inout WalkResult) {
    let (first, now) = (claim.entry, worker.now)
    result.failedAt = first.url
    if result.traffic.requests == 0, let before = first.failure,
      judge.isCooling(before, of: first.url, at: now)
    {
      result.end = .cooling(
        before.failure, until: judge.nextTry(before, of: first.url),
        judge.withdrawal(after: before, of: first, at: now))
      return
    }
    let noted = ownSettings.cache
      .failure(failure, status: nil, head: nil, after: first.failure, at: now)
    result.note(noted, at: first)
    result.end = .failed(
      failure, nextTry: noted.nextTry, judge.withdrawal(after: noted, of: first, at: now))
  }

  /// Notes the failure at the entry that failed, and what it means for the copy that serves.
  private func failedEnd(
    _ failure: FailureRecord, status: Int?, head: ResponseHead?, of entry: Entry,
    into result: inout WalkResult
  ) -> WalkResult.End {
    result.failedAt = entry.url
    let entryFailure = settings(of: entry).cache
      .failure(failure, status: status, head: head, after: entry.failure, at: worker.now)
    let word = status.map {
      withdrawal(
        status: $0, missingSince: entry.failure?.missingSince,
        settings: settings(of: entry).cache, now: worker.now)
    }
    var failed = entry
    failed.failure = entryFailure
    switch word {
    case .purge:
      failed.response = nil
      result.changes.append(.purged(failed))
      return .failed(failure, nextTry: entryFailure.nextTry, .withdraws)
    case .withdraw:
      result.changes.append(.stored(failed))
      return .failed(failure, nextTry: entryFailure.nextTry, .withdraws)
    case .keep, nil:
      result.changes.append(.stored(failed))
      return .failed(
        failure, nextTry: entryFailure.nextTry,
        judge.withdrawal(after: entryFailure, of: entry, at: worker.now))
    }
  }

  /// - Parameter response: what forbids keeping it: its fields stay, so that `show` can tell why.
  private func purge(
    _ entry: Entry, after response: StoredResponse, into result: inout WalkResult
  ) -> WalkResult.End {
    var stub = Entry(key: entry.key, url: entry.url)
    stub.response = response
    stub.validatedAt = response.responseTime
    stub.lastAnswer = .notStored
    result.changes.append(.purged(stub))
    return .notStored
  }
}

extension Traffic {
  init(_ reply: FetchedResponse) {
    self.init()
    requests = reply.requests
    retries = max(0, reply.requests - 1)
    bytesIn = reply.bytesIn
  }

  init(_ failure: FetchFailure) {
    self.init()
    requests = failure.requests
    retries = max(0, failure.requests - 1)
    bytesIn = failure.bytesIn
  }
}
