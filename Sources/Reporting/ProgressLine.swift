import Pipeline
import Vocabulary

/// One line on how far a run is, from two moments of it.
package struct ProgressLine: Sendable {
  package let text: String

  /// - Parameters:
  ///   - before: an earlier moment; the rate is counted from there to now.
  ///   - elapsed: between the two.
  package init(
    job: String, now: RunBoard.Snapshot, before: RunBoard.Snapshot, elapsed: Duration
  ) {
    let seconds = max(elapsed.inSeconds, 0.001)
    let rate = Double(now.settled - before.settled) / seconds
    let received = Double(now.traffic.bytesIn - before.traffic.bytesIn) / seconds
    let failed = now.outcomes[.failed, default: 0]
    text =
      "\(job): \(now.settled)/\(now.items) items, \(Self.rounded(rate))/s, "
      + "\(counted(now.traffic.requests, "request")), "
      + "\(ByteSizeText.format(Int(received)))/s, \(now.fetching) fetching, "
      + "\(max(0, now.inFlight - now.fetching)) processing"
      + (failed > 0 ? ", \(failed) failed" : "") + (now.waitsFor.map { "; \($0.words)" } ?? "")
  }

  private static func rounded(_ rate: Double) -> String {
    rate < 10 ? "\((rate * 10).rounded() / 10)" : "\(Int(rate.rounded()))"
  }
}

extension RunWait {
  fileprivate var words: String {
    switch self {
    case .leases(let count, let until):
      "waiting for \(counted(count, "URL")) that another run works on"
        + (until.map { ", if it dies until \($0)" } ?? "")
    case .probe: "waiting for another run that tries whether a host is back"
    }
  }
}
