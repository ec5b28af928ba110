import Fetching
import HTTPTransfer
import TestSupport
import Testing
import Threading
import Vocabulary

@testable import Fetching

@Suite struct `A host's breaker` {
  static let pauses: [(failures: Int, seconds: Int?)] = [
    (1, nil), (4, nil), (5, 30), (6, 60), (7, 120), (8, 240), (9, 480), (10, 960), (11, 1920),
    (12, 3600), (13, 3600), (100, 3600),
  ]

  @Test(arguments: pauses)
  func `pauses for longer with each failure`(_ failures: Int, _ seconds: Int?) {
    var breaker = HostBreaker()
    var now = Duration.zero
    for number in 1...UInt64(failures) {
      now = max(now, breaker.brokenUntil ?? .zero)
      breaker.started(number)
      breaker.failed(number, because: "no connection", at: now)
    }
    #expect(breaker.brokenUntil.map { $0 - now } == seconds.map { .seconds($0) })
    #expect(breaker.failuresInARow == failures)
    #expect(breaker.refuses(at: now) == (seconds != nil))
    #expect(breaker.allows(at: breaker.brokenUntil ?? now))
  }

  private func broken() -> HostBreaker {
    var breaker = HostBreaker()
    for number in 1...5 as ClosedRange<UInt64> {
      breaker.failed(number, because: "no connection", at: .zero)
    }
    return breaker
  }

  @Test func `lets one probe go first`() {
    var breaker = broken()
    #expect(!breaker.allows(at: .milliseconds(29_999)))
    #expect(breaker.allows(at: .seconds(30)))
    breaker.started(9)
    #expect(!breaker.allows(at: .seconds(30)))
    #expect(!breaker.refuses(at: .seconds(30)))  // they wait for it
    breaker.answered()
    #expect(breaker == HostBreaker())
  }

  @Test func `lets another probe go where the first says nothing of the host`() {
    var breaker = broken()
    breaker.started(9)
    breaker.endedOtherwise(8)
    #expect(!breaker.allows(at: .seconds(30)))
    breaker.endedOtherwise(9)
    #expect(breaker.allows(at: .seconds(30)))
  }

  @Test func `is not impressed by those that were under way when it broke`() {
    var breaker = broken()
    breaker.failed(6, because: "late", at: .seconds(10))
    #expect(breaker.brokenUntil == .seconds(30))
    #expect(breaker.failuresInARow == 5)
    #expect(breaker.reason == "no connection")
  }

  @Test func `counts failures in a row only`() {
    var breaker = HostBreaker()
    for number in 1...100 as ClosedRange<UInt64> {
      breaker.failed(number, because: "no connection", at: .zero)
      if number % 4 == 0 { breaker.answered() }
    }
    #expect(breaker == HostBreaker())
  }
}

@Suite struct `A host that cannot be reached` {
  /// 2026-01-01, going with a sleeper's time.
  private func clock(with sleeper: ManualSleeper) -> WallClock {
    WallClock { 1_767_225_600_000 + sleeper.now.wholeMilliseconds }
  }

  private func time(_ seconds: Int64) -> Timestamp { Timestamp(seconds: 1_767_225_600 + seconds) }

  @Test func `is left alone, then tried by one, then asked by all`() async throws {
    let gate = OriginGate()
    let origin = try OriginServer.start { request in
      switch request.path {
      case "/dead": .steps([.reset])
      case "/probe": .steps([.wait(gate), .sendBytes(OriginResponse.head(204, []))])
      default: .ok("x")
      }
    }
    defer { origin.stop() }
    let sleeper = ManualSleeper()
    let lab = Lab(sleeper: sleeper, clock: clock(with: sleeper))
    for _ in 1...5 {
      #expect(try await lab.failure(of: origin.url("/dead"))?.code == "connect")
    }
    let postponed = try await lab.failure(of: origin.url("/a"))
    #expect(postponed?.code == "postponed")
    #expect(postponed?.disposition == .retry(notBefore: time(30)))
    #expect(postponed?.requests == 0)
    #expect(
      postponed?.message.hasPrefix(
        "\(origin.url("/a")) was not asked: 127.0.0.1 could not be reached (") == true)
    #expect(
      postponed?.message.hasSuffix(") and is left alone until 2026-01-01T00:00:30.000Z") == true)
    #expect(origin.requests.count == 5)

    sleeper.advance(by: .seconds(30))
    async let probe = lab.fetch(origin.url("/probe"))
    await origin.requests(reach: 6)
    let others = (1...3).map { number in
      Task(executorPreference: lab.engine.executor) {
        try await lab.fetch(origin.url("/\(number)"))
      }
    }
    await lab.engine.lookAtDeadlines()
    await lab.engine.lookAtDeadlines()
    #expect(origin.requests.count == 6)
    gate.open()
    #expect(try await probe.status == 204)
    for other in others { #expect(try await other.value.status == 200) }
    #expect(lab.fetcher.standings.values.allSatisfy { $0.failuresInARow == 0 })
  }

  @Test func `sends away those in line, and an item keeps the reason of its own attempt`()
    async throws
  {
    let gate = OriginGate()
    let origin = try OriginServer.start { _ in .steps([.wait(gate), .reset]) }
    defer { origin.stop() }
    let sleeper = ManualSleeper()
    let lab = Lab(sleeper: sleeper, clock: clock(with: sleeper)) {
      $0.attempts = 4
      $0.perHost = 6
    }
    let codes = await withTaskGroup(of: String?.self) { group in
      for number in 1...20 {
        group.addTask { try! await lab.failure(of: origin.url("/\(number)"))?.code }
      }
      await origin.requests(reach: 6)
      gate.open()
      return await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
    }
    // The sixth may have failed before the fifth had been counted, and gone again.
    #expect(Set(codes.keys) == ["connect", "postponed"])
    #expect(codes.values.reduce(0, +) == 20)
    #expect(origin.requests.count <= 10)
    let standing = try #require(lab.fetcher.standings["127.0.0.1"])
    #expect(standing.failuresInARow == 5)
    #expect(standing.brokenUntil == time(30))
  }

  @Test func `is not one that answers, be it with errors`() async throws {
    let origin = try OriginServer.start { _ in .status(500) }
    defer { origin.stop() }
    let lab = Lab()
    for _ in 1...20 { #expect(try await lab.fetch(origin.url("/")).status == 500) }
    #expect(lab.fetcher.standings.isEmpty)
  }

  @Test func `is known to the next run`() async throws {
    let origin = try OriginServer.start { request in
      request.path == "/dead" ? .steps([.reset]) : .status(503, [], [("Retry-After", "3600")])
    }
    let other = try OriginServer.start(host: "127.0.0.2") { _ in
      .status(503, [], [("Retry-After", "3600")])
    }
    defer {
      origin.stop()
      other.stop()
    }
    let sleeper = ManualSleeper()
    let first = Lab(sleeper: sleeper, clock: clock(with: sleeper))
    for _ in 1...5 { _ = try? await first.fetch(origin.url("/dead")) }
    _ = try await first.fetch(other.url("/"))
    let standings = first.fetcher.standings
    #expect(standings["127.0.0.1"]?.brokenUntil == time(30))
    #expect(standings["127.0.0.1"]?.limit == 1)
    #expect(standings["127.0.0.2"]?.heldUntil == time(3600))

    // Its clocks start elsewhere.
    let later = ManualSleeper()
    let second = Lab(sleeper: later, clock: WallClock { time(10).milliseconds })
    second.fetcher.adopt(standings)
    for (host, until) in [(origin, time(30)), (other, time(3600))] {
      let failure = try await second.failure(of: host.url("/a"))
      #expect(failure?.code == "postponed")
      #expect(failure?.disposition == .retry(notBefore: until))
    }
    #expect(second.fetcher.standings == standings)
  }
}
