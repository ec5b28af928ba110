import Glibc
import Synchronization

/// A place between two steps, of which the first must be worth something without the second.
///
/// A debug build kills itself there, as a power cut would, where the environment says so:
/// `THUMBWORKER_CRASH_AT=object-named:2` at the second time that the place is come to. In a release build
/// `reached` is empty and the variable means nothing.
package enum CrashSeam: String, Sendable, Hashable, CaseIterable {
  // A manifest on its way into the ledger

  /// A part of the items is entered; the manifest counts as not read yet.
  case itemsEntered = "items-entered"
  /// All items of a store that was not known are due; the store is not known yet.
  case storeChecked = "store-checked"

  // A body on its way to its names

  /// It is whole in `tmp/`; nothing was made of it.
  case bodyReceived = "body-received"
  /// Its variants are written in `tmp/` as well; nothing is synced.
  case variantsRendered = "variants-rendered"
  /// The bytes of a group are on disk; none has its object's name.
  case bytesSynced = "bytes-synced"
  /// An object has its name; those after it in its group, such as an original's variants, have not.
  case objectNamed = "object-named"
  /// A claim's objects are whole and durable; the ledger knows none of them.
  case objectsDurable = "objects-durable"
  /// A settlement is written; its transaction is not committed.
  case settlementWritten = "settlement-written"
  /// It is committed; its names are not made.
  case settlementCommitted = "settlement-committed"
  /// The new file of a name stands in `tmp/`, to take the old one's place.
  case linkPrepared = "link-prepared"
  /// A name is made; those after it are not, and it may not last.
  case namePublished = "name-published"
  /// A claim's names are made and durable; the ledger does not know that.
  case namesDurable = "names-durable"

  // What goes

  /// The ledger has forgotten entries; their names and files are there.
  case entriesForgotten = "entries-forgotten"
  /// Objects that nothing refers to are to go; their files are there.
  case objectsLetGo = "objects-let-go"
  /// Their files are deleted; the ledger does not know that.
  case objectsRemoved = "objects-removed"

  /// A damaged object is put aside; the items that rest on it are not due, its names stand.
  case objectPutAside = "object-put-aside"

  // The ledger's schema

  /// A step to a newer one is written; it is not committed.
  case migrationWritten = "migration-written"
  /// It is committed; the next one is not begun.
  case migrationCommitted = "migration-committed"

  #if DEBUG
    private static let plan = Plan(getenv("THUMBWORKER_CRASH_AT").map { String(cString: $0) })

    private struct Plan: Sendable {
      var seam: CrashSeam
      /// The first is 1.
      var time: Int

      init?(_ text: String?) {
        guard let parts = text?.split(separator: ":"), let first = parts.first,
          let seam = CrashSeam(rawValue: String(first))
        else { return nil }
        self.seam = seam
        time = parts.dropFirst().first.flatMap { Int($0) } ?? 1
      }
    }

    private static let timesReached = Atomic(0)

    package func reached() {
      guard let plan = Self.plan, plan.seam == self else { return }
      let time = Self.timesReached.wrappingAdd(1, ordering: .relaxed).newValue
      if time == plan.time { kill(getpid(), SIGKILL) }
    }
  #else
    @inlinable package func reached() {}
  #endif
}
