import Foundation
import Glibc
import TestSupport
import Testing

/// The files of `deploy/` that a machine's administrator installs, with the paths of this test in them.
private struct Deployment {
  static let analyzer = "/usr/bin/systemd-analyze"
  static let canAnalyze = access(analyzer, X_OK) == 0

  let scenario = Scenario()
  let origin: OriginServer
  let manifest: String
  private static let folder =
    #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 } + "/deploy"

  init() throws {
    origin = try OriginServer.start { _ in
      .ok(PlainPNG.bytes(red: 9), [("Cache-Control", "max-age=600")])
    }
    manifest = try scenario.manifest([["id": "a", "url": origin.url("/a")]])
    mkdir(scenario.root, 0o755)
  }

  func text(_ file: String) throws -> String {
    try String(contentsOfFile: "\(Self.folder)/\(file)", encoding: .utf8)
      .replacing("/usr/local/bin/thumbworker", with: "\(ProgramRun.binaries)/thumbworker")
      .replacing("/etc/thumbworker/%i.json", with: manifest)
      .replacing("/etc/thumbworker/catalog.json", with: manifest)
      .replacing("/var/cache/thumbworker", with: scenario.root)
  }

  /// Writes a unit where `systemd-analyze` is to look at it.
  func unit(_ file: String, as name: String) throws -> String {
    let path = "\(scenario.folder.path)/\(name)"
    StorageTemporaryFolder.write(try text("systemd/\(file)").utf8, to: path)
    return path
  }

  func command(after key: String, in text: String) -> [String] {
    let line = text.split(separator: "\n").first { $0.hasPrefix(key) } ?? ""
    return line.dropFirst(key.count).split(separator: " ").map(String.init)
  }

  func run(_ command: [String]) async throws -> ProgramRun.Result {
    try await ProgramRun(
      command[0], Array(command.dropFirst()), in: scenario.folder.path,
      environment: ["THUMBWORKER_ROOT": scenario.root]
    ).result()
  }
}

@Suite struct `What is installed` {
  private static let units = [
    ("thumbworker-work.service", "thumbworker-work.service"),
    ("thumbworker-run@.service", "thumbworker-run@job.service"),
    ("thumbworker-run@.timer", "thumbworker-run@job.timer"),
  ]

  @Test(.enabled(if: Deployment.canAnalyze, "needs systemd-analyze"))
  func `is what systemd understands`() async throws {
    let deployment = try Deployment()
    defer { deployment.origin.stop() }
    let paths = try Self.units.map { try deployment.unit($0.0, as: $0.1) }
    let result = try await deployment.run([Deployment.analyzer, "verify"] + paths)
    let complaints = result.errors.split(separator: "\n").filter { $0.contains("thumbworker") }
    #expect(result.status == 0 && complaints.isEmpty, "\(result.errors)")
  }

  @Test(.enabled(if: Deployment.canAnalyze, "needs systemd-analyze"), arguments: units.prefix(2))
  func `may do little besides its work`(file: String, name: String) async throws {
    let deployment = try Deployment()
    defer { deployment.origin.stop() }
    let path = try deployment.unit(file, as: name)
    let result = try await deployment.run([
      Deployment.analyzer, "security", "--offline=true", "--threshold=20", "--no-pager", path,
    ])
    #expect(result.status == 0, "\(result.output.suffix(200))\(result.errors)")
  }

  @Test func `runs the job by the very command lines`() async throws {
    let deployment = try Deployment()
    defer { deployment.origin.stop() }
    let run = deployment.command(
      after: "ExecStart=", in: try deployment.text("systemd/thumbworker-run@.service"))
    #expect(try await deployment.run(run).status == 0)
    #expect(deployment.scenario.publishedPaths.count == 1)
    let work = deployment.command(
      after: "ExecStart=", in: try deployment.text("systemd/thumbworker-work.service"))
    #expect(try await deployment.run(work + ["--drain"]).status == 0)
    #expect(deployment.origin.requests.count == 1)
  }

  @Test func `runs the lines of the crontab`() async throws {
    let deployment = try Deployment()
    defer { deployment.origin.stop() }
    let lines = try deployment.text("cron/thumbworker").split(separator: "\n").compactMap {
      $0.firstMatch(of: /^(?:[0-9*]+ +){5}thumbworker +(.+)$/).map { String($0.1) }
    }
    #expect(lines.count == 2)
    for line in lines {
      let result = try await deployment.run(["/bin/sh", "-c", line])
      #expect(result.status == 0, "\(line): \(result.errors)")
    }
    #expect(deployment.scenario.publishedPaths.count == 1)
  }
}
