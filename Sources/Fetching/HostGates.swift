import Synchronization
import Threading
import Vocabulary

/// Who waits at a gate. Told once, outside of any lock, on whatever thread made way: it does what is short
/// and does not come back to the gates.
protocol GateWaiter: AnyObject, Sendable {
  func isAdmitted(_ admission: HostGates.Admission, at now: Duration)
  /// Whether there is anything left to start. Asked under the gates' lock, while it is in line.
  var mayStart: Bool { get }
}

/// Every host's gate, and who waits at them. Decides under its lock, tells outside.
final class HostGates: Sendable {
  enum Admission: Equatable {
    case started(HostGate.Ticket)
    case cancelled
    /// The host is left alone for longer than a run waits.
    case postponed(HostGate.Refusal)
  }

  // An object, so that it is looked up once for each change. Unchecked: it never leaves `state`, whose
  // lock protects it.
  fileprivate final class Host: @unchecked Sendable {
    var gate = HostGate()
    /// When a timer will look at it.
    var timerAt: Duration?
  }

  fileprivate struct State {
    var hosts: [String: Host] = [:]
    var waiters: [UInt64: any GateWaiter] = [:]
    /// Idle hosts are forgotten when there are this many.
    var sweepAt = 1024
  }

  /// Whom to tell and a timer to set, once the lock is free.
  fileprivate struct Actions {
    var admissions: [(any GateWaiter, Admission)] = []
    var timerAt: Duration?
  }

  private let state = Mutex(State())
  private let lastTicket = Atomic<UInt64>(0)
  private let sleeper: any Sleeper

  init(sleeper: any Sleeper) { self.sleeper = sleeper }

  func ticket(parallel: Int, spacing: Duration) -> HostGate.Ticket {
    HostGate.Ticket(
      number: lastTicket.add(1, ordering: .relaxed).newValue, parallel: max(1, parallel),
      spacing: spacing)
  }

  /// The waiter is told when its transfer may start, at once where it need not wait; then `leave` has to
  /// follow.
  func enter(_ host: String, _ ticket: HostGate.Ticket, _ waiter: any GateWaiter) {
    let now = sleeper.now
    let actions = state.withLock { state -> Actions in
      let known = state.known(host)
      if let admission = known.enterWithoutWaiting(ticket, at: now) {
        return Actions(admissions: [(waiter, admission)])
      }
      // Those in line were sent away already, where there is nothing left to start.
      guard waiter.mayStart else { return Actions(admissions: [(waiter, .cancelled)]) }
      state.waiters[ticket.number] = waiter
      return state.actions(for: known.gate.enter(ticket, at: now), host, known, at: now)
    }
    perform(actions, host, at: now)
  }

  /// - Parameter sign: what the transfer's end says of the host.
  func leave(_ host: String, _ ticket: HostGate.Ticket, _ sign: HostSign) {
    let now = sleeper.now
    let actions = state.withLock { $0.leave(host, ticket, sign, at: now) }
    perform(actions, host, at: now)
  }

  /// The host has asked for no request before that time, on the sleeper's clock.
  func hold(_ host: String, until time: Duration) {
    change(host) { gate, now in gate.hold(until: time, at: now) }
  }

  /// Who waits is told; whoever does not wait, or not yet, is left alone.
  func cancel(_ host: String, _ ticket: HostGate.Ticket) {
    let now = sleeper.now
    let waiter = state.withLock { state -> (any GateWaiter)? in
      guard state.hosts[host]?.gate.giveUp(ticket.number) == true else { return nil }
      return state.waiters.removeValue(forKey: ticket.number)
    }
    guard let waiter else { return }
    waiter.isAdmitted(.cancelled, at: now)
    // It may have been the first in line, and the next may start under other settings.
    change(host) { gate, now in gate.proceed(at: now) }
  }

  /// Whoever in line has nothing to start any more is told now, not when its turn comes. So is whoever
  /// comes from then on.
  func sendAway() {
    let now = sleeper.now
    let (gone, hosts) = state.withLock { $0.sendAway() }
    for waiter in gone { waiter.isAdmitted(.cancelled, at: now) }
    for host in hosts { change(host) { gate, now in gate.proceed(at: now) } }
  }

  /// What each gate says of itself, where it says something.
  func gates<Said: Sendable>(_ ask: (HostGate, Duration) -> Said?) -> [String: Said] {
    let now = sleeper.now
    return state.withLock { state in state.hosts.compactMapValues { ask($0.gate, now) } }
  }

  func change(
    _ host: String, timerHasFired: Bool = false,
    _ decide: (inout HostGate, Duration) -> HostGate.Outcome
  ) {
    let now = sleeper.now
    let actions = state.withLock { state -> Actions in
      let known = state.known(host)
      if timerHasFired { known.timerAt = nil }
      let outcome = decide(&known.gate, now)
      return state.actions(for: outcome, host, known, at: now)
    }
    perform(actions, host, at: now)
  }

  private func perform(_ actions: Actions, _ host: String, at now: Duration) {
    for (waiter, admission) in actions.admissions { waiter.isAdmitted(admission, at: now) }
    if let time = actions.timerAt { look(at: host, at: time) }
  }

  private func look(at host: String, at time: Duration) {
    Task { [weak self, sleeper] in
      try? await sleeper.sleep(until: time)  // nobody cancels it
      self?.change(host, timerHasFired: true) { gate, now in gate.proceed(at: now) }
    }
  }
}

extension HostGates.Host {
  /// The short way. Nil: the ticket has to wait in line.
  fileprivate func enterWithoutWaiting(
    _ ticket: HostGate.Ticket, at now: Duration
  ) -> HostGates.Admission? {
    switch gate.enterIfFirst(ticket, at: now) {
    case .start: .started(ticket)
    case .postpone: .postponed(gate.refusal(at: now)!)
    case .wait: nil
    }
  }
}

extension HostGates.State {
  /// A new host has its gate from now on.
  fileprivate mutating func known(_ host: String) -> HostGates.Host {
    if let known = hosts[host] { return known }
    let new = HostGates.Host()
    hosts[host] = new
    return new
  }

  fileprivate mutating func leave(
    _ host: String, _ ticket: HostGate.Ticket, _ sign: HostSign, at now: Duration
  ) -> HostGates.Actions {
    let known = known(host)
    return actions(for: known.gate.leave(ticket, sign, at: now), host, known, at: now)
  }

  /// - Returns: who has left a line, to be told outside the lock, and the hosts.
  fileprivate mutating func sendAway() -> (gone: [any GateWaiter], hosts: [String]) {
    var gone: [any GateWaiter] = []
    var left: [String] = []
    for (host, known) in hosts {
      let tickets = known.gate.giveUp { waiters[$0.number]?.mayStart == false }
      guard !tickets.isEmpty else { continue }
      left.append(host)
      for ticket in tickets { gone.append(waiters.removeValue(forKey: ticket.number)!) }
    }
    return (gone, left)
  }

  fileprivate mutating func actions(
    for outcome: HostGate.Outcome, _ host: String, _ known: HostGates.Host, at now: Duration
  ) -> HostGates.Actions {
    var actions = HostGates.Actions()
    for ticket in outcome.started {
      guard let waiter = waiters.removeValue(forKey: ticket.number) else { continue }
      actions.admissions.append((waiter, .started(ticket)))
    }
    for ticket in outcome.postponed {
      guard let waiter = waiters.removeValue(forKey: ticket.number) else { continue }
      actions.admissions.append((waiter, .postponed(known.gate.refusal(at: now)!)))
    }
    if let time = outcome.lookAt, time < known.timerAt ?? .seconds(Int64.max) {
      known.timerAt = time
      actions.timerAt = time
    }
    if known.timerAt == nil, known.gate.isIdle(at: now) { hosts[host] = nil }
    sweep(at: now)
    return actions
  }

  /// Hosts whose rate left a time behind are idle only later.
  private mutating func sweep(at now: Duration) {
    guard hosts.count >= sweepAt else { return }
    hosts = hosts.filter { $0.value.timerAt != nil || !$0.value.gate.isIdle(at: now) }
    sweepAt = max(1024, hosts.count * 2)
  }
}
