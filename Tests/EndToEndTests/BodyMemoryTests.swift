import TestSupport
import Testing

@Suite struct `Large bodies` {
  private static let bytes = 50 << 20

  /// A picture with so much behind its end, which is no fault.
  private static let body = PlainPNG.bytes() + [UInt8](repeating: 7, count: bytes)

  @Test func `go through a run without being held`() async throws {
    let origin = try OriginServer.start { _ in .ok(Self.body) }
    var scenario = Scenario()
    scenario.network["perHost"] = 4
    let items = (0..<4).map { ["id": "item-\($0)", "url": origin.url("/\($0)")] }
    let run = try await scenario.run(scenario.manifest(items))
    #expect(run.nonzero == ["fetched": 4], "\(run.errors)")
    // With what the program is itself, and a decoder, which maps what it reads.
    #expect(run.peakKiB < Self.bytes * 2 / 1024, "\(run.peakKiB) KiB")
  }
}
