import HTTPTransfer
import Synchronization
import TestSupport
import Testing
import Threading
import Vocabulary

@testable import Fetching

@Suite struct `A host's line` {
  /// Notes what it is told.
  private final class Waiter: GateWaiter {
    private let admissions = Mutex<[HostGates.Admission]>([])
    private let isDone = Atomic(false)

    var mayStart: Bool {
      get { !isDone.load(ordering: .relaxed) }
      set { isDone.store(!newValue, ordering: .relaxed) }
    }

    var told: [HostGates.Admission] { admissions.withLock { $0 } }

    func isAdmitted(_ admission: HostGates.Admission, at now: Duration) {
      admissions.withLock { $0.append(admission) }
    }
  }

  private let gates = HostGates(sleeper: ManualSleeper())

  private func enter(
    parallel: Int, spacing: Duration = .zero, _ waiter: Waiter = Waiter()
  ) -> (ticket: HostGate.Ticket, waiter: Waiter) {
    let ticket = gates.ticket(parallel: parallel, spacing: spacing)
    gates.enter("a", ticket, waiter)
    return (ticket, waiter)
  }

  private var active: Int? { gates.gates { gate, _ in gate.active }["a"] }

  @Test func `tells each waiter once, whether it is given up or its turn comes`() {
    let first = enter(parallel: 1)
    let second = enter(parallel: 1)
    let third = enter(parallel: 1)
    for _ in 1...2 { gates.cancel("a", second.ticket) }
    gates.leave("a", first.ticket, .none)
    gates.cancel("a", second.ticket)
    gates.leave("a", third.ticket, .none)
    #expect(first.waiter.told == [.started(first.ticket)])
    #expect(second.waiter.told == [.cancelled])
    #expect(third.waiter.told == [.started(third.ticket)])
    #expect(active == nil)  // forgotten: nobody has kept a turn
  }

  @Test func `is not left by who has started, nor by who has not come yet`() {
    let first = enter(parallel: 1)
    gates.cancel("a", first.ticket)
    #expect(first.waiter.told == [.started(first.ticket)])
    #expect(active == 1)
    let (late, waiter) = (gates.ticket(parallel: 1, spacing: .zero), Waiter())
    gates.cancel("a", late)
    gates.enter("a", late, waiter)
    #expect(waiter.told == [])
    gates.cancel("a", late)
    #expect(waiter.told == [.cancelled])
  }

  @Test func `sends away who has nothing to start, however far apart starts are`() {
    let first = enter(parallel: 9, spacing: .hours(1))
    let others = (1...60).map { _ in enter(parallel: 9, spacing: .hours(1)) }
    for other in others[..<59] { other.waiter.mayStart = false }
    gates.sendAway()
    #expect(others[..<59].allSatisfy { $0.waiter.told == [.cancelled] })
    #expect(first.waiter.told == [.started(first.ticket)])
    #expect(others[59].waiter.told == [])
    let late = Waiter()
    late.mayStart = false
    #expect(enter(parallel: 9, spacing: .hours(1), late).waiter.told == [.cancelled])
    gates.cancel("a", others[59].ticket)
    gates.leave("a", first.ticket, .none)
    #expect(active == 0)  // it is remembered for its rate
  }

  @Test func `lets who is behind those it sends away start at once where he may`() {
    let first = enter(parallel: 1)
    let strict = enter(parallel: 1)
    let other = enter(parallel: 2)
    strict.waiter.mayStart = false
    gates.sendAway()
    #expect(other.waiter.told == [.started(other.ticket)])
    for ticket in [first.ticket, other.ticket] { gates.leave("a", ticket, .none) }
    #expect(active == nil)
  }

  @Test func `moves up at once where its first gives up and the next may start`() {
    let first = enter(parallel: 1)
    let strict = enter(parallel: 1)
    let others = (1...2).map { _ in enter(parallel: 3) }
    #expect(others.map(\.waiter.told) == [[], []])
    gates.cancel("a", strict.ticket)
    #expect(others.map(\.waiter.told) == others.map { [.started($0.ticket)] })
    for ticket in [first.ticket] + others.map(\.ticket) { gates.leave("a", ticket, .none) }
    #expect(active == nil)
  }
}

/// That a test ends at all is part of what it shows.
@Suite struct `Who waits for a host's turn` {
  /// An origin of which one request is under way, and so many that wait in line.
  private struct Scene {
    let gate = OriginGate()
    let origin: OriginServer
    let lab: Lab
    let first: Task<Int, any Error>
    let others: [Task<String, Never>]

    init(waiting count: Int, adjust: (inout FetchRequest) -> Void = { _ in }) async throws {
      origin = try OriginServer.start { [gate] _ in
        .steps([.wait(gate), .sendBytes(OriginResponse.head(204, []))])
      }
      let (origin, lab) = (origin, Lab { $0.perHost = 1 })
      self.lab = lab
      first = Task { try await lab.fetch(origin.url("/first")).status }
      await origin.requests(reach: 1)
      // On the transfer thread: when that has looked twice, they are in line.
      others = try (0..<count).map { number in
        var request = try lab.request(origin.url("/\(number)"))
        adjust(&request)
        return Task(executorPreference: lab.engine.executor) { [request] in
          await Self.end(of: request, lab)
        }
      }
      await lab.engine.lookAtDeadlines()
      await lab.engine.lookAtDeadlines()
    }

    private static func end(of request: FetchRequest, _ lab: Lab) async -> String {
      do throws(FetchFailure) {
        return "\(try await lab.fetcher.fetch(request).status)"
      } catch {
        return error.code
      }
    }

    /// How the others end.
    func ends() async -> [String] {
      var ends: [String] = []
      for other in others { ends.append(await other.value) }
      return ends
    }

    func stop() {
      gate.open()
      origin.stop()
    }
  }

  @Test func `leaves it to those behind where it is cancelled`() async throws {
    let scene = try await Scene(waiting: 6)
    defer { scene.stop() }
    for place in [0, 2, 3, 5] { scene.others[place].cancel() }
    for place in [0, 2, 3, 5] { #expect(await scene.others[place].value == "cancelled") }
    #expect(scene.origin.requests.count == 1)
    scene.gate.open()
    #expect(try await scene.first.value == 204)
    #expect(await scene.ends().filter { $0 != "cancelled" } == ["204", "204"])
    #expect(scene.origin.requests.map(\.path) == ["/first", "/1", "/4"])
    #expect(scene.lab.turnsTaken == 0)
  }

  @Test func `passes it on where it may not begin any more`() async throws {
    let isStopping = Atomic(false)
    let scene = try await Scene(waiting: 300) { request in
      request.mayBegin = { !isStopping.load(ordering: .relaxed) }
    }
    defer { scene.stop() }
    isStopping.store(true, ordering: .relaxed)
    scene.gate.open()
    #expect(try await scene.first.value == 204)
    #expect(await scene.ends().allSatisfy { $0 == "cancelled" })
    #expect(scene.origin.requests.count == 1)
    #expect(scene.lab.turnsTaken == 0)
  }

  @Test func `ends before its turn where it may not begin any more`() async throws {
    let isStopping = Atomic(false)
    let scene = try await Scene(waiting: 300) { request in
      request.mayBegin = { !isStopping.load(ordering: .relaxed) }
    }
    defer { scene.stop() }
    isStopping.store(true, ordering: .relaxed)
    scene.lab.fetcher.sendAway()
    #expect(await scene.ends().allSatisfy { $0 == "cancelled" })
    scene.gate.open()
    #expect(try await scene.first.value == 204)
    #expect(scene.origin.requests.count == 1)
    #expect(scene.lab.turnsTaken == 0)
  }

  @Test func `ends with the engine, however many there are`() async throws {
    let scene = try await Scene(waiting: 2000)
    defer { scene.stop() }
    scene.lab.engine.stop()
    #expect(await scene.ends().allSatisfy { $0 == "cancelled" })
    await #expect(throws: FetchFailure.self) { try await scene.first.value }
    #expect(scene.origin.requests.count == 1)
    #expect(scene.lab.turnsTaken == 0)
  }

  /// Turns are given back, taken and given up at the same time, by all kinds of threads.
  @Test func `may be cancelled at any moment`() async throws {
    let origin = try OriginServer.start { _ in .status(204) }
    defer { origin.stop() }
    let lab = Lab { $0.perHost = 3 }
    for round in 0..<20 {
      let tasks = (0..<60).map { number in
        Task { try await lab.fetch(origin.url("/\(round)/\(number)")).status }
      }
      for task in tasks.enumerated() where (task.offset + round) % 3 != 0 { task.element.cancel() }
      for (number, task) in tasks.enumerated() {
        let status = try? await task.value
        #expect(status == 204 || (number + round) % 3 != 0)
      }
      #expect(lab.turnsTaken == 0)
    }
    #expect(origin.peakRequests <= 3)
  }
}

extension Lab {
  /// Of all hosts.
  fileprivate var turnsTaken: Int {
    fetcher.gates.gates { gate, _ in gate.active }.values.reduce(0, +)
  }
}
