import Fetching
import LedgerCore
import Synchronization
import Threading
import Vocabulary

/// Shares what is learnt of hosts with other runs and processes, by way of the ledger, and tells which
/// hosts a run asks for nothing now.
///
/// It looks about once a second: what changed here is written down, what others wrote is taken over. So
/// a Retry-After that one process has met holds another within that time, and a process that is killed
/// takes no more than its last second along.
final class HostWatch: Sendable {
  private struct State {
    /// As the ledger has it, as far as we have looked.
    var known: [String: HostStanding] = [:]
    var revision: Int64 = 0
    var pauses: [String: HostPause] = [:]
    /// Hosts that a claim of ours is trying.
    var ownProbes: Set<String> = []
    /// Hosts that another run is trying, and until when it may.
    var foreignProbes: [String: Timestamp] = [:]
  }

  private let worker: Worker
  private let run: RunNumber
  private let state = Mutex(State())

  static let interval: Duration = .seconds(1)
  /// A probe that brings no answer for so long is another run's turn.
  private static let probeTime: Duration = .seconds(30)

  init(worker: Worker, run: RunNumber) {
    self.worker = worker
    self.run = run
  }

  // MARK: Sharing

  /// - Parameter endsPauses: whether hosts that could not be reached are tried at once.
  func begin(endsPauses: Bool) async throws(LedgerFailure) {
    try await look()
    guard endsPauses else { return }
    worker.fetcher.endPauses()
    refreshPauses()
  }

  func keepLooking() async {
    while (try? await worker.sleeper.sleep(for: Self.interval)) != nil {  // ends by cancellation
      // What could not be written is written at the next look; that the ledger fails, claims tell.
      try? await look()
    }
  }

  func look() async throws(LedgerFailure) {
    let standings = worker.fetcher.standings
    let now = worker.now
    let news = state.withLock { state in
      standings.filter { !$0.value.isNearly(state.known[$0.key], at: now) }
    }
    if !news.isEmpty {
      try await worker.ledger.note(news, at: now)
      state.withLock { $0.known.merge(news) { $1 } }
    }
    try await takeOver()
    refreshPauses()
  }

  private func takeOver() async throws(LedgerFailure) {
    var revision = state.withLock { $0.revision }
    while case let (hosts, next) = try await worker.ledger.standings(after: revision),
      next > revision
    {
      revision = next
      let now = worker.now
      worker.fetcher.adopt(hosts.mapValues { $0.believed(at: now) })
      state.withLock { state in
        state.revision = next
        state.known.merge(hosts) { $1 }
        for (host, standing) in hosts {
          state.foreignProbes[host] = nil
          if standing.isWell(at: now) { state.known[host] = nil }
        }
      }
    }
  }

  // MARK: Who is asked

  /// To be called when a transfer was sent away.
  func refreshPauses() {
    let pauses = worker.fetcher.pauses
    state.withLock { $0.pauses = pauses }
  }

  /// How many more of a host's entries may be claimed; hosts that are asked as usual are left out.
  ///
  /// Of a host that is left alone any number: nobody is asked, so they take no place. Of one whose pause
  /// is over, a single one, which tries it.
  func room(atMost free: Int) -> [String: Int] {
    let now = worker.now
    return state.withLock { state in
      var room: [String: Int] = [:]
      for (host, pause) in state.pauses {
        if pause.until > now {
          room[host] = free
        } else if pause.unreachable != nil {
          let isTried =
            state.ownProbes.contains(host) || state.foreignProbes[host].map { $0 > now } ?? false
          room[host] = isTried ? 0 : 1
        }
      }
      return room
    }
  }

  /// Whether another run is trying a host.
  var waitsForProbe: Bool {
    let now = worker.now
    return state.withLock { $0.foreignProbes.values.contains { $0 > now } }
  }

  /// Whether any host is left alone, or has just been.
  var hasPauses: Bool { state.withLock { !$0.pauses.isEmpty } }

  /// - Returns: false where another run is trying the host of a claim: it is to be given back.
  func mayAsk(_ host: String) async throws(LedgerFailure) -> Bool {
    let now = worker.now
    let isProbe = state.withLock { state in
      state.pauses[host].map { $0.unreachable != nil && $0.until <= now } ?? false
    }
    guard isProbe else { return true }
    let other = try await worker.ledger.beginProbe(
      of: host, by: run, until: now + Self.probeTime, at: now)
    state.withLock { state in
      if let other { state.foreignProbes[host] = other } else { state.ownProbes.insert(host) }
    }
    return other == nil
  }

  /// A claim needs its host no more: where it was trying it, it knows by now.
  func claimHasAsked(_ host: String) {
    guard state.withLock({ !$0.ownProbes.isEmpty && $0.ownProbes.contains(host) }) else { return }
    refreshPauses()  // first, so that no other is sent after it
    state.withLock { _ = $0.ownProbes.remove(host) }
  }
}

extension HostStanding {
  /// Whether writing it down would tell nothing new. Times come from another clock's and differ a little
  /// each time.
  fileprivate func isNearly(_ known: HostStanding?, at now: Timestamp) -> Bool {
    guard let known else { return isWell(at: now) }
    return limit == known.limit && failuresInARow == known.failuresInARow
      && Self.isNear(heldUntil, known.heldUntil, at: now)
      && Self.isNear(brokenUntil, known.brokenUntil, at: now)
  }

  /// What has passed is as good as nothing.
  private static func isNear(_ a: Timestamp?, _ b: Timestamp?, at now: Timestamp) -> Bool {
    let (a, b) = (max(a ?? now, now), max(b ?? now, now))
    return a - b < .seconds(1) && b - a < .seconds(1)
  }
}
