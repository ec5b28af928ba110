import Threading
import Vocabulary

/// Who may start a transfer to one host, and when. Plain values: it decides, others act.
///
/// Transfers wait in one line and start in order of arrival: at most so many at a time as the job and
/// the host's own behaviour allow, their starts spaced by the rate, none before a time that the host
/// has asked for.
struct HostGate {
  /// A transfer's place in the line.
  struct Ticket: Hashable {
    let number: UInt64
    /// Transfers to the host at a time.
    let parallel: Int
    /// Between two starts; zero: no limit.
    let spacing: Duration
  }

  /// What follows from a change, to be done outside the lock.
  struct Outcome: Equatable {
    /// These start now.
    var started: [Ticket] = []
    /// These are not to wait: the host is left alone for longer than a run waits.
    var postponed: [Ticket] = []
    /// Look again at this time, on the sleeper's clock.
    var lookAt: Duration?
  }

  /// Why nobody is to wait, and until when, on the sleeper's clock.
  struct Refusal: Hashable {
    var until: Duration
    /// Why the host could not be reached; nil where it has asked for the pause itself.
    var unreachable: String?
  }

  /// A longer wait is not spent within a run: the items return to the queue.
  static let longestWait: Duration = .seconds(60)

  private(set) var active = 0
  private var line = WaitingLine<Ticket>()
  private var nextStart: Duration = .zero
  private(set) var heldUntil: Duration = .zero
  var limit = AdaptiveLimit()
  var breaker = HostBreaker()
  /// The ticket that was started last.
  private var newest: UInt64 = 0
  /// When there was trouble last.
  var troubledAt: Duration?
  /// When the end of an exchange, here or elsewhere, last changed `limit` or `breaker`.
  var changedAt: Duration?

  /// A host without a transfer for this long after its last trouble is forgotten.
  static let memory: Duration = .hours(2)
  /// And one that has come out of it for this long: so that others hear of it.
  static let memoryOfRecovery: Duration = .seconds(60)
  /// No server holds us for longer, whatever it says.
  static let longestHold = HostStanding.longestHold

  enum FirstLook {
    case start, postpone, wait
  }

  /// For a transfer that need not wait; one that has to is not in line yet.
  mutating func enterIfFirst(_ ticket: Ticket, at now: Duration) -> FirstLook {
    guard line.isEmpty else { return .wait }
    guard refusal(at: now) == nil else { return .postpone }
    guard mayStart(ticket), earliestStart(of: ticket) <= now, breaker.allows(at: now) else {
      return .wait
    }
    start(ticket, at: now)
    return .start
  }

  mutating func enter(_ ticket: Ticket, at now: Duration) -> Outcome {
    line.append(ticket)
    return proceed(at: now)
  }

  mutating func leave(_ ticket: Ticket, _ sign: HostSign, at now: Duration) -> Outcome {
    take(sign, of: ticket, at: now)
    active -= 1
    return proceed(at: now)
  }

  private mutating func take(_ sign: HostSign, of ticket: Ticket, at now: Duration) {
    let before = (limit.value, breaker.failuresInARow)
    defer { if before != (limit.value, breaker.failuresInARow) { changedAt = now } }
    switch sign {
    case .well:
      limit.succeeded(atMost: ticket.parallel)
      breaker.answered()
    case .strained:
      noteTrouble(ticket, at: now)
      breaker.answered()
    case .unreachable(let reason):
      noteTrouble(ticket, at: now)
      breaker.failed(ticket.number, because: reason, at: now)
    case .none:
      breaker.endedOtherwise(ticket.number)
    }
  }

  private mutating func noteTrouble(_ ticket: Ticket, at now: Duration) {
    limit.metTrouble(ticket.number, active: active, newest: newest)
    troubledAt = now
  }

  /// No start before that time (Retry-After). An earlier hold does not shorten a later one.
  mutating func hold(until time: Duration, at now: Duration) -> Outcome {
    heldUntil = max(heldUntil, min(time, now + Self.longestHold))
    return proceed(at: now)
  }

  /// - Returns: whether the ticket was waiting.
  mutating func giveUp(_ number: UInt64) -> Bool {
    line.removeFirst { $0.number == number } != nil
  }

  /// Whoever in line has nothing to start any more leaves it at once. Left to its turn, it would keep the
  /// distance from the next that only requests need.
  ///
  /// - Returns: who has left.
  mutating func giveUp(where hasLeft: (Ticket) -> Bool) -> [Ticket] {
    line.removeAll(where: hasLeft)
  }

  /// Nil: whoever comes may wait.
  func refusal(at now: Duration) -> Refusal? {
    let isBroken = breaker.refuses(at: now)
    guard isBroken || heldUntil - now > Self.longestWait else { return nil }
    return Refusal(
      until: max(heldUntil, isBroken ? breaker.brokenUntil! : .zero),
      unreachable: isBroken ? breaker.reason : nil)
  }

  mutating func proceed(at now: Duration) -> Outcome {
    var outcome = Outcome()
    if refusal(at: now) != nil {
      outcome.postponed = line.removeAll()
      return outcome
    }
    while let first = line.first, mayStart(first), breaker.allows(at: now) {
      let earliest = earliestStart(of: first)
      guard earliest <= now else {
        outcome.lookAt = earliest
        break
      }
      line.removeFirst()
      start(first, at: now)
      outcome.started.append(first)
    }
    return outcome
  }

  private func mayStart(_ ticket: Ticket) -> Bool {
    limit.allows(active, atMost: ticket.parallel)
  }

  private func earliestStart(of ticket: Ticket) -> Duration {
    ticket.spacing > .zero ? max(heldUntil, nextStart) : heldUntil
  }

  private mutating func start(_ ticket: Ticket, at now: Duration) {
    active += 1
    newest = max(newest, ticket.number)  // numbers are drawn before the line is entered
    breaker.started(ticket.number)
    nextStart = now + ticket.spacing
  }

  /// Nothing would be lost by forgetting this host.
  func isIdle(at now: Duration) -> Bool {
    guard active == 0, line.isEmpty, heldUntil <= now, nextStart <= now else { return false }
    if limit.value == nil, breaker.failuresInARow == 0 {
      return changedAt.map { now - $0 > Self.memoryOfRecovery } ?? true
    }
    return now - (troubledAt ?? now) > Self.memory
  }
}

extension NetworkSettings {
  /// Between two request starts to one host.
  var startSpacing: Duration {
    guard let rate = ratePerHost, rate.count > 0 else { return .zero }
    return rate.per / rate.count
  }
}
