import Fetching
import HTTPCaching
import HTTPTransfer
import Synchronization
import TestSupport
import Threading
import Vocabulary

/// A fetcher with real sockets, and time that stands still until a test moves it.
///
/// libcurl's own timer, that of the connection, is the only one that goes by real time.
struct Lab {
  let engine: TransferEngine
  let fetcher: Fetcher
  let sleeper: ManualSleeper
  var settings = NetworkSettings()

  static let loopback = AddressRange("127.0.0.0/8")!

  init(
    _ options: TransferEngine.Options = .init(connections: 32),
    sleeper: ManualSleeper = ManualSleeper(), clock: WallClock = .system, jitter: Double = 0,
    adjust: (inout NetworkSettings) -> Void = { _ in }
  ) {
    var options = options
    options.clock = { sleeper.now.wholeMilliseconds }
    engine = TransferEngine(options)
    self.sleeper = sleeper
    fetcher = Fetcher(engine: engine, sleeper: sleeper, clock: clock, jitter: { jitter })
    settings.allow = [Self.loopback]
    settings.attempts = 1
    settings.connectTimeout = .seconds(600)
    adjust(&settings)
  }

  /// Lets time pass, for waits and for deadlines; returns when what is overdue has ended.
  func advance(by duration: Duration) async {
    sleeper.advance(by: duration)
    await engine.lookAtDeadlines()
  }

  func request(_ url: String, to sink: MemorySink = MemorySink()) throws -> FetchRequest {
    FetchRequest(
      url: try ItemURL(url), settings: settings, sendsCredentials: true,
      makeSink: { _ in sink.opened() }
    )
  }

  func fetch(_ url: String, to sink: MemorySink = MemorySink()) async throws -> FetchedResponse {
    try await fetcher.fetch(request(url, to: sink))
  }

  /// The failure of a fetch that must fail; nil where it does not.
  func failure(of url: String, to sink: MemorySink = MemorySink()) async throws -> FetchFailure? {
    await failure(of: try request(url, to: sink))
  }

  func failure(of request: FetchRequest) async -> FetchFailure? {
    do throws(FetchFailure) {
      _ = try await fetcher.fetch(request)
      return nil
    } catch {
      return error
    }
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
