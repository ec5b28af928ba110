import Glibc
import LedgerCore
import Manifests
import Pipeline
import TestSupport
import Testing
import Threading
import Vocabulary

/// A named pipe that a test writes into, as a program would that makes a list.
private final class Pipe: Sendable {
  let path: String

  init(_ path: String) {
    self.path = path
    precondition(mkfifo(path, 0o600) == 0)
  }

  /// Writes the first text, and the second when the gate is open; blocks as long as nobody reads.
  func write(_ first: String, then second: String, after gate: OriginGate) {
    _ = OwnedThread(name: "test-pipe") { [path] in
      let end = open(path, O_WRONLY)
      func put(_ text: String) { _ = Glibc.write(end, text, text.utf8.count) }
      put(first)
      gate.wait()
      put(second)
      close(end)
    }
  }
}

@Suite struct `A source that comes slowly` {
  private let shop: Workshop
  private let files = SourceFiles()
  private let pipe: Pipe

  init() async throws {
    shop = try await Workshop()
    pipe = Pipe(files.path("pipe"))
  }

  private func run(
    _ board: RunBoard = RunBoard(), source: String = "pipe", items: [String] = []
  ) async throws -> RunSummary {
    let urls = items.map { "\"\($0)\"" }.joined(separator: ",")
    let manifest = files.manifest("\"items\": [\(urls)], \"sources\": [\"\(source)\"]")
    return await JobRun(
      worker: shop.worker,
      source: .manifest(try ManifestFile.open(path: manifest, environment: [:])),
      options: RunOptions(), board: board
    ).run()
  }

  @Test(.timeLimit(.minutes(1)))
  func `is worked on while the rest is still to come`() async throws {
    let gate = OriginGate()
    let origin = try OriginServer.start { request in
      if request.path == "/1" { gate.open() }
      return .ok(PlainPNG.bytes())
    }
    defer { origin.stop() }
    pipe.write("\(origin.url("/1"))\n", then: "\(origin.url("/2"))\n", after: gate)
    let summary = try await run()
    #expect(summary.outcomes[.fetched] == 2 && summary.items == 2)
    #expect(origin.requests.map(\.path) == ["/1", "/2"])
    // A pipe brings something else each time.
    #expect(try await shop.worker.ledger.job(named: "job")?.identity == nil)
  }

  @Test(.timeLimit(.minutes(1)))
  func `holds nothing back that was read before it, though it is silent`() async throws {
    let gate = OriginGate()
    let origin = try OriginServer.start { request in
      if request.path == "/1" { gate.open() }
      return .ok(PlainPNG.bytes())
    }
    defer { origin.stop() }
    pipe.write("", then: "\(origin.url("/2"))\n", after: gate)
    let summary = try await run(items: [origin.url("/1")])
    #expect(summary.outcomes[.fetched] == 2 && summary.items == 2)
  }

  @Test(.timeLimit(.minutes(1)))
  func `holds nothing back that was read before it, where a file lists it`() async throws {
    let gate = OriginGate()
    let list = """
      <urlset xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"><url><image:image>
      <image:loc>http://127.0.0.1:PORT/2</image:loc></image:image></url></urlset>
      """
    let origin = try OriginServer.start { request in
      switch request.path {
      case "/1": gate.open()
      case "/list.xml":
        let port = request["Host"]!.split(separator: ":")[1]
        let body = Array(list.replacing("PORT", with: port).utf8)
        return .steps([.wait(gate)] + OriginResponse.ok(body).steps)
      default: break
      }
      return .ok(PlainPNG.bytes())
    }
    defer { origin.stop() }
    let index = """
      <sitemapindex><sitemap><loc>\(origin.url("/list.xml"))</loc></sitemap></sitemapindex>
      """
    StorageTemporaryFolder.write(index.utf8, to: files.path("index.xml"))
    let summary = try await run(source: "index.xml", items: [origin.url("/1")])
    #expect(summary.outcomes[.fetched] == 2 && summary.items == 2, "\(summary.sourceFailures)")
  }

  @Test(.timeLimit(.minutes(1)))
  func `takes nothing for gone where the run is stopped before its end`() async throws {
    let board = RunBoard()
    let origin = try OriginServer.start { request in
      if request.path == "/3" { board.interrupt() }
      return .ok(PlainPNG.bytes())
    }
    defer { origin.stop() }
    let (open, never) = (OriginGate(), OriginGate())
    open.open()
    pipe.write("\(origin.url("/1"))\n", then: "\(origin.url("/2"))\n", after: open)
    #expect(try await run().items == 2)
    pipe.write("\(origin.url("/3"))\n", then: "", after: never)
    let summary = try await run(board)
    never.open()
    #expect(summary.isInterrupted && summary.sourceFailures == [])
    #expect(try await shop.items() == (1...3).map { origin.url("/\($0)") })
  }

  @Test(.timeLimit(.minutes(1)))
  func `is not waited for by who stops`() async throws {
    let board = RunBoard()
    let origin = try OriginServer.start { request in
      board.interrupt()
      return .steps([.hang])
    }
    defer { origin.stop() }
    let summary = try await run(board, source: origin.url("/feed"))
    #expect(summary.isInterrupted && summary.sourceFailures == [])
    #expect(summary.stoppedBy?.code == "cancelled")
  }
}
