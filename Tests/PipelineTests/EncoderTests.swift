import LedgerCore
import Pipeline
import TestSupport
import Testing
import Vocabulary

@Suite struct `Variants of older encoders` {
  private let old = EncoderVersions([.jpeg: "vips-8.14.1+jpeg-62.3.0", .webp: "vips-8.14.1"])
  private let new = EncoderVersions([.jpeg: "vips-8.15.0+jpeg-62.3.0", .webp: "vips-8.15.0"])

  @Test func `are made anew from the stored original, without a request`() async throws {
    let workshop = try await Workshop()
    let origin = try ScriptedOrigin(200, [("Cache-Control", "max-age=86400")])
    #expect(try await workshop.run(origin.url, encoders: old) == .fetched)
    #expect(try await workshop.run(origin.url, encoders: old) == .fresh)
    let before = try #require(try await workshop.entry(origin.url)?.original)
    #expect(try await workshop.worker.ledger.variants(of: before.digest).count == 1)
    #expect(try await workshop.run(origin.url, encoders: new) == .rebuilt)
    #expect(try await workshop.worker.ledger.variants(of: before.digest).count == 2)
    #expect(try await workshop.run(origin.url, encoders: new) == .fresh)
    #expect(origin.asked == 1)
  }
}
