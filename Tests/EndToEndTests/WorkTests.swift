import Foundation
import Glibc
import TestSupport
import Testing
import Threading

/// Two jobs on one root, put on its queue, and workers for it.
private final class Queue {
  let scenario = Scenario()
  let origin: OriginServer
  let isOpen = Script(true)

  init() throws {
    let isOpen = self.isOpen
    origin = try OriginServer.start { request in
      while !isOpen.now { usleep(2000) }
      if request.path.hasPrefix("/missing") { return .status(404) }
      return .ok(
        PlainPNG.bytes(red: request.path.utf8.reduce(0) { $0 &+ $1 }),
        [("Cache-Control", "max-age=86400")])
    }
  }

  deinit { origin.stop() }

  func enqueue(_ job: String, _ paths: [String]) async throws -> ProgramRun.Result {
    let manifest = try scenario.beside(job).manifest(
      paths.map { ["id": $0, "url": origin.url("/\($0)")] })
    return try await ProgramRun.thumbworker(
      "enqueue", manifest, "--root", scenario.root, in: scenario.folder.path)
  }

  func work(_ options: String...) throws -> ProgramRun {
    try ProgramRun(
      "thumbworker", ["work", "--root", scenario.root, "--workers", "1", "--json"] + options,
      in: scenario.folder.path)
  }

  func published(_ job: String) -> Int { scenario.beside(job).publishedPaths.count }

  /// Waits for a worker to have come so far; the test's time limit is what ends it otherwise.
  func wait(until isTrue: () async throws -> Bool) async throws {
    while try await !isTrue() { try await Task.sleep(for: .milliseconds(20)) }
  }
}

@Suite struct `work` {
  @Test func `drains every job that is on the queue, shared by any number of workers`() async throws
  {
    let queue = try Queue()
    let paths = (0..<40).map { "p\($0)" }
    #expect(try await queue.enqueue("one", paths).output == "one: 40 items on the queue\n")
    #expect(try await queue.enqueue("two", ["missing", "p1"]).status == 0)
    #expect(queue.origin.requests.isEmpty, "putting it on the queue asks nobody")
    let workers = try [queue.work("--drain"), queue.work("--drain"), queue.work("--drain")]
    var fetched = 0
    for worker in workers {
      let result = await worker.result()
      #expect(result.status == 0, "\(result.errors)")
      fetched += result.jsonLines.reduce(0) {
        $0 + (($1["outcomes"] as? [String: Int])?["fetched"] ?? 0)
      }
    }
    // The picture that both jobs name is fetched by one of them; to the other it is fresh, or new as well
    // where they met.
    #expect((40...41).contains(fetched))
    #expect(queue.published("one") == 40 && queue.published("two") == 1)
    let counts = Dictionary(grouping: queue.origin.requests, by: \.path).mapValues(\.count)
    #expect(counts.count == 41 && counts.values.allSatisfy { $0 == 1 })
    let again = try await queue.work("--drain").result()
    #expect(again.status == 0 && again.output.isEmpty && queue.origin.requests.count == 41)
  }

  @Test func `takes up what is put on the queue while it waits, and ends at a signal`() async throws
  {
    let queue = try Queue()
    #expect(try await queue.enqueue("one", ["a"]).status == 0)
    let worker = try queue.work()
    try await queue.wait { queue.published("one") == 1 }
    #expect(try await queue.enqueue("two", ["b", "c"]).status == 0)
    try await queue.wait { queue.published("two") == 2 }
    #expect(try await queue.enqueue("one", ["a", "d"]).status == 0)
    try await queue.wait { queue.published("one") == 2 }
    worker.signal(SIGTERM)
    #expect(await worker.result().status == 143)
    #expect(queue.origin.requests.count == 4)
  }

  @Test func `lets what is under way end after a signal, and gives the rest back`() async throws {
    let queue = try Queue()
    queue.isOpen.now = false
    #expect(try await queue.enqueue("one", (0..<30).map { "p\($0)" }).status == 0)
    let worker = try queue.work()
    try await queue.wait { !queue.origin.requests.isEmpty }
    worker.signal(SIGTERM)
    try await queue.wait { !worker.hasPendingSignals }
    queue.isOpen.now = true
    #expect(await worker.result().status == 143)
    let asked = queue.origin.requests.count
    #expect(queue.published("one") == asked && asked < 30, "what had begun is there")
    let leased = (try await queue.scenario.status()["queue"] as? [String: Int])?["leased"]
    #expect(leased == 0)
    #expect(try await queue.work("--drain").result().status == 0)
    #expect(queue.origin.requests.count == 30)
  }

  @Test func `counts as batch work to the kernel, with all its threads and decoders`() async throws
  {
    let queue = try Queue()
    queue.isOpen.now = false
    #expect(try await queue.enqueue("one", ["a"]).status == 0)
    let worker = try queue.work()
    try await queue.wait { !queue.origin.requests.isEmpty && !worker.children.isEmpty }
    let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(worker.pid)/task")
      .compactMap { pid_t($0) }
    // One that has ended meanwhile has none.
    let policies = (threads + worker.children).map { sched_getscheduler($0) }.filter { $0 >= 0 }
    #expect(Set(policies) == [BatchScheduling.policy])
    worker.signal(SIGTERM)
    queue.isOpen.now = true
    #expect(await worker.result().status == 143)
  }

  @Test func `cuts off what does not end within its grace`() async throws {
    let queue = try Queue()
    queue.isOpen.now = false
    #expect(try await queue.enqueue("one", ["a"]).status == 0)
    let worker = try queue.work("--grace", "100ms")
    try await queue.wait { !queue.origin.requests.isEmpty }
    worker.signal(SIGINT)
    #expect(await worker.result().status == 130)
    let leased = (try await queue.scenario.status()["queue"] as? [String: Int])?["leased"]
    #expect(leased == 0)
    queue.isOpen.now = true
  }

  @Test func `ends at once at a second signal, and nothing is lost`() async throws {
    let queue = try Queue()
    queue.isOpen.now = false
    #expect(try await queue.enqueue("one", ["a", "b"]).status == 0)
    let worker = try queue.work("--grace", "1h", "--lease", "1s")
    try await queue.wait { !queue.origin.requests.isEmpty }
    worker.signal(SIGINT)
    worker.signal(SIGTERM)  // of two that wait, the smaller number is taken first
    #expect(await worker.result().status == 143)
    queue.isOpen.now = true
    #expect(try await queue.work("--drain").result().status == 0)
    #expect(queue.published("one") == 2)
  }

  @Test func `leaves a paused job alone, and one whose variables are not set`() async throws {
    let queue = try Queue()
    #expect(try await queue.enqueue("one", ["a"]).status == 0)
    _ = try await ProgramRun.thumbworker(
      "jobs", "pause", "one", "--root", queue.scenario.root, in: queue.scenario.folder.path)
    var secret = queue.scenario.beside("two")
    secret.network["headers"] = ["X-Api-Key": "${WORK_TEST_KEY}"]
    let manifest = try secret.manifest([queue.origin.url("/b")])
    let put = try await ProgramRun.thumbworker(
      "enqueue", manifest, "--root", queue.scenario.root, in: queue.scenario.folder.path,
      environment: ["WORK_TEST_KEY": "k"])
    #expect(put.status == 0)
    let worker = try await queue.work("--drain").result()
    #expect(worker.status == 3 && worker.errors.contains("WORK_TEST_KEY"), "\(worker.errors)")
    #expect(queue.origin.requests.isEmpty)
  }

  @Test func `takes up what a manifest says by now, unless it drains`() async throws {
    let queue = try Queue()
    #expect(try await queue.enqueue("one", ["a"]).status == 0)
    #expect(try await queue.work("--drain").result().status == 0)
    let manifest = try queue.scenario.beside("one").manifest(
      ["a", "b"].map { ["id": $0, "url": queue.origin.url("/\($0)")] })
    let then = timeval(tv_sec: time(nil) - 60, tv_usec: 0)
    utimes(manifest, [then, then])
    #expect(try await queue.work("--drain").result().status == 0)
    #expect(queue.published("one") == 1)
    let worker = try queue.work()
    try await queue.wait { queue.published("one") == 2 }
    worker.signal(SIGTERM)
    #expect(await worker.result().status == 143)
  }

  @Test func `writes its log where the file's name leads after SIGHUP`() async throws {
    let queue = try Queue()
    let log = queue.scenario.folder.path + "/worker.log"
    #expect(try await queue.enqueue("one", ["a"]).status == 0)
    let worker = try queue.work("--log", log)
    try await queue.wait { text(of: log).contains("one: 1 item") }
    rename(log, log + ".1")
    worker.signal(SIGHUP)
    try await queue.wait { FileManager.default.fileExists(atPath: log) }
    #expect(try await queue.enqueue("two", ["b"]).status == 0)
    try await queue.wait { text(of: log).contains("two: 1 item") }
    worker.signal(SIGTERM)
    let result = await worker.result()
    #expect(result.status == 143 && result.errors.isEmpty)
    #expect(!text(of: log + ".1").contains("two:"))
  }

  private func text(of path: String) -> String {
    String(decoding: StorageTemporaryFolder.bytes(of: path) ?? [], as: UTF8.self)
  }
}
