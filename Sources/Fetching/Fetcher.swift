// Fetching: what to ask, and when.
//
//   FetchRequest ──► Fetcher ──► HostGates: the host's turn
//                       │            └─ HostGate decides, one plain value per host: ratePerHost,
//                       │               Retry-After, AdaptiveLimit (perHost), HostBreaker
//                       ├──► TransferEngine: one attempt
//                       │            ├─ HostSign: what its end says of the host
//                       │            └─ RetryTable: over, or again after Backoff or Retry-After
//   FetchedResponse ◄───┘
//   or FetchFailure: code, sentence, hint, disposition, what was seen
//
// One hop of a chain: redirects are the caller's. Runs in the caller's task; blocks no thread.
// Between two attempts of one URL there is always the end of the first. What is learnt of hosts goes
// out and comes in as HostStanding.

import HTTPCaching
import HTTPTransfer
import Threading
import Vocabulary

/// Fetches single hops with attempts, backoff and manners.
package final class Fetcher: Sendable {
  private let engine: TransferEngine
  let gates: HostGates
  private let requestFields = RequestFieldsCache()
  private let sleeper: any Sleeper
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
    var partial = await request.takeBeginning()
    do throws(FetchFailure) {
      return try await fetch(request, continuing: &partial)
    } catch {
      partial?.keep()
      throw error
    }
  }

  /// - Parameter partial: of the body, from an earlier process; then what this one has come to.
  private func fetch(
    _ request: FetchRequest, continuing partial: inout PartialBody?
  ) async throws(FetchFailure) -> FetchedResponse {
    let fields = try requestFields.fields(for: request)
    var effort = FetchEffort()
    var deadline = request.deadline
    var former: Ended?
    while true {
      let ticket: HostGate.Ticket
      let turn = await gates.enter(
        request.url.host, parallel: request.settings.perHost,
        spacing: request.settings.startSpacing)
      effort.waited += turn.waited
      switch turn.admission {
      case .started(let given):
        guard effort.requests > 0 || request.mayBegin() else {
          gates.leave(request.url.host, given, .none)
          throw .cancelled(request.url, effort: effort)
        }
        ticket = given
      case .cancelled: throw .cancelled(request.url, effort: effort)
      case .postponed(let refusal):
        return try postponed(request.url, refusal, former, effort).get()
      }
      let limit = deadline ?? turn.now - turn.waited + request.settings.timeout
      deadline = limit
      let left = limit + effort.waited - turn.now
      let report = await attempt(request, fields, continuing: partial, within: left)
      effort.count(report)
      let sign = HostSign(report, hadItsTime: left >= request.settings.timeout)
      // It holds until the server says anything else.
      let beginning = report.partial ?? (report.status == nil ? partial : nil)
      let verdict = judge(
        report, continuing: partial, request, fields, effort, limit: limit + effort.waited)
      partial = beginning
      // After a hold that the response may have brought.
      gates.leave(request.url.host, ticket, sign)
      switch verdict {
      case .over(let ended): return try ended.get()
      case .againAfterHold(let ended): former = ended  // the gate makes everybody wait
      case .againAfterBackoff(let ended):
        former = ended
        try await backOff(request, &effort)
      }
    }
  }

  // MARK: One attempt

  nonisolated(nonsending) private func attempt(
    _ request: FetchRequest, _ fields: RequestFields, continuing partial: PartialBody?,
    within left: Duration
  ) async -> ExchangeReport {
    let outOfTime = TransferFault.timeout(.whole(request.settings.timeout))
    guard left > .zero else { return ExchangeReport(unstarted: outOfTime) }
    var report = await engine.perform(
      exchange(for: request, fields, continuing: partial, within: left))
    // What was left of it means nothing to the user, who has set the whole.
    if case .timeout(.whole) = report.fault { report.fault = outOfTime }
    return report
  }

  private func exchange(
    for request: FetchRequest, _ fields: RequestFields, continuing partial: PartialBody?,
    within left: Duration
  ) -> ExchangeRequest {
    let settings = request.settings
    var exchange = ExchangeRequest(
      url: request.url, fields: fields.sent, guarding: AddressGuard(allow: settings.allow),
      connectTimeout: settings.connectTimeout, idleTimeout: settings.idleTimeout,
      timeout: min(settings.timeout, left), maxBytes: settings.maxBytes,
      clock: clock, makeSink: request.makeSink)
    exchange.proxy = settings.proxy
    exchange.caFile = settings.caFile
    if let partial {
      exchange.fields += partial.requestFields
      exchange.partial = partial
    }
    return exchange
  }

  // MARK: What follows

  /// How an attempt ended.
  private typealias Ended = Result<FetchedResponse, FetchFailure>

  private enum Verdict {
    case over(Ended)
    case againAfterBackoff(Ended)
    case againAfterHold(Ended)
  }

  private func judge(
    _ report: consuming ExchangeReport, continuing partial: PartialBody?, _ request: FetchRequest,
    _ fields: RequestFields, _ effort: FetchEffort, limit: Duration
  ) -> Verdict {
    // What an earlier process left may be of no use any more: this one's attempts are for the whole.
    let startsOver =
      partial != nil && effort.attempts == 1 && report.status != nil && report.partial == nil
    let isLast = effort.attempts >= request.settings.attempts && !startsOver
    guard let fault = report.fault else {
      var response = FetchedResponse(report, fields, effort: effort)
      if let partial, response.status == 206, response.body != nil {
        response.status = 200
        response.fields = partial.fields.completed(by: response.fields)
      }
      let asksForWhole = partial != nil && response.body == nil && response.status != 304
      return judge(
        response, of: request.url.host, isLast: isLast, asksForWhole: asksForWhole)
    }
    let failure = FetchFailure(fault, of: request.url, report: report, effort: effort)
    let isOver = isLast || !RetryTable.isRetriedWithinRun(fault) || sleeper.now >= limit
    return isOver ? .over(.failure(failure)) : .againAfterBackoff(.failure(failure))
  }

  private func judge(
    _ response: FetchedResponse, of host: String, isLast: Bool, asksForWhole: Bool
  ) -> Verdict {
    guard RetryTable.isRetriedWithinRun(status: response.status) || asksForWhole else {
      return .over(.success(response))
    }
    let now = Timestamp(milliseconds: clock.milliseconds())
    guard let time = RetryTable.retryAfter(response.fields, now: now), time > now else {
      return isLast ? .over(.success(response)) : .againAfterBackoff(.success(response))
    }
    gates.hold(host, until: sleeper.now + (time - now))
    guard isLast || time - now > HostGate.longestWait else {
      return .againAfterHold(.success(response))
    }
    var response = response
    response.notBefore = time
    return .over(.success(response))
  }

  /// The host is left alone from now on: what an earlier attempt has brought says more than that.
  private func postponed(
    _ url: ItemURL, _ refusal: HostGate.Refusal, _ former: Ended?, _ effort: FetchEffort
  ) -> Ended {
    let until = wallTime(of: refusal.until)
    switch former {
    case .success(var response):
      response.notBefore = max(until, response.notBefore ?? until)
      response.effort = effort
      return .success(response)
    case .failure(var failure):
      failure.disposition = .retry(notBefore: until)
      failure.effort = effort
      return .failure(failure)
    case nil:
      return .failure(
        .postponed(url, until: until, unreachable: refusal.unreachable, effort: effort))
    }
  }

  nonisolated(nonsending) private func backOff(
    _ request: FetchRequest, _ effort: inout FetchEffort
  ) async throws(FetchFailure) {
    let settings = request.settings
    let backoff = Backoff(initial: settings.backoffInitial, max: settings.backoffMax)
    let wait = backoff.wait(after: effort.attempts, jitter: jitter())
    let start = sleeper.now
    do throws(CancellationError) {
      try await sleeper.sleep(until: start + wait)
    } catch {
      throw .cancelled(request.url, effort: effort)
    }
    effort.waited += sleeper.now - start
  }

  private func wallTime(of time: Duration) -> Timestamp {
    Timestamp(milliseconds: clock.milliseconds()) + (time - sleeper.now)
  }
}

extension FetchEffort {
  fileprivate mutating func count(_ report: ExchangeReport) {
    attempts += 1
    requests += report.requests
    bytesIn += report.bytesIn
    waited += report.queued
  }
}

extension FetchedResponse {
  /// - Parameter report: of an exchange without fault: it has a head.
  fileprivate init(_ report: consuming ExchangeReport, _ sent: RequestFields, effort: FetchEffort) {
    self.init(
      status: report.status!, fields: report.fields, requestTime: report.requestTime!,
      responseTime: report.responseTime!, requestFields: sent.kept,
      hadAuthorization: sent.hasAuthorization, body: report.body, firstBytes: report.firstBytes,
      address: report.address, notBefore: nil, effort: effort)
  }
}
