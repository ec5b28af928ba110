import DecoderPool
import Fetching
import HTTPTransfer
import Hashing
import LedgerCore
import LedgerSQLite
import Manifests
import Pipeline
import Storage
import Synchronization
import TestSupport
import Threading
import Vocabulary

/// A wall clock that stands still until it is moved.
final class ManualClock: Sendable {
  private let milliseconds = Mutex<Int64>(1_800_000_000_000)

  var now: Timestamp { Timestamp(milliseconds: milliseconds.withLock { $0 }) }
  var wall: WallClock { WallClock { [self] in now.milliseconds } }

  func advance(by duration: Duration) {
    milliseconds.withLock { $0 += duration.wholeMilliseconds }
  }
}

/// Goes with a manual clock. A sleep is over after a moment, whether or not the clock was moved: whoever
/// looks at it again sees no time gone by.
private struct ManualClockSleeper: Sleeper {
  let clock: ManualClock

  var now: Duration { .milliseconds(clock.now.milliseconds) }

  func sleep(until deadline: Duration) async throws(CancellationError) {
    do {
      try await Task.sleep(for: .milliseconds(20))
    } catch {
      throw CancellationError()
    }
  }
}

/// A whole worker with real stages, on a wall clock that a test moves.
final class Workshop: Sendable {
  let clock: ManualClock
  let worker: Worker
  let root: RootLayout
  private let folder: StorageTemporaryFolder
  private let engine = TransferEngine(connections: 16)

  /// - Parameter other: whose root and clock it shares, as another process would.
  init(beside other: Workshop? = nil) async throws {
    clock = other?.clock ?? ManualClock()
    folder = other?.folder ?? StorageTemporaryFolder()
    root = RootLayout(root: folder.path + "/root")
    try root.create()
    let ledger = try await LedgerSQLite.open(path: root.ledger, clock: clock.wall, owner: "test")
    let sleeper = ManualClockSleeper(clock: clock)
    worker = Worker(
      ledger: ledger,
      store: try await ObjectStore.open(root: root, storeID: try await ledger.storeID()),
      fetcher: Fetcher(
        engine: engine, sleeper: sleeper, clock: clock.wall, jitter: { 0 }),
      decoders: try DecoderPool(
        executable: ProgramRun.binaries + "/thumbdecoder", decoders: 1, memory: 1 << 30),
      clock: clock.wall, sleeper: sleeper)
  }

  deinit { engine.stop() }

  /// Another worker's store on the same root.
  func anotherStore() async throws -> ObjectStore {
    try await ObjectStore.open(root: root, storeID: try await worker.ledger.storeID())
  }

  /// One run of a job with one item, `a`.
  ///
  /// - Parameters:
  ///   - cache: the manifest's `cache`, as JSON text.
  ///   - encoders: what its decoders are held to have.
  /// - Returns: the outcome that the item had.
  func run(
    _ url: String, cache: String = "{}", job: String = "job",
    encoders: EncoderVersions = .unknown,
    adjust: (inout RunOptions) -> Void = { _ in }
  ) async throws -> Outcome? {
    let summary = try await run(
      ["a": url], cache: cache, job: job, encoders: encoders, adjust: adjust)
    return summary.outcomes.first { $0.value > 0 }?.key
  }

  /// One run of a job with these items, by id.
  func run(
    _ items: [String: String], cache: String = "{}", network: String = #""attempts": 1"#,
    publish: String = "{}", job: String = "job", board: RunBoard = RunBoard(),
    encoders: EncoderVersions = .unknown,
    adjust: (inout RunOptions) -> Void = { _ in }
  ) async throws -> RunSummary {
    let list = items.sorted { $0.key < $1.key }
      .map { #"{"id": "\#($0.key)", "url": "\#($0.value)"}"# }
    let file = ManifestTestFile(
      """
      {"version": 1, "name": "\(job)", "network": {"allow": ["127.0.0.0/8"], \(network)},
        "variants": [{"name": "thumb", "width": 16}], "cache": \(cache), "publish": \(publish),
        "items": [\(list.joined(separator: ", "))]}
      """)
    var options = RunOptions()
    adjust(&options)
    let worker = Worker(
      ledger: worker.ledger, store: worker.store, fetcher: worker.fetcher,
      decoders: worker.decoders, clock: worker.clock, sleeper: worker.sleeper, encoders: encoders)
    try await worker.ledger.adopt(encoders)
    let summary = await JobRun(
      worker: worker, source: .manifest(try ManifestFile.open(path: file.path, environment: [:])),
      options: options, board: board
    ).run()
    if let stop = summary.stoppedBy { throw stop }
    return summary
  }

  /// What `work --drain` does.
  func drain() async throws {
    let tell = WorkLoop.Tellers(begins: { _, _ in }, ends: { _, _ in }, cannot: { _, _ in })
    let failures = try await WorkLoop(
      worker: worker, environment: [:], options: RunOptions(), tell: tell, isStopped: { false }
    ).run(drains: true)
    if let failure = failures.first { throw failure }
  }

  /// What is known of a URL.
  func entry(_ url: String) async throws -> Entry? {
    try await worker.ledger.entry(EntryKey(try ItemURL(url)))
  }

  /// The item's published paths.
  func published() async throws -> [String] {
    try await worker.ledger.items(withID: "a").flatMap(\.published).map(\.path)
  }

  func story(_ url: String) async throws -> EntryStory {
    try await EntryLookup(ledger: worker.ledger, environment: [:])
      .story(of: try ItemURL(url), at: clock.now)
  }
}

/// An origin of one picture that answers as it is told to.
struct ScriptedOrigin: Sendable {
  private final class Script: Sendable {
    private struct Answer {
      var status: Int
      var fields: [(String, String)]
    }

    private let answer = Mutex(Answer(status: 200, fields: []))

    func set(_ status: Int, _ fields: [(String, String)]) {
      answer.withLock { $0 = Answer(status: status, fields: fields) }
    }

    var response: OriginResponse {
      let (status, fields) = answer.withLock { ($0.status, $0.fields) }
      return status == 200
        ? .ok(ScriptedOrigin.picture, fields) : .status(status, [], fields)
    }
  }

  static let picture = PlainPNG.bytes()

  private let script: Script
  let server: OriginServer
  var url: String { server.url("/a") }
  var asked: Int { server.requests.count }

  init(_ status: Int = 200, _ fields: [(String, String)] = []) throws {
    let script = Script()
    script.set(status, fields)
    self.script = script
    server = try OriginServer.start { _ in script.response }
  }

  func says(_ status: Int = 200, _ fields: [(String, String)] = []) { script.set(status, fields) }
}
