/// What every error that can end an item or a run says of itself.
///
/// Code branches on `code` and `disposition`; `message` and `hint` are for people.
package protocol WorkerFailure: Error, Sendable {
  /// Stable, short, kebab-case, listed in the README: `too-large`.
  var code: String { get }
  /// What happened, with the values that matter, secrets removed.
  var message: String { get }
  /// An instruction to the reader; empty where there is nothing to do.
  var hint: String { get }
  var disposition: Disposition { get }
}

/// What is to become of the work that failed.
package enum Disposition: Sendable, Hashable {
  /// It may go well later. `notBefore` is what a server asked for (Retry-After).
  case retry(notBefore: Timestamp?)
  /// Asking again would give the same: bytes or settings must change first.
  case giveUp
  /// The environment failed (disk full, ledger unreadable): no other item would fare better.
  case stopRun
}

/// A failure as it is kept in the ledger: values, no live objects.
package struct FailureRecord: Sendable, Hashable, WorkerFailure {
  package var code: String
  package var message: String
  package var hint: String
  package var disposition: Disposition

  package init(code: String, message: String, hint: String, disposition: Disposition) {
    self.code = code
    self.message = message
    self.hint = hint
    self.disposition = disposition
  }

  package init(_ failure: any WorkerFailure) {
    self.init(
      code: failure.code, message: failure.message, hint: failure.hint,
      disposition: failure.disposition)
  }
}

/// How one item of a run ended. Each item ends in exactly one; the counts add up to the items.
package enum Outcome: String, Sendable, Hashable, CaseIterable {
  /// Within its lifetime: no request was made.
  case fresh
  /// New bytes came, its variants were made.
  case fetched
  /// The server confirmed the stored copy (304, or 200 with the same bytes): only the expiry moved.
  case revalidated
  /// No request, but variants were made from the stored original.
  case rebuilt
  /// The server forbids storing it: nothing of it is kept.
  case notStored = "not_stored"
  /// With an error and the time of the next try; a stale copy, if there is one, still serves.
  case failed
  /// It failed recently and its cool-down is not over: no request was made.
  case cooling
}
