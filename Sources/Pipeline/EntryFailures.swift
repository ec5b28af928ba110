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
    let count = failuresInARow(with: failure, after: before)
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

  /// Nobody was asked for what was postponed: it makes no row of failures longer, nor begins one.
  private func failuresInARow(with failure: FailureRecord, after before: EntryFailure?) -> Int {
    guard let before else { return 1 }
    if failure.code == FetchFailure.postponedCode { return before.count }
    let hasRow = before.count > 1 || before.failure.code != FetchFailure.postponedCode
    return hasRow ? before.count + 1 : 1
  }
}
