import Fetching
import HTTPCaching
import HTTPTransfer
import Synchronization
import Threading
import Vocabulary

/// What is asked for, and by what.
private struct Requests {
  private let urls: [ItemURL]
  private let count: Int
  let connections: Int
  let engine: TransferEngine

  init(_ values: WorkValues) throws {
    urls = try values.urls()
    count = try values.count("requests")
    connections = try values.count("connections")
    engine = TransferEngine(connections: connections)
  }

  /// Asks for each, so many at a time, and prints what that has cost.
  func measure(_ ask: @escaping @Sendable (ItemURL) async throws -> Void) async throws {
    let urls = urls
    try await WorkReport.measure {
      try await inTurn(count, atATime: connections) { try await ask(urls[$0 % urls.count]) }
    }
  }
}

/// Requests through the fetcher, so many at a time; bodies are hashed and dropped.
struct FetchWork: Work {
  private let requests: Requests

  init(_ values: WorkValues) throws { requests = try Requests(values) }

  var executor: (any TaskExecutor)? { requests.engine.executor }

  func run() async throws {
    let fetcher = Fetcher(
      engine: requests.engine, sleeper: SystemSleeper(), clock: .system,
      jitter: { .random(in: 0..<1) })
    let manner = RequestManner(.loopback(connections: requests.connections))
    try await requests.measure { url in
      let reply = try await fetcher.fetch(
        FetchRequest(
          url: url, manner: manner, sendsCredentials: true,
          makeSink: { _ in DroppingSink.only }))
      guard reply.status == 200, reply.body != nil else {
        throw BenchFailure(message: "\(url) answered \(reply.status)")
      }
    }
  }
}

/// The same without the fetcher: no gate of the host, no attempts, no fields of ours.
struct TransferWork: Work {
  private let requests: Requests

  init(_ values: WorkValues) throws { requests = try Requests(values) }

  var executor: (any TaskExecutor)? { requests.engine.executor }

  func run() async throws {
    let guarding = AddressGuard(allow: NetworkSettings.loopback(connections: 1).allow)
    let engine = requests.engine
    try await requests.measure { url in
      let report = await engine.perform(
        ExchangeRequest(url: url, guarding: guarding, makeSink: { _ in DroppingSink.only }))
      guard report.fault == nil, report.body != nil else {
        throw BenchFailure(message: "\(url): \(String(describing: report.fault))")
      }
    }
  }
}

/// Takes bytes and keeps none.
final class DroppingSink: BodySink {
  static let only = DroppingSink()

  func write(_ bytes: UnsafeRawBufferPointer) throws(FailureRecord) {}
}

/// Calls `body` for each number below `count`, so many at a time.
///
/// - Returns: `count`.
func inTurn(
  _ count: Int, atATime parallel: Int, _ body: @escaping @Sendable (Int) async throws -> Void
) async throws -> Int {
  let next = Counter()
  try await withThrowingTaskGroup(of: Void.self) { group in
    for _ in 0..<parallel {
      group.addTask {
        while case let number = next.take(), number < count { try await body(number) }
      }
    }
    try await group.waitForAll()
  }
  return count
}

private final class Counter: Sendable {
  private let value = Atomic(0)

  func take() -> Int { value.add(1, ordering: .relaxed).oldValue }
}

extension NetworkSettings {
  /// For an origin on this machine that takes as much as is sent to it.
  static func loopback(connections: Int) -> NetworkSettings {
    var settings = NetworkSettings()
    settings.allow = [AddressRange("127.0.0.0/8")!]
    settings.concurrency = connections
    settings.perHost = connections
    return settings
  }
}

extension WorkValues {
  func urls() throws -> [ItemURL] {
    let base = try text("url")
    return try lines("list").map { try ItemURL("\(base)/\($0)") }
  }
}
