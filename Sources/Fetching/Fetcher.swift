// Fetching: what to ask, and when.
//
//   FetchRequest ──► Fetcher ──► HostGates: the host's turn
//    RequestManner      │            └─ HostGate decides, one plain value per host: ratePerHost,
//                       │               Retry-After, AdaptiveLimit (perHost), HostBreaker
//                       ├──► TransferEngine: one attempt
//                       ├──► Attempts: what they come to together
//                       │            ├─ HostSign: what an end says of the host
//                       │            └─ RetryTable: over, or again after Backoff or Retry-After
//   FetchedResponse ◄───┘
//   or FetchFailure: code, sentence, hint, disposition, what was seen
//
// One hop of a chain: redirects are the caller's. Runs in the caller's task; blocks no thread.
// Between two attempts of one URL there is always the end of the first. What is learnt of hosts goes
// out and comes in as HostStanding.

import HTTPTransfer
import Threading
import Vocabulary

/// Fetches single hops with attempts, backoff and manners.
package final class Fetcher: Sendable {
  let engine: TransferEngine
  let gates: HostGates
  let sleeper: any Sleeper
  let clock: WallClock
  private let jitter: @Sendable () -> Double

  /// - Parameter jitter: 0 up to 1, asked once for each backoff.
  package init(
    engine: TransferEngine, sleeper: any Sleeper, clock: WallClock,
    jitter: @escaping @Sendable () -> Double
  ) {
    self.engine = engine
    self.gates = HostGates(sleeper: sleeper)
    self.sleeper = sleeper
    self.clock = clock
    self.jitter = jitter
  }

  /// - Returns: any response that came whole, whatever its status; one that asks for another try
  ///   (429, 503, …) only when the attempts are used up or its Retry-After is longer than a minute.
  /// - Throws: faults of the network, broken or refused responses, limits; a cancelled task.
  // Where its caller runs, like what it calls: changes of executor cost more than a fetch's own work.
  nonisolated(nonsending) package func fetch(
    _ request: FetchRequest
  ) async throws(FetchFailure) -> FetchedResponse {
    let attempts = try Attempts(of: request, by: self)
    if let takeBeginning = request.takeBeginning { attempts.partial = await takeBeginning() }
    do throws(FetchFailure) {
      return try await fetch(attempts)
    } catch {
      attempts.partial?.keep()
      throw error
    }
  }

  nonisolated(nonsending) private func fetch(
    _ attempts: Attempts
  ) async throws(FetchFailure) -> FetchedResponse {
    while true {
      switch await attempts.attempt() {
      case .over: return try attempts.result()
      case .againAfterHold: break  // the gate makes everybody wait
      case .againAfterBackoff: try await backOff(attempts)
      }
    }
  }

  nonisolated(nonsending) private func backOff(_ attempts: Attempts) async throws(FetchFailure) {
    let settings = attempts.request.settings
    let backoff = Backoff(initial: settings.backoffInitial, max: settings.backoffMax)
    let wait = backoff.wait(after: attempts.effort.attempts, jitter: jitter())
    let start = sleeper.now
    do throws(CancellationError) {
      try await sleeper.sleep(until: start + wait)
    } catch {
      throw .cancelled(attempts.request.url, effort: attempts.effort)
    }
    attempts.effort.waited += sleeper.now - start
  }

  /// Ends who waits for a host's turn and may not begin any more (`FetchRequest.mayBegin`): a line that
  /// moves by the rate or waits for a server's hold would end them one after another, or late. Whoever comes
  /// later finds out by itself.
  package func sendAway() { gates.sendAway() }

  func wallTime(of time: Duration) -> Timestamp {
    Timestamp(milliseconds: clock.milliseconds()) + (time - sleeper.now)
  }
}
