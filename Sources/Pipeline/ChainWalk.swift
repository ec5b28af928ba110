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
/// the target is fresh; if it leads there again, the target is not asked.
struct ChainWalk {
  let context: RunContext
  let claim: Claim

  var worker: Worker { context.worker }
  private var settings: JobSettings { context.settings }
  var item: ItemURL { claim.entry.url }

  var judge: EntryJudge {
    EntryJudge(
      settings: settings, options: context.options, itemOrigin: item.origin,
      runStarted: context.started,
      spread: context.options.refreshesAhead ? RefreshSpread(claim.entry.key) : nil)
  }

  func walk() async throws(RunStop) -> WalkResult {
    var result = WalkResult(end: .notStored)
    let first = claim.entry
    var entry = first
    var deadline = worker.sleeper.now + settings.network(forHost: first.url.host).timeout
    var seen: Set<EntryKey> = []
    let maxRedirects = settings.network(forHost: first.url.host).maxRedirects
    while true {
      guard seen.insert(entry.key).inserted else {
        return giveUp(.redirectLoop(at: entry.url), &result)
      }
      guard seen.count <= maxRedirects + 1 else {
        return giveUp(.tooManyRedirects(limit: maxRedirects, from: item), &result)
      }
      switch try await step(entry, deadline: &deadline, into: &result) {
      case .end(let end):
        result.end = end
        return result
      case .redirect(let target):
        do {
          let key = EntryKey(target)
          entry = try await worker.ledger.entry(key) ?? Entry(key: key, url: target)
        } catch {
          throw RunStop(error)
        }
      }
    }
  }

  private enum Step {
    case end(WalkResult.End)
    case redirect(ItemURL)
  }

  private func step(
    _ known: Entry, deadline: inout Duration, into result: inout WalkResult
  ) async throws(RunStop) -> Step {
    var entry = known
    while true {
      let verdict = judge.verdict(on: entry, hasCopy: hasCopy(entry), at: worker.now)
      guard verdict.asks, !holds(entry.key, result) else {
        return try await follow(verdict, on: entry, deadline: &deadline, into: &result)
      }
      entry = try await reserve(entry, deadline: &deadline, into: &result)
    }
  }

  private func holds(_ key: EntryKey, _ result: WalkResult) -> Bool {
    key == claim.lease.entry || result.unreserved.contains(key)
      || result.targets.contains { $0.entry == key }
  }

  private func follow(
    _ verdict: EntryVerdict, on entry: Entry, deadline: inout Duration,
    into result: inout WalkResult
  ) async throws(RunStop) -> Step {
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
    case .asks(_, let conditions):
      return try await ask(entry, with: conditions, deadline: &deadline, into: &result)
    }
  }

  // MARK: Asking

  private func ask(
    _ entry: Entry, with validators: HTTPFields, deadline: inout Duration,
    into result: inout WalkResult
  ) async throws(RunStop) -> Step {
    var conditions = validators
    while true {
      let reply: FetchedResponse
      do {
        reply = try await fetch(
          entry, conditions: conditions, deadline: deadline,
          isFirst: result.traffic.requests == 0)
      } catch {
        result.traffic += Traffic(error)
        if error.disposition == .stopRun || error.isCancellation { throw RunStop(error) }
        if error.code == FetchFailure.postponedCode { context.hosts.refreshPauses() }
        return .end(
          failedEnd(FailureRecord(error), status: nil, head: nil, of: entry, into: &result))
      }
      result.traffic += Traffic(reply)
      deadline += reply.effort.waited
      switch judge(reply, for: entry, wasConditional: !conditions.lines.isEmpty, into: &result) {
      case .asksAgainWithoutConditions: conditions = HTTPFields()
      case .step(let step): return step
      }
    }
  }

  private enum Judgement {
    case step(Step)
    case asksAgainWithoutConditions
  }

  /// Whether what the entry's response brought is there: a redirect's target, or an original whose file
  /// stands.
  private func hasCopy(_ entry: Entry) -> Bool {
    if entry.redirectTarget != nil { return true }
    guard let original = entry.original else { return false }
    return worker.store.contains(original.digest, bytes: original.bytes)
  }

  /// - Parameter isFirst: whether nothing was asked for the claim yet: it does not begin after a stop.
  private func fetch(
    _ entry: Entry, conditions: HTTPFields, deadline: Duration, isFirst: Bool
  ) async throws(FetchFailure) -> FetchedResponse {
    let store = worker.store
    let network = settings.network(forHost: entry.url.host)
    let keeping = keeping(of: entry, network)
    var request = FetchRequest(
      url: entry.url, conditions: conditions, settings: network,
      sendsCredentials: entry.url.origin == item.origin, deadline: deadline,
      makeSink: { expected throws(FailureRecord) -> any BodySink in
        try FileSink(store: store, expecting: expected, keeping: keeping)
      })
    request.takeBeginning = { await store.takePartial(keeping) }
    let board = context.board
    request.mayBegin = { !isFirst || !board.isStopping }
    return try await worker.fetcher.fetch(request)
  }

  /// A body that may not be stored whole may not be kept in part either.
  private func keeping(of entry: Entry, _ network: NetworkSettings) -> FileSink.Keeping {
    let cache = settings.cache(forHost: entry.url.host)
    let sendsCredentials = entry.url.origin == item.origin
    let now = worker.now
    return FileSink.Keeping(key: entry.key) { record in
      let fields = Fetcher.requestFields(settings: network, sendsCredentials: sendsCredentials)
      let head = ResponseHead(
        status: 200, fields: record.fields, requestTime: now, responseTime: now)
      return storability(of: head, request: RequestContext(fields: fields), settings: cache)
        == .storable
    }
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
    let cache = settings.cache(forHost: entry.url.host)
    guard storability(of: response, settings: cache) == .storable else {
      return .step(.end(purge(entry, after: response, into: &result)))
    }
    var updated = entry
    updated.response = response
    updated.failure = nil
    updated.validatedAt = response.responseTime
    updated.lastAnswer = .notModified
    result.freshUntil = min(
      result.freshUntil, freshness(of: response, settings: cache).freshUntil)
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
    let cache = settings.cache(forHost: entry.url.host)
    var updated = Entry(key: entry.key, url: entry.url)
    updated.validatedAt = reply.responseTime
    updated.lastAnswer = .redirect
    if case .forbidden(let reason) = storability(of: head, request: request, settings: cache) {
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
        result.freshUntil, freshness(of: response, settings: cache).freshUntil)
    }
    result.changes.append(.stored(updated))
    return .step(.redirect(target))
  }

  private func represent(
    _ reply: FetchedResponse, head: ResponseHead, request: RequestContext, of entry: Entry,
    into result: inout WalkResult
  ) -> Judgement {
    let cache = settings.cache(forHost: entry.url.host)
    guard let body = reply.body, body.bytes > 0, let sink = body.sink as? FileSink else {
      return .step(
        .end(
          failedEnd(
            .emptyBody(entry.url), status: reply.status, head: head, of: entry, into: &result)))
    }
    if case .forbidden(let reason) = storability(of: head, request: request, settings: cache) {
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
      result.freshUntil, freshness(of: response, settings: cache).freshUntil)
    if let original = entry.original, original.digest == body.digest, hasCopy(entry) {
      sink.file.discard()
      updated.lastAnswer = .sameBytes
      return .step(
        .end(
          .bytes(
            .init(entry: updated, original: original, arrival: .confirmed, previous: entry))))
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
  private func giveUp(_ failure: FailureRecord, _ result: inout WalkResult) -> WalkResult {
    let (first, now) = (claim.entry, worker.now)
    result.failedAt = first.url
    if result.traffic.requests == 0, let before = first.failure,
      judge.isCooling(before, of: first.url, at: now)
    {
      result.end = .cooling(
        before.failure, until: judge.nextTry(before, of: first.url),
        judge.withdrawal(after: before, of: first, at: now))
      return result
    }
    let noted = settings.cache(forHost: item.host)
      .failure(failure, status: nil, head: nil, after: first.failure, at: now)
    result.note(noted, at: first)
    result.end = .failed(
      failure, nextTry: noted.nextTry, judge.withdrawal(after: noted, of: first, at: now))
    return result
  }

  /// Notes the failure at the entry that failed, and what it means for the copy that serves.
  private func failedEnd(
    _ failure: FailureRecord, status: Int?, head: ResponseHead?, of entry: Entry,
    into result: inout WalkResult
  ) -> WalkResult.End {
    result.failedAt = entry.url
    let entryFailure = settings.cache(forHost: entry.url.host)
      .failure(failure, status: status, head: head, after: entry.failure, at: worker.now)
    let word = status.map {
      withdrawal(
        status: $0, missingSince: entry.failure?.missingSince,
        settings: settings.cache(forHost: entry.url.host), now: worker.now)
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
