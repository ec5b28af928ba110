import HTTPCaching
import HTTPTransfer
import Threading
import Vocabulary

/// What the attempts of one hop come to.
///
/// A task that waits for its host's turn and then for its exchange is not woken between them: whoever makes
/// way at the gate starts the exchange, and the transfer thread gives the turn back at its end, so that the
/// next one's request leaves before any task has had a thread.
// What is large stands here and on the stack of its functions, which are not inlined. In the fetching
// function it would be part of the task's frame, and there are hundreds of tasks at a time: those that
// allocate and touch many kilobytes each cost several times the work itself.
// Unchecked: it passes from its task to whoever lets it in, to the transfer thread and back, and is one's
// at a time. The gates' lock, the engine's inbox and the continuation stand between them.
final class Attempts: @unchecked Sendable {
  let request: FetchRequest
  var effort = FetchEffort()
  /// Of the body, from an earlier process; then what this one has come to.
  var partial: PartialBody?

  private let fetcher: Fetcher
  private let fields: RequestFields
  private let outOfTime: TransferFault
  private var deadline: Duration?
  /// How the last attempt ended.
  private var ended: Ended?

  // Of the attempt under way.
  private var exchange: Exchange?
  private var enteredAt: Duration = .zero
  /// Of the time that the whole may take.
  private var left: Duration = .zero
  private var ticket: HostGate.Ticket?
  /// Why it was let in and did not start.
  private var unstarted: TransferFault?
  private var verdict: Verdict?
  /// Whether nothing was sent before it. It stays as it is while it waits in line.
  private var isFirst = true

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

  /// Waits for the host's turn and makes an exchange. Cancelling the task ends it wherever it stands.
  nonisolated(nonsending) func attempt() async -> Verdict {
    let (exchange, ticket) = prepare()
    let (fetcher, host) = (fetcher, request.url.host)
    let cancel: @Sendable () -> Void = {
      // What has not begun finds the mark when it begins.
      fetcher.engine.cancel(exchange)
      fetcher.gates.cancel(host, ticket)
    }
    await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        exchange.tellAtEnd(continuation)
        fetcher.gates.enter(host, ticket, self)
        // The handler may have run before the ticket was in line.
        if Task.isCancelled { cancel() }
      }
    } onCancel: {
      cancel()
    }
    return finish()
  }

  @inline(never)
  private func finish() -> Verdict {
    exchange = nil
    return verdict ?? endUnstarted()
  }

  @inline(never)
  private func prepare() -> (Exchange, HostGate.Ticket) {
    enteredAt = fetcher.sleeper.now
    let limit = deadline ?? enteredAt + request.settings.timeout
    deadline = limit
    // How long it waits in line takes nothing away.
    left = limit + effort.waited - enteredAt
    (ticket, unstarted, verdict) = (nil, nil, nil)
    isFirst = effort.requests == 0
    let exchange = Exchange(exchangeRequest()) { [self] report in verdict = end(report) }
    self.exchange = exchange
    let ticket = fetcher.gates.ticket(
      parallel: request.settings.perHost, spacing: request.manner.startSpacing)
    return (exchange, ticket)
  }

  private func exchangeRequest() -> ExchangeRequest {
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

  /// Of an attempt that came to no exchange: gives its turn back, if it had one.
  @inline(never)
  private func endUnstarted() -> Verdict {
    if let unstarted { return end(ExchangeReport(unstarted: unstarted)) }
    if let ticket { fetcher.gates.leave(request.url.host, ticket, .none) }
    return .over
  }

  /// Gives the host's turn back.
  private func end(_ report: consuming ExchangeReport) -> Verdict {
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

extension Attempts: GateWaiter {
  var mayStart: Bool { !isFirst || request.mayBegin() }

  func isAdmitted(_ admission: HostGates.Admission, at now: Duration) {
    // Whoever made way may have looked at the clock before this one came.
    effort.waited += max(.zero, now - enteredAt)
    switch admission {
    case .started(let ticket):
      self.ticket = ticket
      guard mayStart else {
        ended = .failure(.cancelled(request.url, effort: effort))
        break
      }
      unstarted = left > .zero ? .cancelled : outOfTime
      // From then on it is the transfer thread's.
      if left > .zero, fetcher.engine.start(exchange!) { return }
    case .cancelled: ended = .failure(.cancelled(request.url, effort: effort))
    case .postponed(let refusal): ended = postponed(refusal)
    }
    // Its task gives the turn back: there may be hundreds like it in line.
    exchange!.tellWaiter()
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
