import Testing
import Vocabulary

@testable import Fetching

@Suite struct `A host's gate` {
  private func ticket(
    _ number: UInt64, parallel: Int = 2, spacing: Duration = .zero
  ) -> HostGate.Ticket {
    HostGate.Ticket(number: number, parallel: parallel, spacing: spacing)
  }

  @Test func `starts so many at a time, in order of arrival`() {
    var gate = HostGate()
    #expect(gate.enter(ticket(1), at: .zero).started == [ticket(1)])
    #expect(gate.enter(ticket(2), at: .zero).started == [ticket(2)])
    #expect(gate.enter(ticket(3), at: .zero) == HostGate.Outcome())
    #expect(gate.enter(ticket(4), at: .zero) == HostGate.Outcome())
    #expect(gate.leave(ticket(1), .well, at: .zero).started == [ticket(3)])
    #expect(gate.leave(ticket(2), .well, at: .zero).started == [ticket(4)])
    #expect(gate.leave(ticket(3), .well, at: .zero) == HostGate.Outcome())
    #expect(gate.leave(ticket(4), .well, at: .zero) == HostGate.Outcome())
    #expect(gate.isIdle(at: .zero))
  }

  @Test func `lets nobody pass by those in line`() {
    var gate = HostGate()
    #expect(gate.enterIfFirst(ticket(1, parallel: 1), at: .zero) == .start)
    #expect(gate.enterIfFirst(ticket(2, parallel: 1), at: .zero) == .wait)
    _ = gate.enter(ticket(2, parallel: 1), at: .zero)
    #expect(gate.enterIfFirst(ticket(3, parallel: 9), at: .zero) == .wait)
  }

  @Test func `forgets who gave up`() {
    var gate = HostGate()
    _ = gate.enter(ticket(1, parallel: 1), at: .zero)
    _ = gate.enter(ticket(2, parallel: 1), at: .zero)
    _ = gate.enter(ticket(3, parallel: 1), at: .zero)
    let (first, second) = (gate.giveUp(2), gate.giveUp(2))
    #expect(first && !second)
    #expect(
      gate.leave(ticket(1, parallel: 1), .none, at: .zero).started == [ticket(3, parallel: 1)])
  }

  @Test func `spaces starts by the rate`() {
    var gate = HostGate()
    let slow: (UInt64) -> HostGate.Ticket = { ticket($0, parallel: 9, spacing: .seconds(1)) }
    #expect(gate.enter(slow(1), at: .seconds(5)).started == [slow(1)])
    #expect(gate.enter(slow(2), at: .seconds(5)).lookAt == .seconds(6))
    #expect(gate.proceed(at: .milliseconds(5999)).started == [])
    #expect(gate.proceed(at: .seconds(6)).started == [slow(2)])
    #expect(!gate.isIdle(at: .seconds(6)))
  }

  @Test func `empties its line at once of those that have nothing to start`() {
    var gate = HostGate()
    let slow: (UInt64) -> HostGate.Ticket = { ticket($0, parallel: 9, spacing: .seconds(1)) }
    for number in 1...6 { _ = gate.enter(slow(UInt64(number)), at: .zero) }
    #expect(gate.giveUp { $0.number % 2 == 0 } == [slow(2), slow(4), slow(6)])
    // Those that went have taken no time of the others'.
    #expect(gate.proceed(at: .zero).lookAt == .seconds(1))
    #expect(gate.proceed(at: .seconds(1)).started == [slow(3)])
    #expect(gate.proceed(at: .seconds(2)).started == [slow(5)])
    #expect(gate.giveUp { _ in true } == [])
    #expect(gate.active == 3)
  }

  @Test(arguments: [HostSign.strained, .unreachable("no connection")])
  func `lets half as many through after a sign of trouble`(_ sign: HostSign) {
    var gate = HostGate()
    let tickets = (1...20).map { ticket($0, parallel: 4) }
    for ticket in tickets[..<10] { _ = gate.enter(ticket, at: .zero) }
    #expect(gate.active == 4)
    #expect(gate.leave(tickets[0], sign, at: .zero).started == [])
    #expect(gate.leave(tickets[1], sign, at: .zero).started == [])  // the same trouble
    #expect(gate.active == 2)
    #expect(gate.leave(tickets[2], .none, at: .zero).started == [tickets[4]])
    #expect(gate.leave(tickets[3], .well, at: .zero).started == [tickets[5]])
    #expect(gate.leave(tickets[4], .well, at: .zero).started == [tickets[6], tickets[7]])
    #expect(gate.limit.value == 3)
  }

  /// Numbers are drawn before the line is entered: the one that starts last may have an earlier one.
  @Test func `takes all that were under way at a halving for one trouble`() {
    var gate = HostGate()
    let tickets = [1, 2, 3, 4, 5, 6, 7, 9, 8].map { ticket($0, parallel: 9) }
    for ticket in tickets { _ = gate.enter(ticket, at: .zero) }
    for ticket in tickets { _ = gate.leave(ticket, .strained, at: .zero) }
    #expect(gate.limit.value == 4)
  }

  @Test func `remembers trouble for a while`() {
    var gate = HostGate()
    _ = gate.enter(ticket(1), at: .zero)
    _ = gate.leave(ticket(1), .strained, at: .seconds(1))
    #expect(!gate.isIdle(at: .seconds(1)))
    #expect(!gate.isIdle(at: .seconds(1) + HostGate.memory))
    #expect(gate.isIdle(at: .seconds(2) + HostGate.memory))
  }

  @Test func `starts nobody while the host is held`() {
    var gate = HostGate()
    #expect(gate.hold(until: .seconds(10), at: .zero) == HostGate.Outcome())
    #expect(gate.enter(ticket(1), at: .seconds(1)).lookAt == .seconds(10))
    #expect(gate.hold(until: .seconds(4), at: .seconds(2)).lookAt == .seconds(10))
    #expect(gate.proceed(at: .seconds(10)).started == [ticket(1)])
  }

  @Test func `sends everybody away when the hold is longer than a minute`() {
    var gate = HostGate()
    _ = gate.enter(ticket(1, parallel: 1), at: .zero)
    _ = gate.enter(ticket(2, parallel: 1), at: .zero)
    #expect(gate.hold(until: .seconds(61), at: .zero).postponed == [ticket(2, parallel: 1)])
    #expect(gate.enterIfFirst(ticket(3), at: .zero) == .postpone)
    #expect(gate.enterIfFirst(ticket(4), at: .seconds(61)) == .start)
  }
}

@Suite struct `Backoff time` {
  @Test func `doubles up to its maximum`() {
    let backoff = Backoff(initial: .milliseconds(500), max: .seconds(30))
    let waits = (1...9).map { backoff.wait(after: $0, jitter: 0.5).wholeMilliseconds }
    #expect(waits == [250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000])
    #expect(backoff.wait(after: 1000, jitter: 0.999) < .seconds(30))
    #expect(backoff.wait(after: 3, jitter: 0) == .zero)
  }
}
