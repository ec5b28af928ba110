import Fetching
import HTTPCaching
import HTTPTransfer
import Synchronization
import TestSupport
import Threading
import Vocabulary

/// A fetcher with real sockets, limits short enough for a test, and time that may stand still.
struct Lab {
  let engine: TransferEngine
  let fetcher: Fetcher
  let sleeper: any Sleeper
  var settings = NetworkSettings()

  static let loopback = AddressRange("127.0.0.0/8")!

  init(
    _ options: TransferEngine.Options = .init(connections: 32),
    sleeper: any Sleeper = SystemSleeper(), clock: WallClock = .system, jitter: Double = 0,
    adjust: (inout NetworkSettings) -> Void = { _ in }
  ) {
    engine = TransferEngine(options)
    self.sleeper = sleeper
    fetcher = Fetcher(engine: engine, sleeper: sleeper, clock: clock, jitter: { jitter })
    settings.allow = [Self.loopback]
    settings.attempts = 1
    settings.connectTimeout = .seconds(5)
    settings.idleTimeout = .seconds(5)
    settings.timeout = .seconds(20)
    adjust(&settings)
  }

  func request(_ url: String, to sink: MemorySink = MemorySink()) throws -> FetchRequest {
    FetchRequest(
      url: try ItemURL(url), settings: settings, sendsCredentials: true, makeSink: { sink.opened() }
    )
  }

  func fetch(_ url: String, to sink: MemorySink = MemorySink()) async throws -> FetchedResponse {
    try await fetcher.fetch(request(url, to: sink))
  }

  /// The failure of a fetch that must fail; nil where it does not.
  func failure(of url: String, to sink: MemorySink = MemorySink()) async throws -> FetchFailure? {
    do throws(FetchFailure) {
      _ = try await fetcher.fetch(try! request(url, to: sink))
      return nil
    } catch {
      return error
    }
  }
}

/// Keeps what it is given, of the last body that was begun.
final class MemorySink: BodySink {
  private struct State {
    var bytes: [UInt8] = []
    var openings = 0
    var refusal: FailureRecord?
  }

  private let state: Mutex<State>

  init(refusing refusal: FailureRecord? = nil) { state = Mutex(State(refusal: refusal)) }

  var bytes: [UInt8] { state.withLock { $0.bytes } }
  var openings: Int { state.withLock { $0.openings } }

  func opened() -> MemorySink {
    state.withLock { state in
      state.openings += 1
      state.bytes = []
    }
    return self
  }

  func write(_ piece: UnsafeRawBufferPointer) throws(FailureRecord) {
    let refusal = state.withLock { state -> FailureRecord? in
      state.bytes.append(contentsOf: piece)
      return state.refusal
    }
    if let refusal { throw refusal }
  }
}

/// So many bytes that look like nothing in particular.
func sampleBytes(_ count: Int) -> [UInt8] {
  var value: UInt32 = 12345
  return (0..<count).map { _ in
    value = value &* 1_664_525 &+ 1_013_904_223
    return UInt8(value >> 24)
  }
}
