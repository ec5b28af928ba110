import CCurl
import Glibc
import Synchronization
import Threading
import Vocabulary

/// The transfer thread's own: the multi handle, every easy handle, every socket. Nothing here is
/// touched by another thread.
final class TransferLoop {
  /// Of an exchange that waits.
  typealias Place = (exchange: Exchange, arrivedAt: Int64)

  let options: TransferEngine.Options
  private let inbox: Inbox
  private let multi: UnsafeMutableRawPointer
  var sockets = SocketSet()
  /// On the clock of deadlines; one reading for a turn of the loop.
  private(set) var now: Int64

  private var names: NameTable
  private var turn = 0
  private var isStopping = false
  /// In order of arrival, until a place is free.
  private var waiting = WaitingLine<Place>()
  /// Each knows its place.
  private var active: [Transfer] = []
  private var idle: [Transfer] = []
  /// When libcurl wants to be called without an event, on the system's monotonic clock.
  private var timerAt: Int64?
  /// No active transfer is overdue before this.
  private var nextDeadline = Int64.max
  /// Since every transfer was looked at last.
  var hasNewSockets = false
  private var lookers: [@Sendable () -> Void] = []
  /// Exchanges that are over, whose waiters have not been told.
  private var ended: [Exchange] = []

  init(inbox: Inbox, options: TransferEngine.Options) {
    self.inbox = inbox
    self.options = options
    now = options.clock()
    curl_global_init(Int(CURL_GLOBAL_DEFAULT))  // counted, and safe on any thread
    multi = curl_multi_init()!
    names = NameTable(fixed: options.fixedNames)
  }

  static func of(_ pointer: UnsafeMutableRawPointer?) -> TransferLoop {
    Unmanaged<TransferLoop>.fromOpaque(pointer!).takeUnretainedValue()
  }

  // MARK: The turn

  func run() {
    prepareThread()
    prepareMulti()
    watchBell()
    withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: 64) { events in
      var mail: [Inbox.Message] = []
      while true {
        turn += 1
        readMail(&mail)
        if isStopping { break }
        lookUpNames()
        startWaiting()
        runWhatIsDue()
        tellWaiters()
        if endFinished() { continue }  // places are free
        endOverdue()
        tellWaiters()
        answerLookers()
        guard inbox.fallAsleep() else { continue }
        let count = wait(for: events)
        act(on: events[..<count])
      }
    }
    endEverything()
    tearDown()
  }

  private func readMail(_ mail: inout [Inbox.Message]) {
    inbox.take(into: &mail)
    for message in mail { read(message) }
    // The thread may sleep for long now, and is not to hold what has ended meanwhile.
    mail.removeAll(keepingCapacity: true)
  }

  private func read(_ message: Inbox.Message) {
    switch message {
    case .start(let exchange): admit(exchange, arrivedAt: now)
    case .cancel(let exchange): cancel(exchange)
    case .answer(let answer, let name): take(answer, for: name)
    case .run(let job): inbox.run(job)
    case .look(let done):
      now = options.clock()
      lookers.append(done)
    case .stop: isStopping = true
    }
  }

  // MARK: Names

  private func admit(_ exchange: Exchange, arrivedAt: Int64) {
    // Before it waits for a name: the word that it was cancelled may have come before it.
    guard !exchange.isCancelled.load(ordering: .relaxed) else {
      exchange.end(ExchangeReport(unstarted: .cancelled))
      return
    }
    let request = exchange.request
    guard knows(request.url.host, for: exchange, arrivedAt, otherwise: { .nameLookup($0) }),
      request.proxy == nil
        || knows(request.proxy!.host, for: exchange, arrivedAt, otherwise: { .unresolvedProxy($0) })
    else { return }
    waiting.append((exchange, arrivedAt))
  }

  /// - Returns: false where the exchange waits for the name, or has ended for want of it.
  private func knows(
    _ host: String, for exchange: Exchange, _ arrivedAt: Int64,
    otherwise fault: (String) -> TransferFault
  ) -> Bool {
    let decision = names.need(
      exchange, host, arrivedAt: arrivedAt, at: now, spelling: HostSpelling.ofLibcurl)
    switch decision {
    case .go: return true
    case .wait: return false
    case .fail(let why):
      exchange.end(ExchangeReport(unstarted: fault(why)))
      return false
    }
  }

  private func lookUpNames() {
    while let name = names.nextLookup(at: now) {
      _ = OwnedThread(name: "name-lookup") { [inbox, resolve = options.resolve] in
        _ = inbox.post(.answer(resolve(name), name))
      }
    }
  }

  private func take(_ answer: NameAnswer, for name: String) {
    for (exchange, arrivedAt) in names.take(answer, for: name, at: now) {
      admit(exchange, arrivedAt: arrivedAt)
    }
  }

  private func startWaiting() {
    while active.count < options.connections, let (exchange, arrivedAt) = waiting.removeFirst() {
      if exchange.isCancelled.load(ordering: .relaxed) {
        exchange.end(ExchangeReport(unstarted: .cancelled))
      } else if let route = route(of: exchange, arrivedAt: arrivedAt) {
        start(exchange, by: route, arrivedAt: arrivedAt)
      }
    }
  }

  private func wait(for events: UnsafeMutableBufferPointer<epoll_event>) -> Int {
    sockets.settle()
    let untilTimer = timerAt.map { $0 - Self.monotonicMilliseconds() } ?? .max
    let deadline = min(nextDeadline, names.nextDeadline)
    let untilDeadline = deadline == .max ? .max : deadline - now
    let wait = min(untilTimer, untilDeadline)
    let timeout = wait == .max ? -1 : CInt(clamping: max(0, wait))
    let count = epoll_wait(sockets.epoll, events.baseAddress, CInt(events.count), timeout)
    inbox.wakeUp()
    now = options.clock()
    return max(0, Int(count))  // a signal is no event
  }

  private func act(on events: Slice<UnsafeMutableBufferPointer<epoll_event>>) {
    var running: CInt = 0
    for event in events {
      if event.data.fd == inbox.bell {
        inbox.silenceBell()
      } else if let action = sockets.action(for: event) {
        curl_multi_socket_action(multi, event.data.fd, action, &running)
      }
    }
  }

  private func runWhatIsDue() {
    var running: CInt = 0
    if let timerAt, timerAt <= Self.monotonicMilliseconds() {
      self.timerAt = nil
      curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running)
    }
    // An address that fails at once (refused by the guard, no route) leaves libcurl's socket interface
    // with nothing to wait for: it would notice only when its connect timer runs out. So wherever
    // sockets were asked for, every transfer is looked at once.
    while hasNewSockets {
      hasNewSockets = false
      curl_multi_perform(multi, &running)
    }
  }

  /// A transfer's deadline has come nearer.
  func note(deadline: Int64) { nextDeadline = min(nextDeadline, deadline) }

  // MARK: Exchanges

  /// - Returns: nil where there is none that is allowed, so that the exchange has ended, or where what
  ///   was known of its name has grown old, so that it waits again.
  private func route(of exchange: Exchange, arrivedAt: Int64) -> Route? {
    let request = exchange.request
    guard let proxy = request.proxy else { return .direct }
    let addresses = names.addresses(
      of: request.url.host, port: request.url.port, at: now, spelling: HostSpelling.ofLibcurl)
    guard let addresses else {
      admit(exchange, arrivedAt: arrivedAt)
      return nil
    }
    do throws(TransferFault) {
      return try Route(to: addresses, through: proxy, guarding: request.guarding)
    } catch {
      exchange.end(ExchangeReport(unstarted: error))
      return nil
    }
  }

  private func start(_ exchange: Exchange, by route: Route, arrivedAt: Int64) {
    let transfer = idle.popLast() ?? Transfer(loop: self)
    transfer.place = active.count
    active.append(transfer)
    let url = exchange.request.url
    let (host, port) = route.proxy.map { ($0.host, $0.port) } ?? (url.host, url.port)
    transfer.isAddress = names.needsNoLookUp(host)
    transfer.begin(
      exchange, by: route, queued: now - arrivedAt,
      names: names.directives(for: host, port: port, turn: turn))
    note(deadline: transfer.deadline)
    curl_multi_add_handle(multi, transfer.easy)
  }

  /// - Returns: whether there were any.
  private func endFinished() -> Bool {
    var left: CInt = 0
    var hasEnded = false
    while let message = curl_multi_info_read(multi, &left) {
      guard message.pointee.msg == CURLMSG_DONE else { continue }
      let result = tw_message_result(message)
      var me: UnsafeMutableRawPointer?
      tw_easy_get_pointer(message.pointee.easy_handle, CURLINFO_PRIVATE, &me)
      end(Transfer.of(me), result)
      hasEnded = true
    }
    return hasEnded
  }

  private func end(_ transfer: Transfer, _ result: CURLcode) {
    let exchange = transfer.exchange!
    let end = transfer.end(result)
    curl_multi_remove_handle(multi, transfer.easy)
    switch end {
    case .over(let report): retire(transfer, exchange, report)
    case .again:
      transfer.beginAgainOnOwnConnection()
      curl_multi_add_handle(multi, transfer.easy)
    case .fromTheName:
      _ = transfer.takeReport(fault: nil)
      putAside(transfer)
      names.tellAgain(exchange.request.proxy?.host ?? exchange.request.url.host)
      admit(exchange, arrivedAt: now)
    }
  }

  /// Ends an exchange from outside: a deadline, a cancellation.
  private func abort(_ transfer: Transfer, _ fault: TransferFault) {
    let exchange = transfer.exchange!
    let report = transfer.abandon(fault)
    curl_multi_remove_handle(multi, transfer.easy)
    retire(transfer, exchange, report)
  }

  private func retire(
    _ transfer: Transfer, _ exchange: Exchange, _ report: consuming ExchangeReport
  ) {
    putAside(transfer)
    exchange.take(report)
    ended.append(exchange)
  }

  /// Together, and after the requests of those that take their places have left: who is told may have
  /// a thread woken, which the kernel likes to run in place of this one.
  private func tellWaiters() {
    guard !ended.isEmpty else { return }
    for exchange in ended { exchange.tellWaiter() }
    ended.removeAll(keepingCapacity: true)
  }

  private func putAside(_ transfer: Transfer) {
    let last = active.removeLast()
    if last !== transfer {
      last.place = transfer.place
      active[transfer.place] = last
    }
    idle.append(transfer)
  }

  private func cancel(_ exchange: Exchange) {
    if let transfer = active.first(where: { $0.exchange === exchange }) {
      abort(transfer, .cancelled)
    } else if waiting.removeFirst(where: { $0.exchange === exchange }) != nil
      || names.remove(exchange)
    {
      exchange.end(ExchangeReport(unstarted: .cancelled))
    }
  }

  private func endOverdue() {
    for exchange in names.overdue(at: now) { exchange.end(unanswered(exchange.request)) }
    guard now >= nextDeadline else { return }
    nextDeadline = .max
    for transfer in active {
      if now >= transfer.deadline, let fault = transfer.overdueFault() {
        abort(transfer, fault)
      } else {
        nextDeadline = min(nextDeadline, transfer.deadline)
      }
    }
  }

  private func unanswered(_ request: ExchangeRequest) -> ExchangeReport {
    let why = "no answer within \(DurationText.format(request.connectTimeout))"
    let isProxys =
      request.proxy != nil
      && names.addresses(
        of: request.url.host, port: request.url.port, at: now, spelling: HostSpelling.ofLibcurl)
        != nil
    return ExchangeReport(unstarted: isProxys ? .unresolvedProxy(why) : .nameLookup(why))
  }

  private func answerLookers() {
    guard !lookers.isEmpty else { return }
    for done in lookers { done() }
    lookers = []
  }

  private func endEverything() {
    for message in inbox.close() { read(message) }
    for transfer in active { abort(transfer, .cancelled) }
    tellWaiters()
    while let (exchange, _) = waiting.removeFirst() {
      exchange.end(ExchangeReport(unstarted: .cancelled))
    }
    for exchange in names.removeAll() { exchange.end(ExchangeReport(unstarted: .cancelled)) }
    answerLookers()
  }

  /// Easy handles before the multi handle, and that before the sockets that it closes.
  private func tearDown() {
    idle = []
    curl_multi_cleanup(multi)
    close(sockets.epoll)
  }

  // MARK: Preparation

  private func prepareThread() {
    // libcurl frees and takes a buffer for each exchange. Left to itself, malloc gives it back to the
    // kernel each time, and the kernel clears it each time.
    mallopt(M_MMAP_THRESHOLD, 4 << 20)
    mallopt(M_TRIM_THRESHOLD, 16 << 20)
    // TLS writes with write(2): a peer that has gone would end the process by SIGPIPE.
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &signals, nil)
    // libidn2 reads names in the thread's locale; ours are UTF-8.
    if let locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nil) { uselocale(locale) }
  }

  private func prepareMulti() {
    let me = Unmanaged.passUnretained(self).toOpaque()
    tw_multi_set_long(multi, CURLMOPT_MAXCONNECTS, options.connections)
    tw_multi_set_pointer(multi, CURLMOPT_SOCKETDATA, me)
    tw_multi_set_socket(multi) { _, socket, what, me, _ in
      TransferLoop.of(me).sockets.want(what, of: socket)
      return 0
    }
    tw_multi_set_pointer(multi, CURLMOPT_TIMERDATA, me)
    tw_multi_set_timer(multi) { _, milliseconds, me in
      TransferLoop.of(me).setTimer(milliseconds)
      return 0
    }
  }

  /// Never early: libcurl would find nothing due, and not ask for the same time again. So the clock
  /// is read anew, and its lost fraction added.
  private func setTimer(_ milliseconds: Int) {
    timerAt =
      switch milliseconds {
      case ..<0: nil
      case 0: 0  // due
      default: Self.monotonicMilliseconds() + Int64(milliseconds) + 1
      }
  }

  private func watchBell() {
    var event = epoll_event()
    event.events = EPOLLIN.rawValue
    event.data.fd = inbox.bell
    epoll_ctl(sockets.epoll, EPOLL_CTL_ADD, inbox.bell, &event)
  }

  static func monotonicMilliseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }
}
