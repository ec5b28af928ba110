import Fetching
import HTTPTransfer
import TestSupport
import Testing
import Threading
import Vocabulary

/// That a test ends at all is what it shows.
@Suite struct `Nothing hangs` {
  @Test func `on an origin that accepts and never answers`() async throws {
    let origin = try OriginServer.start { _ in .steps([.hang]) }
    defer { origin.stop() }
    let lab = Lab { $0.idleTimeout = .seconds(15) }
    async let pending = lab.failure(of: origin.url("/"))
    await origin.requests(reach: 1)
    await lab.advance(by: .seconds(15))
    let failure = try await pending
    #expect(failure?.code == "timeout")
    #expect(failure?.message == "\(origin.url("/")) sent no byte for 15s")
    #expect(failure?.disposition == .retry(notBefore: nil))
  }

  @Test func `on a body that stops half-way`() async throws {
    let origin = try OriginServer.start { _ in
      .steps([.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"), .hang])
    }
    defer { origin.stop() }
    let lab = Lab { $0.idleTimeout = .seconds(15) }
    let sink = MemorySink()
    async let pending = lab.failure(of: origin.url("/"), to: sink)
    await sink.bytes(reach: 5)
    // Twice: bytes that came since the last look count as having come just now.
    await lab.advance(by: .seconds(15))
    await lab.advance(by: .seconds(15))
    let failure = try await pending
    #expect(failure?.code == "timeout")
    #expect(
      failure?.message
        == "\(origin.url("/")) sent no byte for 15s (status 200 from 127.0.0.1, 5 B so far)")
    #expect(failure?.seen.bodyBytes == 5)
  }

  @Test func `on a body that trickles for ever`() async throws {
    let origin = try OriginServer.start { _ in
      .steps([.send("HTTP/1.1 200 OK\r\n\r\n"), .trickle("x", every: .milliseconds(50))])
    }
    defer { origin.stop() }
    let lab = Lab {
      $0.timeout = .seconds(60)
      $0.idleTimeout = .seconds(600)
      $0.attempts = 4
    }
    let sink = MemorySink()
    async let pending = lab.failure(of: origin.url("/"), to: sink)
    await sink.bytes(reach: 1)
    await lab.advance(by: .seconds(59))
    await sink.bytes(reach: sink.bytes.count + 1)
    await lab.advance(by: .seconds(1))
    let failure = try await pending
    #expect(failure?.code == "timeout")
    #expect(failure?.message.contains("was not done within 1m (") == true)
    #expect(failure?.effort.attempts == 1)
  }

  @Test func `on a head that trickles for ever`() async throws {
    let origin = try OriginServer.start { _ in
      .steps([.send("HTTP/1.1 200 OK\r\n"), .trickle("X-A: b\r\n", every: .milliseconds(50))])
    }
    defer { origin.stop() }
    let lab = Lab { $0.timeout = .seconds(60) }
    async let pending = lab.failure(of: origin.url("/"))
    await origin.requests(reach: 1)
    await lab.advance(by: .seconds(60))
    #expect(try await pending?.code == "timeout")
  }

  @Test func `on a connection that is never made`() async throws {
    let port = try UnansweringPort()
    let lab = Lab { $0.connectTimeout = .milliseconds(400) }
    let url = "http://127.0.0.1:\(port.port)/"
    let failure = try await lab.failure(of: url)
    #expect(failure?.code == "timeout")
    #expect(failure?.message == "\(url): no connection within 400ms")
    #expect(failure?.requests == 0)
  }

  @Test func `on a handshake that is never finished`() async throws {
    let origin = try OriginServer.start { _ in .steps([.hang]) }
    defer { origin.stop() }
    let lab = Lab { $0.connectTimeout = .milliseconds(400) }
    let failure = try await lab.failure(of: "https://127.0.0.1:\(origin.port)/")
    #expect(failure?.code == "timeout")
  }

  @Test func `whatever deadline the chain has left, and says the limit that was set`() async throws
  {
    let origin = try OriginServer.start { _ in .steps([.hang]) }
    defer { origin.stop() }
    let lab = Lab { $0.timeout = .seconds(60) }
    var request = try lab.request(origin.url("/"))
    request.deadline = lab.sleeper.now + .seconds(3)
    async let pending = lab.failure(of: request)
    await origin.requests(reach: 1)
    await lab.advance(by: .seconds(3))
    #expect(await pending?.message == "\(origin.url("/")) was not done within 1m")
  }

  @Test func `and nothing is asked once the chain's deadline has passed`() async throws {
    let origin = try OriginServer.start { _ in .ok("x") }
    defer { origin.stop() }
    let lab = Lab { $0.timeout = .seconds(60) }
    var request = try lab.request(origin.url("/"))
    request.deadline = lab.sleeper.now - .seconds(3)
    let failure = await lab.failure(of: request)
    #expect(failure?.code == "timeout")
    #expect(failure?.message == "\(origin.url("/")) was not done within 1m")
    #expect(failure?.requests == 0)
    #expect(origin.connections == 0)
    // The host's turn was given back.
    for number in 1...lab.settings.perHost { _ = try await lab.fetch(origin.url("/\(number)")) }
  }

  @Test func `and waiting for a place in the engine takes nothing from an item's time`()
    async throws
  {
    let gate = OriginGate()
    let slow = try OriginServer.start(host: "127.0.0.1") { _ in
      .steps([.wait(gate), .sendBytes(OriginResponse.head(204, []))])
    }
    let origin = try OriginServer.start(host: "127.0.0.2") { request in
      request.number == 1 ? .status(500) : .ok("x")
    }
    defer {
      slow.stop()
      origin.stop()
    }
    let lab = Lab(.init(connections: 1)) {
      $0.timeout = .seconds(60)
      $0.idleTimeout = .seconds(600)
      $0.attempts = 2
    }
    var patient = lab.settings
    patient.timeout = .seconds(600)
    let slowRequest = FetchRequest(
      url: try ItemURL(slow.url("/")), settings: patient, sendsCredentials: true,
      makeSink: { _ in MemorySink() })
    async let first = lab.fetcher.fetch(slowRequest)
    await slow.requests(reach: 1)
    // On the transfer thread: when that has looked twice, the exchange is in its queue.
    let second = Task(executorPreference: lab.engine.executor) { [lab] in
      try await lab.fetch(origin.url("/"))
    }
    await lab.engine.lookAtDeadlines()
    await lab.engine.lookAtDeadlines()
    await lab.advance(by: .seconds(120))
    gate.open()
    #expect(try await first.status == 204)
    #expect(try await second.value.status == 200)
    #expect(try await second.value.effort.waited == .seconds(120))
  }

  @Test func `when it is cancelled, wherever it stands`() async throws {
    let origin = try OriginServer.start { _ in .steps([.hang]) }
    defer { origin.stop() }
    let lab = Lab(.init(connections: 1)) { $0.perHost = 2 }
    // One under way, one waiting for a place in the engine, one waiting for the host's turn.
    let request = try lab.request(origin.url("/"))
    let tasks = (0..<3).map { _ in Task { await lab.failure(of: request)?.code } }
    await origin.requests(reach: 1)
    for task in tasks { task.cancel() }
    for task in tasks { #expect(await task.value == "cancelled") }
  }

  @Test func `when it was cancelled before it began`() async throws {
    let origin = try OriginServer.start { _ in .status(204) }
    defer { origin.stop() }
    let lab = Lab()
    let request = try lab.request(origin.url("/"))
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await lab.failure(of: request)?.code
    }
    #expect(await task.value == "cancelled")
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
    await lab.engine.lookAtDeadlines()
  }

  @Test func `and good items are not delayed by dead ones`() async throws {
    let dead = try OriginServer.start(host: "127.0.0.1") { _ in .steps([.hang]) }
    let good = try OriginServer.start(host: "127.0.0.2") { _ in .ok("x") }
    defer {
      dead.stop()
      good.stop()
    }
    let lab = Lab(.init(connections: 8)) { $0.perHost = 4 }
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<40 { group.addTask { _ = try? await lab.fetch(dead.url("/")) } }
      await dead.requests(reach: 4)
      // The dead ones hold their places for as long as time stands still.
      await withTaskGroup(of: Void.self) { goodOnes in
        for _ in 0..<40 { goodOnes.addTask { _ = try? await lab.fetch(good.url("/")) } }
        await goodOnes.waitForAll()
      }
      #expect(good.requests.count == 40)
      #expect(dead.requests.count == 4)
      group.cancelAll()
    }
  }

  /// Answers and deadlines that fall together: each item ends, once, as one or the other.
  @Test func `and nothing breaks where answers come at the deadline`() async throws {
    for _ in 1...25 {
      let gate = OriginGate()
      let origin = try OriginServer.start { _ in
        .steps([.wait(gate)] + OriginResponse.ok("x").steps)
      }
      defer { origin.stop() }
      let lab = Lab(.init(connections: 40)) {
        $0.perHost = 40
        $0.timeout = .seconds(10)
      }
      let ends = try await ends(of: 40, on: origin, lab, opening: gate)
      #expect(ends["200", default: 0] + ends["timeout", default: 0] == 40, "\(ends)")
    }
  }

  private func ends(
    of count: Int, on origin: OriginServer, _ lab: Lab, opening gate: OriginGate
  ) async throws -> [String: Int] {
    await withTaskGroup(of: String.self) { group in
      for number in 1...count {
        group.addTask {
          do {
            return "\(try await lab.fetch(origin.url("/\(number)")).status)"
          } catch {
            return (error as? FetchFailure)?.code ?? "\(error)"
          }
        }
      }
      await origin.requests(reach: count)
      group.addTask {
        gate.open()
        return "open"
      }
      group.addTask {
        await lab.advance(by: .seconds(10))
        return "late"
      }
      return await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
    }
  }
}
