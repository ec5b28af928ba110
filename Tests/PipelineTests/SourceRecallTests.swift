import Glibc
import LedgerCore
import Pipeline
import TestSupport
import Testing

@Suite struct `A manifest with sources` {
  private enum Recalled { case known, renewed, toBeRead }

  private let shop: Workshop
  private let files = SourceFiles()

  init() async throws { shop = try await Workshop() }

  private func recall(_ manifest: String) async throws -> Recalled {
    let recall = ManifestRecall(ledger: shop.worker.ledger, environment: [:], now: shop.clock.now)
    let source = await recall.source(ofManifestAt: manifest)
    guard case .known(let record, _, let identity)? = source else { return .toBeRead }
    guard let identity else { return .known }
    try await shop.worker.ledger.keep(identity, of: record.number)
    return .renewed
  }

  @Test func `is not read while all of them are unchanged`() async throws {
    files.write("http://a.example/1\n", to: "one.txt")
    files.write("http://a.example/2\n", to: "two.txt")
    let manifest = files.manifest(#""sources": ["one.txt", "two.txt"]"#)
    #expect(try await shop.enqueue(manifest) == [])
    #expect(try await recall(manifest) == .known)
    let then = timeval(tv_sec: 1_700_000_000, tv_usec: 0)
    utimes(files.path("two.txt"), [then, then])
    #expect(try await recall(manifest) == .renewed)
    #expect(try await recall(manifest) == .known)
    files.write("http://a.example/3\n", to: "two.txt")  // as many bytes
    #expect(try await recall(manifest) == .toBeRead)
    unlink(files.path("two.txt"))
    #expect(try await recall(manifest) == .toBeRead)
  }

  @Test func `is opened where one of them has to be asked`() async throws {
    let origin = try OriginServer.start { _ in .ok("http://a.example/1\n") }
    defer { origin.stop() }
    let manifest = files.manifest("\"sources\": [\"\(origin.url("/list"))\"]")
    #expect(try await shop.enqueue(manifest) == [])
    #expect(try await recall(manifest) == .toBeRead)
  }
}
