import Synchronization
import Threading
import Vocabulary

/// Every host's gate, and the tasks that wait at them. Decides under its lock, resumes outside.
final class HostGates: Sendable {
  enum Admission: Equatable {
    case started(HostGate.Ticket)
    case cancelled
    /// The host is left alone for longer than a run waits.
    case postponed(HostGate.Refusal)
  }

  // Unsafe is the name of the one without a check: whoever takes it out of `waiters` resumes it.
  typealias Waiter = UnsafeContinuation<Admission, Never>

  // An object, so that it is looked up once for each change. Unchecked: it never leaves `state`, whose
  // lock protects it.
  fileprivate final class Host: @unchecked Sendable {
    var gate = HostGate()
    /// When a timer will look at it.
    var timerAt: Duration?
  }

  fileprivate struct State {
    var hosts: [String: Host] = [:]
    var waiters: [UInt64: Waiter] = [:]
    var lastTicket: UInt64 = 0
    /// Idle hosts are forgotten when there are this many.
    var sweepAt = 1024
  }

  /// Continuations to resume and a timer to set, once the lock is free.
  fileprivate struct Actions {
    var resumptions: [(Waiter, Admission)] = []
    var timerAt: Duration?
    /// Of the ticket that has just entered, where it need not wait.
    var immediate: Admission?
  }

  private let state = Mutex(State())
  private let sleeper: any Sleeper

  init(sleeper: any Sleeper) { self.sleeper = sleeper }

  /// What came of entering, and what the sleeper's clock says by then.
  struct Turn {
    var admission: Admission
    var now: Duration
    var waited: Duration
  }

  /// Returns when the transfer may start; then `leave` has to follow.
  nonisolated(nonsending) func enter(
    _ host: String, parallel: Int, spacing: Duration
  ) async -> Turn {
    let now = sleeper.now
    let (ticket, admission) = state.withLock { state in
      state.lastTicket += 1
      let ticket = HostGate.Ticket(
        number: state.lastTicket, parallel: max(1, parallel), spacing: spacing)
      return (ticket, state.enterWithoutWaiting(host, ticket, at: now))
    }
    if let admission { return Turn(admission: admission, now: now, waited: .zero) }
    let later = await waitInLine(host, ticket)
    let then = sleeper.now
    return Turn(admission: later, now: then, waited: then - now)
  }

  nonisolated(nonsending) private func waitInLine(
    _ host: String, _ ticket: HostGate.Ticket
  ) async -> Admission {
    await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        change(host, waiting: (ticket.number, continuation)) { gate, now in
          gate.enter(ticket, at: now)
        }
        // The handler may have run before the ticket was in line.
        if Task.isCancelled { cancel(host, ticket) }
      }
    } onCancel: {
      cancel(host, ticket)
    }
  }

  /// - Parameter sign: what the transfer's end says of the host.
  func leave(_ host: String, _ ticket: HostGate.Ticket, _ sign: HostSign) {
    let now = sleeper.now
    let actions = state.withLock { $0.leave(host, ticket, sign, at: now) }
    perform(actions, host)
  }

  /// The host has asked for no request before that time, on the sleeper's clock.
  func hold(_ host: String, until time: Duration) {
    change(host) { gate, now in gate.hold(until: time, at: now) }
  }

  private func cancel(_ host: String, _ ticket: HostGate.Ticket) {
    let continuation = state.withLock { state -> Waiter? in
      guard state.hosts[host]?.gate.giveUp(ticket.number) == true else { return nil }
      return state.waiters.removeValue(forKey: ticket.number)
    }
    continuation?.resume(returning: .cancelled)
    // It may have been the first in line, and the next may start under other settings.
    change(host) { gate, now in gate.proceed(at: now) }
  }

  /// What each gate says of itself, where it says something.
  func gates<Said: Sendable>(_ ask: (HostGate, Duration) -> Said?) -> [String: Said] {
    let now = sleeper.now
    return state.withLock { state in state.hosts.compactMapValues { ask($0.gate, now) } }
  }

  /// - Parameter waiting: who is resumed when that ticket starts or is sent away.
  func change(
    _ host: String, waiting: (UInt64, Waiter)? = nil,
    timerHasFired: Bool = false, _ decide: (inout HostGate, Duration) -> HostGate.Outcome
  ) {
    let now = sleeper.now
    let actions = state.withLock { state -> Actions in
      if let (number, continuation) = waiting { state.waiters[number] = continuation }
      let known = state.known(host)
      if timerHasFired { known.timerAt = nil }
      let outcome = decide(&known.gate, now)
      return state.actions(for: outcome, host, known, at: now)
    }
    perform(actions, host)
  }

  private func perform(_ actions: Actions, _ host: String) {
    for (continuation, admission) in actions.resumptions {
      continuation.resume(returning: admission)
    }
    if let time = actions.timerAt { look(at: host, at: time) }
  }

  private func look(at host: String, at time: Duration) {
    Task { [weak self, sleeper] in
      try? await sleeper.sleep(until: time)  // nobody cancels it
      self?.change(host, timerHasFired: true) { gate, now in gate.proceed(at: now) }
    }
  }
}

extension HostGates.State {
  /// The short way, without a continuation. Nil: the ticket has to wait in line.
  fileprivate mutating func enterWithoutWaiting(
    _ host: String, _ ticket: HostGate.Ticket, at now: Duration
  ) -> HostGates.Admission? {
    let known = known(host)
    return switch known.gate.enterIfFirst(ticket, at: now) {
    case .start: .started(ticket)
    case .postpone: .postponed(known.gate.refusal(at: now)!)
    case .wait: nil
    }
  }

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

  fileprivate mutating func actions(
    for outcome: HostGate.Outcome, _ host: String, _ known: HostGates.Host, at now: Duration
  ) -> HostGates.Actions {
    var actions = HostGates.Actions()
    for ticket in outcome.started {
      guard let waiter = waiters.removeValue(forKey: ticket.number) else { continue }
      actions.resumptions.append((waiter, .started(ticket)))
    }
    for ticket in outcome.postponed {
      guard let waiter = waiters.removeValue(forKey: ticket.number) else { continue }
      actions.resumptions.append((waiter, .postponed(known.gate.refusal(at: now)!)))
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
