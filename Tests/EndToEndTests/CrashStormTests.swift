import ForeignSQLite
import Foundation
import Glibc
import TestSupport
import Testing

/// Workers of all kinds on one root, killed and frozen at random for `CRASH_SECONDS` (else a few), with the
/// luck of `CRASH_SEED` (else any).
@Suite struct `Workers that die at random moments` {
  private static func number(_ variable: String) -> Int? {
    ProcessInfo.processInfo.environment[variable].flatMap { Int($0) }
  }

  @Test func `lose nothing and repeat only what was under way`() async throws {
    let seconds = Self.number("CRASH_SECONDS") ?? 4
    let seed = Self.number("CRASH_SEED") ?? .random(in: 0..<1_000_000)
    let storm = try CrashStorm(seed: seed)
    print("crash storm: seed \(seed), \(seconds) s")
    try await storm.rage(for: .seconds(seconds))
    try await storm.endWork()
    let found = storm.findings()
    print("crash storm: \(found.words)")
    #expect(storm.unexpectedEnds.isEmpty, "seed \(seed): \(storm.unexpectedEnds)")
    #expect(found.requests <= found.items + found.underWay, "seed \(seed): \(found.words)")
    try await storm.expectAllWell()
  }
}

private final class CrashStorm {
  struct Findings {
    var items: Int
    var requests: Int
    /// Leases that workers held when they were struck.
    var underWay: Int
    var words: String
  }

  private struct Worker {
    var process: ProgramRun
    var result: Task<ProgramRun.Result, Never>
    var hasEnded: Script<Bool>
    var isGC: Bool
  }

  private static let itemsPerJob = 40
  /// Long enough for a machine with other work not to lose them.
  private static let lease: Duration = .seconds(2)

  private var luck: SeededGenerator
  private let scenario: Scenario
  private let origin: OriginServer
  private var jobs: [String] = []
  private var workers: [Worker] = []
  private var strikes: [String: Int] = [:]
  private var underWay = 0
  private(set) var unexpectedEnds: [String] = []

  init(seed: Int) throws {
    luck = SeededGenerator(seed: UInt64(seed))
    var scenario = Scenario()
    scenario.network["concurrency"] = 8
    scenario.settings["variants"] = [
      ["name": "thumb", "width": 16], ["name": "page", "width": 32],
    ]
    self.scenario = scenario
    origin = try OriginServer.start { request in
      let number = request.path.utf8.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xFFFF }
      // One in eight has the bytes of others.
      let color = number % 8 == 0 ? 0 : number
      let picture = OriginResponse.ok(
        PlainPNG.bytes(red: UInt8(color & 255), green: UInt8(color >> 8)),
        [("Cache-Control", "max-age=864000")])
      return .steps([.pause(.milliseconds(number % 40))] + picture.steps)
    }
  }

  deinit {
    for worker in workers where !worker.hasEnded.now { worker.process.signal(SIGKILL) }
    origin.stop()
  }

  // MARK: The storm

  func rage(for duration: Duration) async throws {
    let end = ContinuousClock.now + duration
    while ContinuousClock.now < end {
      if unfinishedItems < 2 * Self.itemsPerJob { try await enqueueJob() }
      try await replaceTheDead()
      try await Task.sleep(for: .milliseconds(Int.random(in: 20...400, using: &luck)))
      await strike()
    }
  }

  /// As far as the ledger knows of them.
  private var unfinishedItems: Int { ledger?.count("items", where: "state <> 1") ?? 0 }

  private var ledger: ForeignProgram? {
    try? ForeignProgram(scenario.root + "/ledger.sqlite")
  }

  private func enqueueJob() async throws {
    let name = "job\(jobs.count)"
    let manifest = try scenario.beside(name).manifest(
      (0..<Self.itemsPerJob).map { ["id": "i\($0)", "url": origin.url("/\(name)/\($0)")] })
    jobs.append(name)
    // It may be the one that is run instead; not the first, as without a ledger there is nothing for gc.
    guard Bool.random(using: &luck) || jobs.count == 1 else { return }
    let result = try await thumbworker(["enqueue", manifest])
    if result.status != 0 { unexpectedEnds.append("enqueue \(result.status): \(result.errors)") }
  }

  private func replaceTheDead() async throws {
    for worker in workers where worker.hasEnded.now { await look(at: worker, mayBe: []) }
    workers.removeAll { $0.hasEnded.now }
    while workers.count < 3 { try start() }
  }

  private func start() throws {
    let kind = Int.random(in: 0..<8, using: &luck)
    let job = jobs.randomElement(using: &luck)!
    let lease = ["--workers", "1", "--lease", "\(Self.lease.components.seconds)s"]
    let arguments =
      switch kind {
      case 0: ["gc", "--max-age", "30d"]
      case 1...3: ["run", "\(scenario.folder.path)/\(job).json", "--progress", "none"] + lease
      default: ["work", "--quiet", "--gc-every", "1s"] + lease
      }
    let process = try ProgramRun(
      "thumbworker", arguments + ["--root", scenario.root], in: scenario.folder.path)
    let hasEnded = Script(false)
    let result = Task {
      let result = await process.result()
      hasEnded.now = true
      return result
    }
    workers.append(
      Worker(process: process, result: result, hasEnded: hasEnded, isGC: kind == 0))
  }

  private func strike() async {
    let index = Int.random(in: workers.indices, using: &luck)
    let worker = workers[index]
    switch Int.random(in: 0..<10, using: &luck) {
    case 0...1:
      guard let decoder = worker.process.children.randomElement(using: &luck) else { return }
      kill(decoder, SIGKILL)
      strikes["decoders killed", default: 0] += 1
    case 2 where !worker.isGC:
      freeze(worker)
      underWay += leases(of: worker)
      strikes["workers frozen past their leases", default: 0] += 1
    case 3:
      worker.process.signal(SIGTERM)
      strikes["workers stopped", default: 0] += 1
    default:
      worker.process.signal(SIGKILL)
      _ = await worker.result.value
      underWay += leases(of: worker)
      strikes[worker.isGC ? "gc killed" : "workers killed", default: 0] += 1
      await look(at: worker, mayBe: [137])
      workers.remove(at: index)
    }
  }

  /// What it holds cannot be its own any more, or will not be when it goes on.
  private func leases(of worker: Worker) -> Int {
    ledger?.count("leases", where: "owner LIKE '%:\(worker.process.pid)'") ?? 0
  }

  /// By a task of its own: it may hold the ledger's lock, and whoever waits for that is waited for here.
  private func freeze(_ worker: Worker) {
    let (process, hasEnded) = (worker.process, worker.hasEnded)
    let time = Self.lease + .milliseconds(500)
    process.signal(SIGSTOP)
    Task {
      try? await Task.sleep(for: time)  // nobody cancels it
      if !hasEnded.now { process.signal(SIGCONT) }
    }
  }

  /// 1: items failed, which a killed decoder does; 143: it was stopped.
  private func look(at worker: Worker, mayBe others: [Int32]) async {
    let result = await worker.result.value
    if ![0, 1, 143].contains(result.status), !others.contains(result.status) {
      unexpectedEnds.append("\(result.status): \(result.errors)")
    }
  }

  // MARK: After it

  /// Lets all that is left end, then brings every job to its end.
  func endWork() async throws {
    for worker in workers {
      worker.process.signal(SIGTERM)
      await look(at: worker, mayBe: [])
    }
    workers = []
    let result = try await thumbworker(
      ["run", "--retry-failed", "--quiet", "--workers", "1"]
        + jobs.map { "\(scenario.folder.path)/\($0).json" })
    if result.status != 0 { unexpectedEnds.append("\(result.status): \(result.errors)") }
  }

  func findings() -> Findings {
    let struck = strikes.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
    let (items, requests) = (jobs.count * Self.itemsPerJob, origin.requests.count)
    return Findings(
      items: items, requests: requests, underWay: underWay,
      words: """
        \(struck.joined(separator: ", ")); \(items) items, \(requests) requests, \
        \(underWay) claims under way when their workers were struck
        """)
  }

  func expectAllWell() async throws {
    let asked = origin.requests.count
    for job in jobs {
      let own = scenario.beside(job)
      #expect(own.publishedPaths.count == 2 * Self.itemsPerJob, "\(job)")
    }
    let status = try await scenario.status()
    let known = status["jobs"] as? [[String: Any]] ?? []
    #expect(known.count == jobs.count)
    for job in known { #expect(job["fresh"] as? Int == Self.itemsPerJob, "\(job)") }
    #expect((status["queue"] as? [String: Int])?["leased"] == 0)
    let verified = try await thumbworker(["verify", "--json"])
    print("crash storm: verify \(verified.status == 0 ? "finds nothing wrong" : verified.output)")
    #expect(verified.status == 0 && verified.json["strangers"] as? Int == 0, "\(verified.output)")
    let collected = try await thumbworker(["gc", "--json"])
    let objects = collected.json["objects"] as? [String: Int]
    #expect(objects?["count"] == scenario.objectCount, "\(collected.output)")
    let whole = try ForeignProgram(scenario.root + "/ledger.sqlite").query("PRAGMA integrity_check")
    #expect(whole == [["ok"]])
    #expect(try await thumbworker(["work", "--drain", "--workers", "1"]).status == 0)
    #expect(origin.requests.count == asked)
  }

  private func thumbworker(_ arguments: [String]) async throws -> ProgramRun.Result {
    try await ProgramRun(
      "thumbworker", arguments + ["--root", scenario.root], in: scenario.folder.path
    ).result()
  }
}
