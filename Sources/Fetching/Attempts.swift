import HTTPCaching
import HTTPTransfer
import Threading
import Vocabulary

/// What the attempts of one hop come to. It belongs to the task that fetches; nobody else sees it.
// What is large stands here and on the stack of its functions, which are not inlined. In the fetching
// function it would be part of the task's frame, and there are hundreds of tasks at a time: those that
// allocate and touch many kilobytes each cost several times the work itself.
final class Attempts {
  let request: FetchRequest
  var effort = FetchEffort()
  /// Of the body, from an earlier process; then what this one has come to.
  var partial: PartialBody?
  /// For the attempt that has begun, of the time that the whole may take.
  private var left: Duration = .zero
  var hasTime: Bool { left > .zero }

  private let fetcher: Fetcher
  private let fields: RequestFields
  private let outOfTime: TransferFault
  private var deadline: Duration?
  private var ticket: HostGate.Ticket?
  /// How the last attempt ended.
  private var ended: Ended?

  private typealias Ended = Result<FetchedResponse, FetchFailure>

  enum Verdict {
    case over, againAfterBackoff, againAfterHold
  }

  /// - Throws: `bad-header`.
  @inline(never)
  init(of request: FetchRequest, by fetcher: Fetcher) throws(FetchFailure) {
    self.request = request
    self.fetcher = fetcher
    fields = try request.manner.fields(for: request)
    outOfTime = .timeout(.whole(request.settings.timeout))
    deadline = request.deadline
  }

  @inline(never)
  func result() throws(FetchFailure) -> FetchedResponse { try ended!.get() }

  // MARK: One attempt

  /// - Returns: false where nothing is to be asked: then there is a result.
  @inline(never)
  func begin(_ turn: HostGates.Turn) throws(FetchFailure) -> Bool {
    effort.waited += turn.waited
    switch turn.admission {
    case .started(let given):
      guard effort.requests > 0 || request.mayBegin() else {
        fetcher.gates.leave(request.url.host, given, .none)
        throw .cancelled(request.url, effort: effort)
      }
      ticket = given
    case .cancelled: throw .cancelled(request.url, effort: effort)
    case .postponed(let refusal):
      ended = postponed(refusal)
      return false
    }
    let limit = deadline ?? turn.now - turn.waited + request.settings.timeout
    deadline = limit
    left = limit + effort.waited - turn.now
    return true
  }

  @inline(never)
  func exchange() -> ExchangeRequest {
    let settings = request.settings
    var exchange = ExchangeRequest(
      url: request.url, fields: fields.sent, guarding: AddressGuard(allow: settings.allow),
      connectTimeout: settings.connectTimeout, idleTimeout: settings.idleTimeout,
      timeout: min(settings.timeout, left), maxBytes: settings.maxBytes,
      clock: fetcher.clock, makeSink: request.makeSink)
    exchange.proxy = settings.proxy
    exchange.caFile = settings.caFile
    if let partial {
      exchange.fields += partial.requestFields
      exchange.partial = partial
    }
    return exchange
  }

  /// Gives the host's turn back, where there was no time for an exchange.
  @inline(never)
  func endWithoutExchange() -> Verdict { end(ExchangeReport(unstarted: outOfTime)) }

  /// Gives the host's turn back.
  @inline(never)
  func end(_ report: consuming ExchangeReport) -> Verdict {
    // What was left of it means nothing to the user, who has set the whole.
    if case .timeout(.whole) = report.fault { report.fault = outOfTime }
    effort.count(report)
    let sign = HostSign(report, hadItsTime: left >= request.settings.timeout)
    // It holds until the server says anything else.
    let beginning = report.partial ?? (report.status == nil ? partial : nil)
    let verdict = judge(report)
    partial = beginning
    // After a hold that the response may have brought.
    fetcher.gates.leave(request.url.host, ticket!, sign)
    return verdict
  }

  // MARK: What follows

  private func judge(_ report: borrowing ExchangeReport) -> Verdict {
    // What an earlier process left may be of no use any more: this one's attempts are for the whole.
    let startsOver =
      partial != nil && effort.attempts == 1 && report.status != nil && report.partial == nil
    let isLast = effort.attempts >= request.settings.attempts && !startsOver
    guard let fault = report.fault else {
      let response = FetchedResponse(report, fields, completing: partial, effort: effort)
      let asksForWhole = partial != nil && response.body == nil && response.status != 304
      return judge(response, isLast: isLast, asksForWhole: asksForWhole)
    }
    ended = .failure(FetchFailure(fault, of: request.url, report: copy report, effort: effort))
    let isOver =
      isLast || !RetryTable.isRetriedWithinRun(fault)
      || fetcher.sleeper.now >= deadline! + effort.waited
    return isOver ? .over : .againAfterBackoff
  }

  private func judge(
    _ response: FetchedResponse, isLast: Bool, asksForWhole: Bool
  ) -> Verdict {
    ended = .success(response)
    guard RetryTable.isRetriedWithinRun(status: response.status) || asksForWhole else {
      return .over
    }
    let now = Timestamp(milliseconds: fetcher.clock.milliseconds())
    guard let time = RetryTable.retryAfter(response.fields, now: now), time > now else {
      return isLast ? .over : .againAfterBackoff
    }
    fetcher.gates.hold(request.url.host, until: fetcher.sleeper.now + (time - now))
    guard isLast || time - now > HostGate.longestWait else { return .againAfterHold }
    ended = .success(FetchedResponse(response, notBefore: time, effort: response.effort))
    return .over
  }

  /// The host is left alone from now on: what an earlier attempt has brought says more than that.
  private func postponed(_ refusal: HostGate.Refusal) -> Ended {
    let until = fetcher.wallTime(of: refusal.until)
    switch ended {
    case .success(let response):
      return .success(
        FetchedResponse(
          response, notBefore: max(until, response.notBefore ?? until), effort: effort))
    case .failure(var failure):
      failure.disposition = .retry(notBefore: until)
      failure.effort = effort
      return .failure(failure)
    case nil:
      return .failure(
        .postponed(request.url, until: until, unreachable: refusal.unreachable, effort: effort))
    }
  }
}

extension FetchEffort {
  fileprivate mutating func count(_ report: borrowing ExchangeReport) {
    attempts += 1
    requests += report.requests
    bytesIn += report.bytesIn
    waited += report.queued
  }
}
