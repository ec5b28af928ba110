import LedgerCore
import Storage
import Vocabulary

/// Where the walk from an item's URL over its redirects came to.
struct WalkResult: Sendable {
  /// A body, stored already or just received.
  // One object: it holds two entries, which are large.
  final class Bytes: Sendable {
    enum Arrival: Sendable {
      /// Every hop and the entry are within their lifetimes: no request was made.
      case fresh
      /// New bytes, which an earlier claim of this run has stored.
      case shared
      /// The server confirmed the stored copy: 304, or 200 with the same bytes.
      case confirmed
      /// New bytes, in a temporary file until they are committed.
      case received(TemporaryFile)
    }

    /// The entry at the chain's end as it will be; for received bytes `original` lacks what only the
    /// decoder can tell.
    let entry: Entry
    let original: Original
    let arrival: Arrival
    /// The entry as it was before: what stays if the bytes turn out to be no image.
    let previous: Entry

    init(entry: Entry, original: Original, arrival: Arrival, previous: Entry) {
      self.entry = entry
      self.original = original
      self.arrival = arrival
      self.previous = previous
    }
  }

  /// What a failure means for the copy that is still published.
  enum Withdrawal: Sendable {
    /// There is none, as far as is known.
    case nothing
    /// It serves on, until then at most: that is when to look again, if no earlier try is due.
    case keeps(until: Timestamp)
    /// It is taken off the published names; the entry stays.
    case withdraws
  }

  enum End: Sendable {
    case bytes(Bytes)
    /// The server forbids keeping it; every older copy goes.
    case notStored
    case failed(FailureRecord, nextTry: Timestamp, Withdrawal)
    /// It failed recently: no request was made.
    case cooling(FailureRecord, until: Timestamp, Withdrawal)
  }

  var end: End
  /// The URL at fault where it failed.
  var failedAt: ItemURL?
  /// The entries that changed on the way, the one of `Bytes` left out.
  var changes: [EntryChange] = []
  /// Of the redirects' targets that were asked for: the settlement ends them.
  var targets: [Lease] = []
  /// Targets that are asked for without a lease: the chain has come round to who waits for it.
  var unreserved: Set<EntryKey> = []
  /// When the first of the chain's responses turns stale: when the item is to be looked at again.
  var freshUntil: Timestamp = .distantFuture
  var traffic = Traffic()
  /// Whether an original that the ledger names was not in the store.
  var hasLostFiles = false
}

extension WalkResult {
  /// Notes a failure at an entry, whatever else has become of it on the way.
  mutating func note(_ failure: EntryFailure, at entry: Entry) {
    for i in changes.indices.reversed() where changes[i].entry.key == entry.key {
      changes[i].entry.failure = failure
      return
    }
    var entry = entry
    entry.failure = failure
    changes.append(.stored(entry))
  }
}

extension EntryChange {
  fileprivate var entry: Entry {
    get {
      switch self {
      case .stored(let entry), .confirmed(let entry, since: _), .purged(let entry): entry
      }
    }
    set {
      switch self {
      case .stored, .confirmed: self = .stored(newValue)
      case .purged: self = .purged(newValue)
      }
    }
  }
}
