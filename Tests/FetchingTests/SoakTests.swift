import Fetching
import Foundation
import HTTPTransfer
import TestSupport
import Testing
import Threading
import Vocabulary

/// `FETCH_SOAK=200000 swift test --filter SoakTests`: so many fetches, a good third of them failures, and
/// what memory the process holds after each ten thousand.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["FETCH_SOAK"] != nil))
struct `A long row of fetches` {
  private static let body = [UInt8](repeating: 7, count: 20_000)

  /// The n-th is good or bad by its last digit.
  @Sendable private static func respond(_ request: OriginServer.Request) -> OriginResponse {
    switch request.target.utf8.last {
    case UInt8(ascii: "2"): return .status(404, Array("<html>no".utf8))
    case UInt8(ascii: "3"): return .steps([.reset])
    case UInt8(ascii: "4"):
      let head = OriginResponse.head(200, [("Content-Length", "20000"), ("ETag", "\"1\"")])
      return .steps([.sendBytes(head + body[..<9000]), .close])
    case UInt8(ascii: "5"): return .redirect(to: "/elsewhere")
    case UInt8(ascii: "6"): return .status(503, [], [("Retry-After", "0")])
    default: return .ok(body, [("Cache-Control", "max-age=60"), ("ETag", "\"\(request.target)\"")])
    }
  }

  /// Takes whatever comes.
  private final class Nowhere: BodySink {
    func write(_ bytes: UnsafeRawBufferPointer) {}
  }

  @Test func `leaves no memory behind`() async throws {
    let total = Int(ProcessInfo.processInfo.environment["FETCH_SOAK"] ?? "") ?? 200_000
    let origin = try OriginServer.start(keepsRequests: false, Self.respond)
    defer { origin.stop() }
    let here = NameAnswer.addresses([NetworkAddress("127.0.0.1")!])
    let engine = TransferEngine(.init(connections: 32, resolve: { _ in here }))
    defer { engine.stop() }
    let fetcher = Fetcher(
      engine: engine, sleeper: SystemSleeper(), clock: .system, jitter: { .random(in: 0..<1) })
    var settings = NetworkSettings()
    settings.allow = [AddressRange("127.0.0.0/8")!]
    settings.attempts = 2
    settings.backoffInitial = .milliseconds(1)
    settings.backoffMax = .milliseconds(2)
    var held: [Int] = []
    for round in 0..<(total / 10_000) {
      try await run(round * 10_000..<(round + 1) * 10_000, fetcher, settings, origin.port)
      held.append(Self.residentKiB)
      print("\((round + 1) * 10_000) fetches: \(held[round]) KiB resident")
    }
    #expect(try #require(held.last) - held[0] < 20 << 10)
  }

  /// Over some thousands of hosts, so that nobody is left alone for its row of resets.
  private func run(
    _ numbers: Range<Int>, _ fetcher: Fetcher, _ settings: NetworkSettings, _ port: UInt16
  ) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in numbers {
        if number - numbers.lowerBound >= 64 { try await group.next() }
        group.addTask {
          let url = try ItemURL("http://h\(number % 7919).example:\(port)/\(number)")
          let request = FetchRequest(
            url: url, settings: settings, sendsCredentials: true,
            makeSink: { _ throws(FailureRecord) in Nowhere() })
          do throws(FetchFailure) {
            let response = try await fetcher.fetch(request)
            #expect([200, 302, 404, 503].contains(response.status))
          } catch {
            #expect(["connect", "truncated"].contains(error.code), "\(error.message)")
          }
        }
      }
      try await group.waitForAll()
    }
  }

  private static var residentKiB: Int {
    let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    return pages * 4
  }
}
