import LedgerCore
import Synchronization
import Vocabulary

/// Whether this process takes the ledger's word for the files of what servers confirm.
final class FileTrust: Sendable {
  /// How long all are looked for once one was missing: others will be, and come up night after night.
  private static let distrust: Duration = .days(1)

  private let lostUntil = Atomic(Int64.min)

  func look(at now: Timestamp) -> FileLook {
    now.milliseconds < lostUntil.load(ordering: .relaxed) ? .all : .sample
  }

  func lose(at now: Timestamp) {
    lostUntil.store((now + Self.distrust).milliseconds, ordering: .relaxed)
  }
}
