import Fetching
import HTTPTransfer
import TestSupport
import Testing
import Vocabulary

@Suite struct `What a fetch holds` {
  /// Tells when nobody holds it any more.
  private final class Held: Sendable {
    private let life: AsyncStream<Never>.Continuation

    init(_ life: AsyncStream<Never>.Continuation) { self.life = life }

    deinit { life.finish() }
  }

  private func request(of url: String, _ lab: Lab, holding held: Held) throws -> FetchRequest {
    FetchRequest(
      url: try ItemURL(url), settings: lab.settings, sendsCredentials: true,
      makeSink: { [held] _ in
        _ = held
        return MemorySink()
      })
  }

  /// The transfer thread sleeps from then on. That the test ends shows that it keeps nothing.
  @Test func `is let go with its end, and nothing has to come after it`() async throws {
    let resolver = OriginResolver()
    let gate = OriginGate()
    let lab = Lab(
      .init(
        connections: 1,
        resolve: { name in
          resolver.look(up: name) { _, _ in
            gate.wait()
            return .failure("no such name", isFinal: true)
          }
        }))
    defer {
      gate.open()
      lab.engine.stop()
    }
    let (gone, life) = AsyncStream<Never>.makeStream()
    let task = Task {
      [request = try request(of: "http://slow.example/", lab, holding: Held(life))] in
      await lab.failure(of: request)?.code
    }
    await resolver.asked(reach: 1)
    task.cancel()
    #expect(await task.value == "cancelled")
    for await _ in gone {}
  }
}
