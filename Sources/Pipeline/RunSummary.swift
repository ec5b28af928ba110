import Vocabulary

/// What one run did: the counts that its summary shows.
package struct RunSummary: Sendable, Hashable {
  package struct ErrorCount: Sendable, Hashable {
    package var count: Int
    /// One of the items, for people who look for the reason.
    package var exampleItem: String
    package var exampleMessage: String
    package var hint: String
    /// Of the URLs that failed; none of what has none.
    package var hosts = HostTally()
  }

  /// What a decoder remarked on pictures of which all variants were made all the same.
  package struct Remark: Sendable, Hashable {
    /// Of originals.
    package var count: Int
    package var exampleItem: String
  }

  /// Nil: it could not begin.
  package var run: Int64?
  package var job: String
  package var started: Timestamp
  package var finished: Timestamp
  package var items: Int
  /// Each outcome, zero included; with `pending` they add up to `items`.
  package var outcomes: [Outcome: Int]
  /// Not tried, because the run was stopped or limited.
  package var pending: Int
  package var traffic: Traffic
  /// Of the items that were looked at and failed or are cooling: those whose older copy goes on serving.
  package var staleKept = 0
  /// Of objects that were new to the store.
  package var bytesStored: Int
  package var variantsMade: Int
  package var warnings: Int
  /// By their text; of a run with very many different ones only the first.
  package var remarks: [String: Remark]
  package var errors: [String: ErrorCount]
  /// Why the run ended before its time; nil where it did not.
  package var stoppedBy: FailureRecord?
  /// The job was paused or cancelled: what was under way has ended, nothing more began.
  package var calledOff: FailureRecord?
  package var isInterrupted: Bool
  /// Of the manifest's sources that could not be read as they are now: their items stayed as they were.
  package var sourceFailures: [FailureRecord] = []

  /// The share of items that are failed or cooling, 0 to 1.
  package var failedShare: Double {
    let bad = outcomes[.failed, default: 0] + outcomes[.cooling, default: 0]
    return items == 0 ? 0 : Double(bad) / Double(items)
  }
}

/// What went over the wire.
package struct Traffic: Sendable, Hashable {
  package var requests = 0
  /// Those of the requests that repeated one.
  package var retries = 0
  package var bytesIn = 0

  package init() {}

  static func += (sum: inout Traffic, other: Traffic) {
    sum.requests += other.requests
    sum.retries += other.retries
    sum.bytesIn += other.bytesIn
  }
}
