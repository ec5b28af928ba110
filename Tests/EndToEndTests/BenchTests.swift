import Foundation
import TestSupport
import Testing

@Suite(.enabled(if: NginxServer.isInstalled, "nginx is not installed"))
struct `The bench` {
  private let folder = StorageTemporaryFolder()

  private func run(_ arguments: String...) async throws -> ProgramRun.Result {
    try await ProgramRun(
      "thumbworker-bench", arguments + ["--rounds", "1", "--dir", folder.path],
      in: folder.path, environment: ["THUMBWORKER_YARDSTICKS": ""]
    ).result()
  }

  private static let stages = [
    ("fetch", 3), ("store", 3), ("parse", 3), ("ledger", 3), ("empty", 3), ("revalidate", 3),
    ("decode", 1), ("job", 1),
  ]

  @Test(arguments: stages)
  func `measures a stage without yardsticks`(_ stage: String, items: Int) async throws {
    let json = folder.path + "/\(stage).json"
    let result = try await run(stage, "--items", "\(items)", "--json", json)
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.output.hasPrefix("\(stage): "))
    #expect(result.errors.contains("no yardsticks"))
    let figures = try #require(
      try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: json)))
        as? [String: Any])
    let measured = try #require(figures["stages"] as? [[String: Any]])
    let contenders = try #require(measured.first?["contenders"] as? [[String: Any]])
    #expect(!contenders.isEmpty)
    for contender in contenders {
      let rate = contender["itemsPerSecond"] as? [String: Double]
      #expect(rate?["median"] ?? 0 > 0, "\(contender)")
    }
    // Nothing is left behind but what was asked for.
    let left = StorageTemporaryFolder.names(in: folder.path)
    #expect(!left.contains { $0.hasPrefix("thumbworker-bench-") })
  }

  @Test(
    arguments: [
      (["fetchh"], 2, "there is no stage \"fetchh\""),
      (["--items", "0", "parse"], 2, "\"0\" is no count"),
      (["--corpus", "/nonexistent", "decode"], 2, "there is no folder /nonexistent"),
      (["--yardsticks", "/nonexistent", "parse"], 2, "there is no folder /nonexistent"),
      (["--json", "/nonexistent/figures", "parse"], 3, "cannot write /nonexistent/figures"),
      (["--rounds"], 2, "--rounds needs a value"),
    ] as [([String], Int32, String)])
  func `says what is wrong before it measures`(
    _ arguments: [String], _ status: Int32, _ message: String
  ) async throws {
    let result = try await ProgramRun("thumbworker-bench", arguments, in: folder.path).result()
    #expect(result.status == status && result.errors.contains(message), "\(result.errors)")
    #expect(result.output == "")
  }

  @Test(arguments: ["--help", "-h"])
  func `tells its options`(_ option: String) async throws {
    let result = try await ProgramRun("thumbworker-bench", [option], in: folder.path).result()
    #expect(result.status == 0 && result.output.contains("--rounds N"))
  }
}
