import Fetching
import HTTPCaching
import LedgerCore
import Vocabulary

extension CacheSettings {
  /// The entry's new failure: how many in a row it makes, and when to try again.
  func failure(
    _ failure: FailureRecord, status: Int?, head: ResponseHead?, after before: EntryFailure?,
    at now: Timestamp
  ) -> EntryFailure {
    // Nobody was asked for what was postponed: it makes no row of failures longer.
    let wasAsked = failure.code != FetchFailure.postponedCode
    let count = max(1, (before?.count ?? 0) + (wasAsked ? 1 : 0))
    let decision =
      head.map { negativeFreshness(of: $0, settings: self, failuresInARow: count, now: now) }
      ?? .coolingDown(failuresInARow: count, now: now)
    var nextTry = decision.nextTry
    if case .retry(let notBefore?) = failure.disposition, notBefore > nextTry {
      nextTry = notBefore
    }
    return EntryFailure(
      failure: failure, status: status, at: now, count: count, nextTry: nextTry,
      isServersWord: decision.isServersWord, since: before?.since ?? now,
      missingSince: status == 404 ? before?.missingSince ?? now : nil)
  }
}
