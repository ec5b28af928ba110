import Fetching
import HTTPCaching
import LedgerCore
import Vocabulary

/// What a run does with an entry before anything is asked.
package enum EntryVerdict: Sendable, Hashable {
  /// Within its lifetime: no request.
  case fresh(until: Timestamp)
  /// It failed recently: no request.
  case cooling(EntryFailure, until: Timestamp)
  /// It failed in this run: no other request.
  case failed(EntryFailure, until: Timestamp)
  /// Its server has forbidden to store it in this run: no other request.
  case notStored
  /// A request, with these conditions.
  case asks(Reason, conditions: HTTPFields)

  package enum Reason: Sendable, Hashable {
    case nothingStored
    /// A copy is known and not in its place: it is asked for as if it had never been there.
    case copyMissing
    /// `--force`.
    case forced
    case stale(FreshnessVerdict.Reason)
  }
}

/// Judges entries under one job's settings: the walk acts on it, a plan counts it, `show` tells it.
struct EntryJudge: Sendable {
  let book: SettingsBook
  let options: RunOptions
  /// Credentials go to the item's own origin only.
  let itemOrigin: ItemURL.Origin
  /// Of the run that judges; nil where none does.
  var runStarted: Timestamp?
  /// Nil: an entry is fresh until it expires.
  var spread: RefreshSpread?

  /// - Parameter hasCopy: whether what the response brought is in its place: a redirect's target, an
  ///   original's file. Only such a response is fresh, and only for such a one are validators sent.
  func verdict(on entry: Entry, hasCopy: Bool, at now: Timestamp) -> EntryVerdict {
    let reason = reasonToAsk(for: entry, hasCopy: hasCopy, at: now)
    guard let reason else {
      return .fresh(until: freshness(of: entry)?.freshUntil ?? now)
    }
    if let answer = answerInThisRun(of: entry, hasCopy: hasCopy, reason, at: now) { return answer }
    if let failure = entry.failure, isCooling(failure, of: entry.url, at: now) {
      return .cooling(failure, until: nextTry(failure, of: entry.url))
    }
    let conditions = hasCopy ? entry.response.map { validators(of: $0) } : nil
    return .asks(reason, conditions: conditions ?? HTTPFields())
  }

  /// What the server has said since this run began stands for the whole of it: many items may lead to
  /// one entry, which is asked for once. What might say something else to this item is asked again.
  private func answerInThisRun(
    of entry: Entry, hasCopy: Bool, _ reason: EntryVerdict.Reason, at now: Timestamp
  ) -> EntryVerdict? {
    if let failure = entry.failure {
      let wasAsked = failure.failure.code != FetchFailure.postponedCode
      guard wasAsked, isOfThisRun(failure.at, at: now) else { return nil }
      return .failed(failure, until: nextTry(failure, of: entry.url))
    }
    guard isOfThisRun(entry.validatedAt, at: now) else { return nil }
    switch reason {
    case .forced, .stale(.expired), .stale(.expiresSoon):
      return .fresh(until: freshness(of: entry)?.freshUntil ?? now)
    case .nothingStored: return entry.lastAnswer == .notStored ? .notStored : nil
    case .copyMissing, .stale: return nil
    }
  }

  private func isOfThisRun(_ time: Timestamp?, at now: Timestamp) -> Bool {
    guard let runStarted, let time else { return false }
    return time > runStarted && time <= now
  }

  /// How the bytes of a fresh entry have come: by an earlier claim of this run, or in another run.
  func arrival(of entry: Entry, at now: Timestamp) -> WalkResult.Bytes.Arrival {
    guard entry.failure == nil, isOfThisRun(entry.validatedAt, at: now) else { return .fresh }
    return entry.lastAnswer == .newBytes ? .shared : .confirmed
  }

  /// As far as the ledger knows; the file itself is not looked for.
  func verdict(on entry: Entry, at now: Timestamp) -> EntryVerdict {
    verdict(
      on: entry, hasCopy: entry.redirectTarget != nil || entry.original != nil, at: now)
  }

  func freshness(of entry: Entry) -> Freshness? {
    entry.response.map {
      book[entry.url.host].rules.freshness(of: $0)
    }
  }

  /// The field values that a request would carry, for `Vary`.
  func requestFields(for url: ItemURL) -> HTTPFields {
    book[url.host].manner.keptFields(sendsCredentials: url.origin == itemOrigin)
  }

  /// Nil: it is fresh.
  private func reasonToAsk(
    for entry: Entry, hasCopy: Bool, at now: Timestamp
  ) -> EntryVerdict.Reason? {
    guard let response = entry.response else { return .nothingStored }
    guard hasCopy else { return entry.original == nil ? .nothingStored : .copyMissing }
    guard !options.force else { return .forced }
    let verdict = book[entry.url.host].rules.judge(
      response, requestFields: requestFields(for: entry.url), refreshAhead: refreshAhead(of: entry),
      now: now)
    if case .stale(let reason) = verdict { return .stale(reason) }
    return nil
  }

  private func refreshAhead(of entry: Entry) -> Duration {
    guard let spread, let response = entry.response, let freshness = freshness(of: entry) else {
      return options.refreshAhead
    }
    let lifetime = freshness.freshUntil - response.responseTime
    return max(options.refreshAhead, spread.ahead(ofLifetime: lifetime))
  }

  // MARK: Failures

  func isCooling(_ failure: EntryFailure, of url: ItemURL, at now: Timestamp) -> Bool {
    // A failure that is still to come tells that the clock went back: it says nothing of how long to wait.
    guard !options.force, failure.at <= now, now < nextTry(failure, of: url) else { return false }
    return !options.retryFailed || failure.isServersWord
  }

  /// When it is tried again. The job's own `negativeTTL` counts, whichever job met the failure.
  func nextTry(_ failure: EntryFailure, of url: ItemURL) -> Timestamp {
    guard failure.nextTry != EntryFailure.atOnce, !failure.isServersWord,
      failure.status == 404 || failure.status == 410
    else { return failure.nextTry }
    return failure.at + book[url.host].cache.negativeTTL
  }

  /// Whether the copy that is published is to go because of the failure: its origin has taken it back,
  /// or has failed for longer than it may serve.
  func withdrawal(
    after failure: EntryFailure, of entry: Entry, at now: Timestamp
  ) -> WalkResult.Withdrawal {
    guard entry.mayHaveCopy else { return .nothing }
    let end = servesUntil(failure, of: entry)
    return isConfirmedMissing(failure, of: entry.url) || now >= end
      ? .withdraws : .keeps(until: end)
  }

  /// Whether a second 404 has confirmed the first (see `HTTPCaching.withdrawal`).
  func isConfirmedMissing(_ failure: EntryFailure, of url: ItemURL) -> Bool {
    guard let first = failure.missingSince, failure.at > first else { return false }
    return HTTPCaching.withdrawal(
      status: 404, missingSince: first, settings: book[url.host].cache,
      now: failure.at) != .keep
  }

  /// Until when the copy serves while its origin fails (RFC 5861 §4 and the job's grace).
  ///
  /// The grace counts from the end of its freshness or from the first failure, whichever is later: a
  /// job that slept for weeks does not lose its pictures to the first hiccup. Of a redirect that may not
  /// be kept nothing is known but the failure: what it led to has the job's grace as well. So has what
  /// stood before a ring of redirects, whose own answers are the failure.
  func servesUntil(_ failure: EntryFailure, of entry: Entry) -> Timestamp {
    let isStrict = book.job.publish?.withdraw == .stale
    let isPartOfFailure = entry.response.map { $0.responseTime >= failure.since } ?? true
    guard !isPartOfFailure, let freshness = freshness(of: entry) else {
      let grace = book[entry.url.host].cache.staleIfError
      return isStrict ? failure.since : failure.since + grace
    }
    if isStrict, !freshness.mayServeStale { return freshness.freshUntil }
    return max(freshness.usableUntil, failure.since + freshness.grace)
  }
}

extension Entry {
  /// Whether names may stand for what its origin once let us keep: a redirect that may not be kept leads
  /// to something.
  fileprivate var mayHaveCopy: Bool {
    lastAnswer != .notStored && (response != nil || lastAnswer == .redirect)
  }
}
