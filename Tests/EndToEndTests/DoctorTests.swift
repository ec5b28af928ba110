import Foundation
import TestSupport
import Testing

@Suite struct `The doctor` {
  private let scenario = Scenario()

  private func doctor(
    _ options: String..., environment: [String: String] = [:]
  ) async throws -> ProgramRun.Result {
    try await ProgramRun(
      "thumbworker", ["doctor", "--root", scenario.root] + options, in: scenario.folder.path,
      environment: environment
    ).result()
  }

  private func checks(_ result: ProgramRun.Result) throws -> [String: [String: String]] {
    let found = try #require(result.json["checks"] as? [[String: String]])
    return Dictionary(uniqueKeysWithValues: found.map { ($0["name"]!, $0) })
  }

  @Test func `finds a machine well that does the work, and changes nothing`() async throws {
    let result = try await doctor("--json")
    #expect(result.status == 0, "\(result.output)")
    #expect(result.json["well"] as? Bool == true)
    let checks = try checks(result)
    #expect(
      Set(checks.keys) == [
        "libvips", "reads", "writes", "sandbox", "disk", "ledger", "open-files", "memory", "clock",
      ])
    for name in ["libvips", "sandbox", "disk", "ledger", "clock"] {
      #expect(checks[name]?["state"] == "ok", "\(name): \(checks[name] ?? [:])")
    }
    #expect(checks.values.allSatisfy { $0["state"] != "ok" || $0["hint"] == "" })
    let reads = try #require(result.json["reads"] as? [String])
    #expect(Set(reads).isSuperset(of: ["jpeg", "png", "webp", "gif", "tiff", "bmp"]))
    let encoders = try #require(result.json["encoders"] as? [String: String])
    let libvips = try #require(result.json["libvips"] as? String)
    #expect(encoders["jpeg"]?.hasPrefix("vips-\(libvips)+jpeg-") == true)
    #expect(!FileManager.default.fileExists(atPath: scenario.root))
    let words = try await doctor()
    #expect(words.status == 0 && words.output.contains("sandbox"))
  }

  @Test func `says what is wrong, and what to do`() async throws {
    let missing = try await doctor(
      "--json", environment: ["THUMBWORKER_DECODER": scenario.folder.path + "/none"])
    #expect(missing.status == 3 && missing.json["well"] as? Bool == false)
    let libvips = try #require(try checks(missing)["libvips"])
    #expect(libvips["state"] == "failed" && libvips["hint"]?.isEmpty == false)

    try FileManager.default.createDirectory(
      atPath: scenario.root, withIntermediateDirectories: false)
    StorageTemporaryFolder.write("no ledger".utf8, to: scenario.root + "/ledger.sqlite")
    let damaged = try await doctor()
    #expect(damaged.status == 3)
    #expect(damaged.output.contains("failed: the ledger"))
  }

  @Test func `of a root that is no folder says that nothing can be kept there`() async throws {
    StorageTemporaryFolder.write("a file".utf8, to: scenario.root)
    let result = try await doctor("--json")
    #expect(result.status == 3)
    #expect(try checks(result)["disk"]?["state"] == "failed")
  }
}
