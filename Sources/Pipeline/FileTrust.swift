import LedgerCore
import Synchronization

/// Whether a run takes the ledger's word for the files of what servers confirm. Once one was missing it looks
/// for all of them, to its end.
final class FileTrust: Sendable {
  private let isLost: Atomic<Bool>

  /// - Parameter isGiven: false where all is to be looked for from the start.
  init(isGiven: Bool) { isLost = Atomic(!isGiven) }

  var look: FileLook { isLost.load(ordering: .relaxed) ? .all : .sample }

  func lose() { isLost.store(true, ordering: .relaxed) }
}
