import Fetching
import HTTPTransfer
import TestSupport
import Testing
import Threading
import Vocabulary

@Suite struct `Nothing hangs` {
  private func timed(_ body: () async throws -> Void) async rethrows -> Duration {
    let start = ContinuousClock.now
    try await body()
    return ContinuousClock.now - start
  }

  @Test func `on an origin that accepts and never answers`() async throws {
    let origin = try OriginServer.start { _ in .steps([.hang]) }
    defer { origin.stop() }
    var lab = Lab()
    lab.settings.idleTimeout = .milliseconds(300)
    let time = try await timed {
      let failure = try await lab.failure(of: origin.url("/"))
      #expect(failure?.code == "timeout")
      #expect(failure?.message == "\(origin.url("/")) sent no byte for 300ms")
      #expect(failure?.disposition == .retry(notBefore: nil))
    }
    #expect(time < .seconds(10))
  }

  @Test func `on a body that stops half-way`() async throws {
    let origin = try OriginServer.start { _ in
      .steps([.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"), .hang])
    }
    defer { origin.stop() }
    var lab = Lab()
    lab.settings.idleTimeout = .milliseconds(300)
    let failure = try await lab.failure(of: origin.url("/"))
    #expect(failure?.code == "timeout")
    #expect(
      failure?.message
        == "\(origin.url("/")) sent no byte for 300ms (status 200 from 127.0.0.1, 5 B so far)")
    #expect(failure?.seen.bodyBytes == 5)
  }

  @Test func `on a body that trickles for ever`() async throws {
    let origin = try OriginServer.start { _ in
      .steps([.send("HTTP/1.1 200 OK\r\n\r\n"), .trickle("x", every: .milliseconds(50))])
    }
    defer { origin.stop() }
    var lab = Lab()
    lab.settings.timeout = .milliseconds(600)
    lab.settings.attempts = 4
    let time = try await timed {
      let failure = try await lab.failure(of: origin.url("/"))
      #expect(failure?.code == "timeout")
      #expect(failure?.message.contains("was not done within") == true)
      #expect(failure?.effort.attempts == 1)
    }
    #expect(time > .milliseconds(550))
    #expect(time < .seconds(10))
  }

  @Test func `on a head that trickles for ever`() async throws {
    let origin = try OriginServer.start { _ in
      .steps([.send("HTTP/1.1 200 OK\r\n"), .trickle("X-A: b\r\n", every: .milliseconds(50))])
    }
    defer { origin.stop() }
    var lab = Lab()
    lab.settings.timeout = .milliseconds(600)
    #expect(try await lab.failure(of: origin.url("/"))?.code == "timeout")
  }

  @Test func `on a connection that is never made`() async throws {
    let port = try UnansweringPort()
    var lab = Lab()
    lab.settings.connectTimeout = .milliseconds(400)
    let url = "http://127.0.0.1:\(port.port)/"
    let time = try await timed {
      let failure = try await lab.failure(of: url)
      #expect(failure?.code == "timeout")
      #expect(failure?.message == "\(url): no connection within 400ms")
      #expect(failure?.requests == 0)
    }
    #expect(time < .seconds(10))
  }

  @Test func `on a handshake that is never finished`() async throws {
    let origin = try OriginServer.start { _ in .steps([.hang]) }
    defer { origin.stop() }
    var lab = Lab()
    lab.settings.connectTimeout = .milliseconds(400)
    let failure = try await lab.failure(of: "https://127.0.0.1:\(origin.port)/")
    #expect(failure?.code == "timeout")
  }

  @Test func `whatever deadline the chain has left`() async throws {
    let origin = try OriginServer.start { _ in .steps([.hang]) }
    defer { origin.stop() }
    let lab = Lab()
    var request = try lab.request(origin.url("/"))
    request.deadline = lab.sleeper.now + .milliseconds(300)
    let time = await timed {
      await #expect(throws: FetchFailure.self) { try await lab.fetcher.fetch(request) }
    }
    #expect(time < .seconds(10))
  }

  @Test func `when it is cancelled, wherever it stands`() async throws {
    let origin = try OriginServer.start { _ in .steps([.hang]) }
    defer { origin.stop() }
    var lab = Lab(.init(connections: 1))
    lab.settings.perHost = 2
    // One under way, one waiting for a place in the engine, one waiting for the host's turn.
    let request = try lab.request(origin.url("/"))
    let fetcher = lab.fetcher
    let tasks = (0..<3).map { _ in
      Task { () -> String? in
        do throws(FetchFailure) {
          _ = try await fetcher.fetch(request)
          return nil
        } catch {
          return error.code
        }
      }
    }
    await origin.requests(reach: 1)
    for task in tasks { task.cancel() }
    for task in tasks { #expect(await task.value == "cancelled") }
  }

  @Test func `when the engine stops`() async throws {
    let origin = try OriginServer.start { _ in .steps([.hang]) }
    defer { origin.stop() }
    let lab = Lab()
    async let failure = lab.failure(of: origin.url("/"))
    await origin.requests(reach: 1)
    lab.engine.stop()
    #expect(try await failure?.isCancellation == true)
    #expect(try await lab.failure(of: origin.url("/"))?.isCancellation == true)
  }

  @Test func `and good items are not delayed by dead ones`() async throws {
    let dead = try OriginServer.start(host: "127.0.0.1") { _ in .steps([.hang]) }
    let good = try OriginServer.start(host: "127.0.0.2") { _ in .ok("x") }
    defer {
      dead.stop()
      good.stop()
    }
    var lab = Lab(.init(connections: 8))
    lab.settings.perHost = 4
    lab.settings.idleTimeout = .seconds(15)
    let time = try await timed {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<40 { group.addTask { [lab] in _ = try? await lab.fetch(dead.url("/")) } }
        try await withThrowingTaskGroup(of: Void.self) { goodOnes in
          for _ in 0..<40 { goodOnes.addTask { [lab] in _ = try await lab.fetch(good.url("/")) } }
          try await goodOnes.waitForAll()
        }
        group.cancelAll()
      }
    }
    #expect(time < .seconds(10))
    #expect(good.requests.count == 40)
  }
}
