import HTTPCaching
import LedgerCore
import Vocabulary

/// All that is known of one URL, gathered for whoever asks why it is as it is.
package struct EntryStory: Sendable {
  /// One entry of the chain as a job sees it: what its server said, under that job's settings.
  package struct Hop: Sendable {
    package var entry: Entry
    /// Nil without a response.
    package var freshness: Freshness?
    /// Its lines that decided, as received.
    package var decidingLines: HTTPFields
    /// What a run would do with it now.
    package var verdict: EntryVerdict
    /// The field that `Vary` names and that a request would now send with another value.
    package var mismatchedField: String?
    /// How old the response is now (RFC 9111 §4.2.3 `current_age`).
    package var currentAge: Duration?
    /// When a failure is tried again under the job's settings.
    package var nextTry: Timestamp?
    /// Until when the copy serves while the origin goes on failing; nil while it does not fail.
    package var servesUntil: Timestamp?
    /// Whether a second 404 has confirmed the first.
    package var isConfirmedMissing = false
  }

  /// How one job sees the URL.
  package struct View: Sendable {
    /// Nil: no job names the URL; the defaults are applied.
    package var job: String?
    package var settings: JobSettings
    /// The entry of the URL itself, then those its redirects lead to, as far as they are known.
    package var hops: [Hop]

    /// Of the entry with the bytes; nil without a response.
    package var freshness: Freshness? { hops.last?.freshness }

    /// Of the whole chain: the least of its hops'.
    package var freshUntil: Timestamp? {
      guard let last = hops.last, last.freshness != nil else { return nil }
      return hops.compactMap { $0.freshness?.freshUntil }.min()
    }

    package var isFresh: Bool { nextStep.isFresh }

    /// What the next run does first.
    package var nextStep: NextStep {
      guard let hop = hops.first(where: { !$0.verdict.isFresh }) ?? hops.last else {
        return .download
      }
      switch hop.verdict {
      case .fresh(let until):
        if let target = hop.entry.redirectTarget { return .downloadTarget(target) }
        return .nothing(until: min(until, freshUntil ?? until))
      case .cooling(let failure, let until), .failed(let failure, let until):
        return .wait(hop, failure, until: until)
      case .notStored: return .download  // said within a run only
      case .asks(let reason, let conditions): return .ask(hop, reason, conditions)
      }
    }
  }

  /// What a run does next with a URL.
  package enum NextStep: Sendable {
    /// No request: everything is fresh.
    case nothing(until: Timestamp)
    /// No request: it failed recently.
    case wait(Hop, EntryFailure, until: Timestamp)
    case ask(Hop, EntryVerdict.Reason, HTTPFields)
    /// Nothing is known of the URL yet.
    case download
    /// Nothing is known yet of what a fresh redirect leads to.
    case downloadTarget(ItemURL)

    var isFresh: Bool { if case .nothing = self { true } else { false } }
  }

  package enum State: String, Sendable {
    case fresh, stale, failed, absent
  }

  package var url: ItemURL
  /// The entry of the URL itself, then those its redirects lead to.
  package var chain: [Entry]
  /// One for each job, or one with the defaults.
  package var views: [View]
  package var items: [ItemView]
  package var variants: [VariantRecord]
  /// By which the variants were made, those of earlier ones aside.
  package var encoders: EncoderVersions
  package var now: Timestamp

  /// Where the chain ends.
  package var last: Entry? { chain.last }

  /// The failure nearest to the bytes.
  package var failure: EntryFailure? { chain.last { $0.failure != nil }?.failure }

  /// An item that failed though its server answered well: no picture can be made of the bytes.
  package var failedItem: ItemView? {
    failure == nil ? items.first { $0.state == .failed && $0.failure != nil } : nil
  }

  package var state: State {
    if failure != nil || failedItem != nil { return .failed }
    if last?.original == nil { return .absent }
    return views.allSatisfy(\.isFresh) ? .fresh : .stale
  }
}

extension EntryVerdict {
  var isFresh: Bool { if case .fresh = self { true } else { false } }
  var asks: Bool { if case .asks = self { true } else { false } }
}
