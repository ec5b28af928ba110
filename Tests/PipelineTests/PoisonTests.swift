import DecoderPool
import Pipeline
import TestSupport
import Testing
import Vocabulary

@Suite struct `A picture that no decoder can read` {
  /// A PNG whose pixels are damaged: no other reading of the same bytes is better.
  private static let damaged: [UInt8] = {
    var file = PlainPNG.bytes()
    file[file.count / 2] ^= 0xFF
    return file
  }()

  private func code(_ workshop: Workshop, _ url: String) async throws -> [String] {
    let summary = try await workshop.run(["a": url])
    return summary.errors.keys.sorted()
  }

  @Test func `is not given to one again, from whatever URL its bytes come`() async throws {
    let workshop = try await Workshop()
    let origin = try OriginServer.start { request in
      .ok(
        request.target == "/mended" ? PlainPNG.bytes() : Self.damaged,
        [("Cache-Control", "max-age=1")])
    }
    #expect(try await code(workshop, origin.url("/a")) == ["corrupt-image"])
    // From here on whoever asks for a decoder stops the run.
    await workshop.worker.decoders.stop()
    workshop.clock.advance(by: .seconds(100_000))
    #expect(try await code(workshop, origin.url("/a")) == ["corrupt-image"])
    #expect(try await code(workshop, origin.url("/b")) == ["corrupt-image"])
    await #expect(throws: FailureRecord.self) { try await code(workshop, origin.url("/mended")) }
    await #expect(throws: FailureRecord.self) {
      try await workshop.run(origin.url("/a")) { $0.retryFailed = true }
    }
    #expect(origin.requests.count >= 3)
  }
}
