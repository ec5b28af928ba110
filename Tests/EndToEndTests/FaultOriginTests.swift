import Foundation
import Glibc
import TestSupport
import Testing

@Suite struct `The fault origin` {
  private struct Expected {
    let id: String
    let outcome: String
    let error: String?

    init?(_ item: [String: Any]) {
      guard let id = item["id"] as? String, let meta = item["meta"] as? [String: String],
        let outcome = meta["outcome"]
      else { return nil }
      self.id = id
      self.outcome = outcome
      error = meta["error"]
    }
  }

  /// The manifest's own word on each item is what it ends as. That the run ends at all, with deadlines of
  /// seconds, is a part of it.
  @Test func `has each of its faults end as it says`() async throws {
    let scenario = Scenario()
    let port = try freePorts()
    let folder = scenario.folder.path
    let origin = try ProgramRun("fault-origin", ["--port", "\(port)"], in: folder)
    defer { origin.signal(SIGTERM) }
    let printed = try await ProgramRun(
      "fault-origin", ["--manifest", "--port", "\(port)"], in: folder
    ).result().output
    let manifest = "\(folder)/faults.json"
    try printed.write(toFile: manifest, atomically: true, encoding: .utf8)
    while !isListening(port) { await Task.yield() }

    let document = try JSONSerialization.jsonObject(with: Data(printed.utf8)) as? [String: Any]
    let items = (document?["items"] as? [[String: Any]] ?? []).compactMap(Expected.init)
    #expect(items.count > 30)
    let run = try await scenario.run(manifest)
    #expect(run.status == 1)
    #expect(
      run.nonzero == items.reduce(into: [:]) { $0[$1.outcome, default: 0] += 1 }, "\(run.errors)")
    #expect(
      run.errorCounts == items.compactMap(\.error).reduce(into: [:]) { $0[$1, default: 0] += 1 })
    for item in items {
      let error = try await scenario.show(item.id)["last_error"] as? [String: Any]
      #expect(error?["code"] as? String == item.error, "\(item.id): \(error ?? [:])")
    }
    // Two attempts of five seconds at most; the rest is for a machine with other things to do.
    #expect(try #require(run.json.seconds) < 30)
  }

  /// A port that is free, and the one behind it as well.
  private func freePorts() throws -> UInt16 {
    while true {
      let first = try OriginServer.start { _ in .ok("") }
      defer { first.stop() }
      guard first.port < 65_000,
        let second = try? OriginServer.start(port: first.port + 1, { _ in .ok("") })
      else { continue }
      second.stop()
      return first.port
    }
  }

  private func isListening(_ port: UInt16) -> Bool {
    let probe = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    defer { close(probe) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
    return withUnsafeBytes(of: &address) { bytes in
      connect(probe, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), 16) == 0
    }
  }
}

extension [String: Any] {
  /// From a summary's `started` to its `finished`.
  fileprivate var seconds: Double? {
    let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    guard let started = self["started"] as? String, let finished = self["finished"] as? String,
      let from = try? format.parse(started), let to = try? format.parse(finished)
    else { return nil }
    return to.timeIntervalSince(from)
  }
}
