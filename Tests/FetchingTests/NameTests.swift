import Fetching
import HTTPTransfer
import TestSupport
import Testing
import Threading
import Vocabulary

@Suite struct `A host's name` {
  private let here = NameAnswer.addresses([NetworkAddress("127.0.0.1")!])

  private func lab(
    connections: Int = 32, _ resolver: OriginResolver,
    answer: @escaping @Sendable (_ name: String, _ number: Int, _ underWay: Int) -> NameAnswer,
    adjust: (inout NetworkSettings) -> Void = { _ in }
  ) -> Lab {
    Lab(
      .init(
        connections: connections,
        resolve: { name in resolver.look(up: name) { answer(name, $0, $1) } }), adjust: adjust)
  }

  @Test func `is looked up once for all that need it`() async throws {
    let origin = try OriginServer.start { _ in .ok("x") }
    defer { origin.stop() }
    let resolver = OriginResolver()
    let gate = OriginGate()
    let lab = lab(resolver) { [here] _, _, _ in
      gate.wait()
      return here
    } adjust: {
      $0.perHost = 16
    }
    let url = "http://cdn.example:\(origin.port)/"
    let fetches = (1...20).map { number in
      Task(executorPreference: lab.engine.executor) { try await lab.fetch("\(url)\(number)") }
    }
    await resolver.asked(reach: 1)
    await lab.engine.lookAtDeadlines()
    gate.open()
    for fetch in fetches { #expect(try await fetch.value.status == 200) }
    #expect(resolver.asked == ["cdn.example"])
    #expect(origin.requests.allSatisfy { $0["host"] == "cdn.example:\(origin.port)" })
  }

  /// A resolver that answers at most twenty questions at a time; a look-up asks two.
  @Test func `is one of a bounded number that are looked up at a time`() async throws {
    let origin = try OriginServer.start { _ in .ok("x") }
    defer { origin.stop() }
    let resolver = OriginResolver()
    let lab = lab(resolver) { [here] _, _, underWay in
      underWay * 2 > 20 ? .failure("no answer", isFinal: false) : here
    } adjust: {
      $0.attempts = 1
    }
    let answers = await withTaskGroup(of: String.self) { group in
      for number in 1...500 {
        group.addTask {
          do {
            return "\(try await lab.fetch("http://h\(number).example:\(origin.port)/").status)"
          } catch {
            return "\(error)"
          }
        }
      }
      return await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
    }
    #expect(answers == ["200": 500])
    #expect(resolver.asked.count == 500)
    #expect(resolver.peak <= 10)
  }

  @Test func `that does not exist is not looked up again at once`() async throws {
    let resolver = OriginResolver()
    let lab = lab(resolver) { _, _, _ in
      .failure("no such name", isFinal: true)
    } adjust: {
      $0.attempts = 4
    }
    for _ in 1...5 {
      let failure = try await lab.failure(of: "http://nowhere.example/")
      #expect(failure?.code == "dns")
      #expect(failure?.requests == 0)
      #expect(failure?.disposition == .retry(notBefore: nil))
      #expect(
        failure?.message
          == "the name nowhere.example of http://nowhere.example/ was not resolved: no such name "
          + "(after 4 attempts)")
    }
    #expect(resolver.asked.count == 1)
    await lab.advance(by: .seconds(60))
    _ = try await lab.failure(of: "http://nowhere.example/")
    #expect(resolver.asked.count == 2)
  }

  @Test func `whose look-up fails is looked up again after the backoff`() async throws {
    let origin = try OriginServer.start { _ in .ok("x") }
    defer { origin.stop() }
    let resolver = OriginResolver()
    let sleeper = ManualSleeper()
    let here = here
    let lab = Lab(
      .init(
        connections: 4,
        resolve: { name in
          resolver.look(up: name) { number, _ in
            number < 3 ? .failure("resolver busy", isFinal: false) : here
          }
        }), sleeper: sleeper, jitter: 0.5
    ) {
      $0.attempts = 3
      $0.backoffInitial = .seconds(4)
    }
    async let response = lab.fetch("http://cdn.example:\(origin.port)/")
    for count in 1...2 {
      await sleeper.sleeps(reach: count)
      await lab.advance(by: .seconds(4))
    }
    #expect(try await response.status == 200)
    #expect(resolver.asked.count == 3)
  }

  @Test func `is looked up again when its answer is old, and may have moved`() async throws {
    let first = try OriginServer.start(host: "127.0.0.1") { _ in
      .ok("x", [("Connection", "close")])
    }
    defer { first.stop() }
    let second = try OriginServer.start(host: "127.0.0.2", port: first.port) { _ in
      .ok("x", [("Connection", "close")])
    }
    defer { second.stop() }
    let resolver = OriginResolver()
    let lab = lab(resolver) { _, number, _ in
      .addresses([NetworkAddress("127.0.0.\(number)")!])
    }
    let url = "http://cdn.example:\(first.port)/"
    for _ in 1...3 { _ = try await lab.fetch(url) }
    #expect((first.requests.count, second.requests.count) == (3, 0))
    await lab.advance(by: .seconds(60))
    for _ in 1...3 { _ = try await lab.fetch(url) }
    #expect((first.requests.count, second.requests.count) == (3, 3))
    #expect(resolver.asked.count == 2)
  }

  @Test func `that leads somewhere else the second time is checked again`() async throws {
    let origin = try OriginServer.start(host: "127.0.0.1") { _ in
      .ok("x", [("Connection", "close")])
    }
    let inside = try OriginServer.start(host: "127.0.0.2", port: origin.port) { _ in .ok("secret") }
    defer {
      origin.stop()
      inside.stop()
    }
    let lab = lab(OriginResolver()) { _, number, _ in
      .addresses([NetworkAddress("127.0.0.\(number)")!])
    } adjust: {
      $0.allow = [AddressRange("127.0.0.1")!]
    }
    let url = "http://rebinding.example:\(origin.port)/"
    #expect(try await lab.fetch(url).status == 200)
    await lab.advance(by: .seconds(60))
    #expect(try await lab.failure(of: url)?.code == "blocked-address")
    #expect(inside.connections == 0)
  }

  @Test func `without an answer ends with the time for the connection`() async throws {
    let resolver = OriginResolver()
    let gate = OriginGate()
    defer { gate.open() }
    let lab = lab(resolver) { [here] _, _, _ in
      gate.wait()
      return here
    } adjust: {
      $0.connectTimeout = .seconds(10)
    }
    async let pending = lab.failure(of: "http://slow.example/")
    await resolver.asked(reach: 1)
    await lab.advance(by: .seconds(10))
    let failure = try await pending
    #expect(failure?.code == "dns")
    #expect(failure?.message.hasSuffix("was not resolved: no answer within 10s") == true)
  }

  /// libcurl would ask the system itself, and would hold up all transfers until that answers.
  @Test func `that was forgotten before its turn came is looked up again, by us`() async throws {
    let gate = OriginGate()
    let origin = try OriginServer.start { request in
      request.path == "/first" ? .steps([.wait(gate)] + OriginResponse.ok("x").steps) : .ok("x")
    }
    defer { origin.stop() }
    let resolver = OriginResolver()
    let lab = lab(connections: 1, resolver) { [here] name, _, _ in
      name == "nowhere.example" ? .failure("no such name", isFinal: true) : here
    } adjust: {
      $0.idleTimeout = .seconds(600)
      $0.timeout = .seconds(600)
    }
    async let first = lab.fetch(origin.url("/first"))
    await origin.requests(reach: 1)
    async let late = lab.fetch("http://late.example:\(origin.port)/late")
    await resolver.asked(reach: 1)
    // A later answer that has come says that the one before is known as well.
    #expect(try await lab.failure(of: "http://nowhere.example:\(origin.port)/")?.code == "dns")
    await lab.advance(by: .seconds(61))
    let others = (0..<4200).map { number in
      Task { try await lab.fetch("http://h\(number).example:\(origin.port)/") }
    }
    await resolver.asked(reach: 4202)
    for other in others { other.cancel() }
    gate.open()
    #expect(try await first.status == 200)
    #expect(try await late.status == 200)
    #expect(resolver.asked.count { $0 == "late.example" } == 2)
  }

  @Test func `is not waited for by who is cancelled`() async throws {
    let resolver = OriginResolver()
    let gate = OriginGate()
    defer { gate.open() }
    let lab = lab(resolver) { [here] _, _, _ in
      gate.wait()
      return here
    }
    let task = Task { try await lab.failure(of: "http://slow.example/")?.code }
    await resolver.asked(reach: 1)
    task.cancel()
    #expect(try await task.value == "cancelled")
  }

  /// The word that it is cancelled comes before the exchange itself then.
  @Test func `is not asked for by who was cancelled before`() async throws {
    let resolver = OriginResolver()
    let gate = OriginGate()
    defer { gate.open() }
    let lab = lab(resolver) { [here] _, _, _ in
      gate.wait()
      return here
    }
    let request = ExchangeRequest(
      url: try ItemURL("http://slow.example/"), makeSink: { _ in MemorySink() })
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await lab.engine.perform(request).fault
    }
    #expect(await task.value == .cancelled)
    #expect(resolver.asked == [])
  }

  struct Spelling: CustomTestStringConvertible {
    let written: String
    /// Nil: it is an address, and nobody is asked.
    let asked: String?
    var testDescription: String { written }
  }

  /// Were libcurl to see another name than we do, it would look it up itself.
  @Test(arguments: [
    Spelling(written: "cdn.example", asked: "cdn.example"),
    Spelling(written: "CDN.Example", asked: "cdn.example"),
    Spelling(written: "cdn.example.", asked: "cdn.example."),
    Spelling(written: "Bücher.example", asked: "xn--bcher-kva.example"),
    Spelling(written: "xn--bcher-kva.example", asked: "xn--bcher-kva.example"),
    Spelling(written: "under_score.example", asked: "under_score.example"),
    Spelling(written: "localhost", asked: "localhost"),
    Spelling(written: "a.localhost", asked: "a.localhost"),
    Spelling(written: "1.2.3.4.5", asked: "1.2.3.4.5"),
    Spelling(written: "127.1", asked: nil), Spelling(written: "2130706433", asked: nil),
    Spelling(written: "0x7f000001", asked: nil), Spelling(written: "127.0.0.1", asked: nil),
  ])
  func `is given to libcurl in its own spelling`(_ row: Spelling) async throws {
    let origin = try OriginServer.start { _ in .ok("x") }
    defer { origin.stop() }
    let resolver = OriginResolver()
    let lab = lab(resolver) { [here] _, _, _ in here }
    #expect(try await lab.fetch("http://\(row.written):\(origin.port)/").status == 200)
    #expect(resolver.asked == (row.asked.map { [$0] } ?? []))
    #expect(origin.requests.count == 1)
  }

  @Test(arguments: ["localhost", "LOCALHOST", "a.localhost", "b.a.localhost."])
  func `below localhost is this machine`(name: String) throws {
    let loopback = try ["127.0.0.1", "::1"].map { try #require(NetworkAddress($0)) }
    #expect(SystemResolver.answer(to: name) == .addresses(loopback))
    #expect(SystemResolver.answer(to: "not" + name + ".invalid") != .addresses(loopback))
  }

  @Test func `is answered by the system`() throws {
    let address = try #require(NetworkAddress("127.0.0.1"))
    guard case .addresses(let addresses) = SystemResolver.answer(to: "localhost") else {
      Issue.record("localhost has no address")
      return
    }
    #expect(addresses.contains(address))
    guard case .failure = SystemResolver.answer(to: "no-such-host.invalid") else {
      Issue.record("a name that cannot exist has an address")
      return
    }
  }
}
