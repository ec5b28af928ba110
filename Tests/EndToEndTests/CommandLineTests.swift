import Foundation
import Glibc
import TestSupport
import Testing

/// A job of two pictures and an origin for them.
private struct Job {
  var scenario = Scenario()
  let origin: OriginServer
  let manifest: String

  /// - Parameter failing: how many items fail besides, each with a 404.
  init(failing: Int = 0) throws {
    let origin = try OriginServer.start { request in
      let fields = [("Cache-Control", "max-age=60"), ("ETag", "\"1\"")]
      if request["If-None-Match"] != nil { return .status(304, [], fields) }
      return switch request.path {
      case "/a": .ok(PlainPNG.bytes(red: 1), fields)
      case "/b": .ok(PlainPNG.bytes(red: 2), fields)
      default: .status(404)
      }
    }
    self.origin = origin
    let missing = (0..<failing).map { ["id": "missing-\($0)", "url": origin.url("/x\($0)")] }
    manifest = try scenario.manifest(
      [["id": "a", "url": origin.url("/a")], ["id": "b", "url": origin.url("/b")]] + missing)
  }

  func run(_ options: String...) async throws -> ProgramRun.Result {
    try await thumbworker(["run", manifest, "--root", scenario.root] + options)
  }

  func thumbworker(
    _ arguments: [String], environment: [String: String] = [:]
  ) async throws -> ProgramRun.Result {
    try await ProgramRun(
      "thumbworker", arguments, in: scenario.folder.path, environment: environment
    ).result()
  }
}

private func thumbworker(_ arguments: String...) async throws -> ProgramRun.Result {
  let folder = StorageTemporaryFolder()
  let result = try await ProgramRun("thumbworker", arguments, in: folder.path).result()
  withExtendedLifetime(folder) {}
  return result
}

@Suite struct `The command line` {
  // MARK: Help

  @Test(
    arguments: [
      "run", "enqueue", "work", "status", "show", "validate", "purge", "retry", "jobs", "gc",
      "verify", "ledger",
    ])
  func `tells each command's options`(_ command: String) async throws {
    for arguments in [[command, "--help"], [command, "-h"], ["help", command]] {
      let help = try await Job().thumbworker(arguments)
      #expect(help.status == 0 && help.errors.isEmpty)
      #expect(help.output.hasPrefix("usage: thumbworker \(command) "))
      #expect(help.output.contains("--help"))
    }
  }

  @Test func `shows what is known again and again while somebody reads it`() async throws {
    let scenario = Scenario()
    let watch = "\(ProgramRun.binaries)/thumbworker status --watch --json --root \(scenario.root)"
    let shell = try ProgramRun(
      "/bin/sh", ["-c", "(\(watch); echo $? >&2) | head -n 2"], in: scenario.folder.path)
    let result = await shell.result()
    #expect(result.jsonLines.map { $0["schema"] as? Int } == [1, 1])
    #expect(result.errors == "0\n")
  }

  @Test func `tells its commands and its version`() async throws {
    for argument in ["--help", "-h", "help"] {
      let help = try await thumbworker(argument)
      #expect(help.status == 0 && help.output.contains("  validate  "))
    }
    let version = try await thumbworker("--version")
    #expect(version.status == 0)
    #expect(version.output.wholeMatch(of: /thumbworker \d+\.\d+\.\d+\n/) != nil)
  }

  /// What each option of `run` is to do, by its effect on a second run of a job whose items are fresh.
  private static let effects: [String: (options: [String], outcomes: [String: Int])] = [
    "--quiet": (["--quiet"], ["fresh": 2]),
    "--progress": (["--progress", "none"], ["fresh": 2]),
    "--json": ([], ["fresh": 2]),
    "--dry-run": (["--dry-run"], [:]),
    "--force": (["--force"], ["revalidated": 2]),
    "--refresh-ahead": (["--refresh-ahead=1h"], ["revalidated": 2]),
    "--retry-failed": (["--retry-failed"], ["fresh": 2]),
    "--limit": (["--limit", "1", "--force"], ["revalidated": 1]),
    "--reread": (["--reread"], ["fresh": 2]),
    "--workers": (["--workers", "1"], ["fresh": 2]),
    "--fail-above": (["--fail-above", "1%"], ["fresh": 2]),
    "--grace": (["--grace", "1s"], ["fresh": 2]),
    "--lease": (["--lease", "2s"], ["fresh": 2]),
    "--log": (["--log", "/dev/null"], ["fresh": 2]),
    "--min-free": (["--min-free", "1MiB"], ["fresh": 2]),
    "--root": ([], ["fresh": 2]),
  ]

  @Test func `does what run's help promises of each option`() async throws {
    let help = try await thumbworker("run", "--help")
    let offered = help.output.matches(of: /(?m)^  (--[a-z-]+)/).map { String($0.1) }
    // --variant is for what is no manifest: see the tests of sources.
    #expect(Set(offered) == Set(Self.effects.keys).union(["--help", "--variant"]))
    for (option, effect) in Self.effects {
      let job = try Job()
      defer { job.origin.stop() }
      let first = try await job.run()
      #expect(first.status == 0, "\(option): \(first.errors)")
      let before = job.origin.requests.count
      let second = try await job.thumbworker(
        ["run", job.manifest, "--root", job.scenario.root, "--json"] + effect.options)
      #expect(second.status == 0, "\(option): \(second.errors)")
      #expect(second.nonzero == effect.outcomes, "\(option)")
      let asked = effect.outcomes["revalidated", default: 0]
      #expect(job.origin.requests.count - before == asked, "\(option)")
    }
  }

  @Test func `plans in words and in JSON`() async throws {
    let job = try Job(failing: 1)
    defer { job.origin.stop() }
    let words = try await job.run("--dry-run")
    #expect(words.status == 0 && words.errors.isEmpty)
    #expect(words.output.contains("job: 3 items; a run would\n  download: 3\n"))
    let plan = try await job.run("--dry-run", "--json").json
    #expect(plan["items"] as? Int == 3 && (plan["plan"] as? [String: Int])?["fetch"] == 3)
    #expect(job.origin.requests.isEmpty)
  }

  // MARK: Mistakes

  @Test(
    arguments: [
      (["rnu"], "did you mean \"run\"?"), (["help", "rnu"], "did you mean \"run\"?"),
      (["--bogus"], "there is no command"), (["run"], "run needs MANIFEST…"),
      (["run", "--forse", "x.json"], "did you mean --force?"),
      (["run", "--json=yes", "x.json"], "--json takes no value"),
      (["run", "x.json", "--limit"], "--limit needs a value"),
      (["run", "x.json", "--limit", "0"], "no whole number"),
      (["run", "x.json", "--workers", "many"], "no whole number from 1 to 256"),
      (["run", "x.json", "--refresh-ahead", "soon"], "no duration"),
      (["run", "x.json", "--progress", "loud"], "none of auto, bar, lines and none"),
      (["run", "x.json", "--fail-above", "-1%"], "no share"),
      (["run", "x.json", "--variant", "a=9"], "--variant is for a source in a manifest's place"),
      (["run", "/no/such.json"], "/no/such.json: No such file or directory"),
      (["run", "--root", "", "x.json"], ""), (["status", "a", "b"], "takes fewer arguments"),
      (["status", "--root", "/no/such", "catalog"], "there is no job \"catalog\""),
      (["show", "--root", "/no/such", "a"], "no run was made there"),
      (["validate", "/no/such.json"], "No such file"), ([], "usage: thumbworker COMMAND"),
    ] as [([String], String)])
  func `refuses what it does not understand, with 2 and nothing on standard output`(
    arguments: [String], words: String
  ) async throws {
    let result = try await Job().thumbworker(arguments)
    #expect(result.status == 2)
    #expect(result.errors.contains(words) || words.isEmpty, "\(result.errors)")
    #expect(result.output.isEmpty && !result.errors.isEmpty)
  }

  @Test func `refuses two manifests of one name`() async throws {
    let job = try Job()
    defer { job.origin.stop() }
    let result = try await job.thumbworker(
      ["run", job.manifest, job.manifest, "--root", job.scenario.root])
    #expect(result.status == 2 && result.errors.contains("are named \"job\""))
  }

  // MARK: Exit codes

  @Test func `ends with 0 or 1, by the share of items that fail`() async throws {
    let job = try Job(failing: 2)
    defer { job.origin.stop() }
    #expect(try await job.run().status == 1)
    for (share, status) in [("49%", 1), ("0.5", 0), ("50%", 0), ("100%", 0)] as [(String, Int32)] {
      #expect(try await job.run("--fail-above", share).status == status, "\(share)")
    }
  }

  @Test func `ends with 3 on a damaged ledger, whatever is asked of it`() async throws {
    let job = try Job()
    defer { job.origin.stop() }
    #expect(try await job.run().status == 0)
    let ledger = job.scenario.root + "/ledger.sqlite"
    for file in [ledger + "-wal", ledger + "-shm"] { unlink(file) }
    StorageTemporaryFolder.write(Array(repeating: 0x5A, count: 8192), to: ledger)
    for command in [["run", job.manifest], ["status"], ["show", "a"]] {
      let result = try await job.thumbworker(command + ["--root", job.scenario.root])
      #expect(result.status == 3, "\(command)")
      #expect(result.errors.contains("is damaged"), "\(result.errors)")
      #expect(result.output.isEmpty)
    }
    #expect(job.scenario.publishedPaths.count == 2, "what was done is kept")
  }

  @Test func `leaves another program's database as it is, and its folder`() async throws {
    let job = try Job()
    defer { job.origin.stop() }
    let root = job.scenario.folder.path + "/other"
    mkdir(root, 0o755)
    let made = try await ProgramRun(
      "/usr/bin/sqlite3", [root + "/ledger.sqlite", "CREATE TABLE t (x)"], in: root
    ).result()
    #expect(made.status == 0)
    let before = StorageTemporaryFolder.bytes(of: root + "/ledger.sqlite")
    let result = try await job.thumbworker(["run", job.manifest, "--root", root])
    #expect(result.status == 3)
    #expect(result.errors.contains("another program's database"), "\(result.errors)")
    #expect(StorageTemporaryFolder.bytes(of: root + "/ledger.sqlite") == before)
    let folders = StorageTemporaryFolder.names(in: root).filter {
      ["objects", "tmp", "public"].contains($0)
    }
    #expect(folders.isEmpty)
  }

  @Test func `says so where standard output takes nothing more`() async throws {
    let job = try Job()
    defer { job.origin.stop() }
    let command =
      "'\(ProgramRun.binaries)/thumbworker' run '\(job.manifest)' --json --root "
      + "'\(job.scenario.root)' > /dev/full"
    let result = try await ProgramRun("/bin/sh", ["-c", command], in: job.scenario.folder.path)
      .result()
    #expect(result.status == 3)
    #expect(result.errors.contains("standard output could not be written: No space left"))
    #expect(job.scenario.publishedPaths.count == 2, "what was done is kept")
  }

  @Test func `does not guess where a relative root is when the working folder is gone`()
    async throws
  {
    let job = try Job()
    defer { job.origin.stop() }
    let command = """
      mkdir gone && cd gone && rmdir ../gone && \
      '\(ProgramRun.binaries)/thumbworker' status --root here
      """
    let result = try await ProgramRun(
      "/bin/sh", ["-c", "cd '\(job.scenario.folder.path)' && \(command)"],
      in: job.scenario.folder.path
    ).result()
    #expect(result.status == 2)
    #expect(result.errors.contains("give an absolute path"), "\(result.errors)")
  }

  @Test func `ignores a relative XDG_CACHE_HOME`() async throws {
    let job = try Job()
    defer { job.origin.stop() }
    let home = job.scenario.folder.path
    let result = try await job.thumbworker(
      ["status", "--json"],
      environment: ["XDG_CACHE_HOME": "relative", "HOME": home, "THUMBWORKER_ROOT": ""])
    #expect(result.json["root"] as? String == home + "/.cache/thumbworker")
  }

  @Test func `ends with 3 where its root cannot be`() async throws {
    let job = try Job()
    defer { job.origin.stop() }
    let file = job.scenario.folder.path + "/file"
    StorageTemporaryFolder.write([], to: file)
    let result = try await job.thumbworker(["run", job.manifest, "--root", file + "/root"])
    #expect(result.status == 3)
    #expect(result.errors.contains("give another --root"), "\(result.errors)")
    #expect(job.origin.requests.isEmpty)
  }

  @Test func `ends with 3 where its root cannot be written`() async throws {
    let job = try Job()
    defer { job.origin.stop() }
    mkdir(job.scenario.root, 0o555)
    guard let closed = UnwritableFile(job.scenario.root) else { return }  // no such file system
    chmod(job.scenario.root, 0o555)
    let result = try await job.run()
    withExtendedLifetime(closed) {}
    #expect(result.status == 3)
    #expect(result.errors.contains("write access to the root"), "\(result.errors)")
    #expect(job.origin.requests.isEmpty)
  }

  @Test(.enabled(if: getuid() == 0, "needs root, to mount a small disk"))
  func `ends with 3 on a full disk, and the next run goes on`() async throws {
    let disk = try #require(SmallDisk(bytes: 3 << 20))
    let origin = try OriginServer.start { request in
      let number = UInt8(request.path.dropFirst()) ?? 0
      return .ok(PlainPNG.bytes(width: 400, height: 300, red: number), [("ETag", "\"1\"")])
    }
    defer { origin.stop() }
    let scenario = Scenario()
    let manifest = try scenario.manifest(
      (0..<20).map { ["id": "i\($0)", "url": origin.url("/\($0)")] })
    let arguments = ["run", manifest, "--root", disk.file("root"), "--json"]
    let first = try await ProgramRun("thumbworker", arguments, in: scenario.folder.path).result()
    #expect(first.status == 3)
    #expect(first.json["stopped_by"] as? String == "disk-full", "\(first.errors)")
    #expect(first.errors.contains("free some space"), "\(first.errors)")
    try disk.grow(to: 64 << 20)
    let second = try await ProgramRun("thumbworker", arguments, in: scenario.folder.path).result()
    #expect(second.status == 0, "\(second.errors)")
    #expect(second.outcomes["failed"] == 0 && second.outcomes.values.reduce(0, +) == 20)
    #expect(StorageTemporaryFolder.names(in: disk.file("root/public/job/thumb")).count == 20)
  }

  // MARK: Who reads what

  @Test func `gives results to standard output alone, everything else to standard error`()
    async throws
  {
    let job = try Job(failing: 1)
    defer { job.origin.stop() }
    let json = try await job.run("--json", "--progress", "lines")
    #expect(json.jsonLines.count == 1 && json.jsonLines[0]["job"] as? String == "job")
    #expect(json.errors.contains("missing-0: http-404: "))
    #expect(json.errors.contains("job: 3 items in "))
    #expect(!json.errors.contains("{"))
    let words = try await job.run()
    #expect(words.output.isEmpty && words.errors.contains("2 fresh, 1 cooling"))
    for command in [["status"], ["show", "a"], ["validate", job.manifest]] {
      let root = command[0] == "validate" ? [] : ["--root", job.scenario.root]
      let result = try await job.thumbworker(command + root)
      #expect(result.errors.isEmpty && !result.output.isEmpty, "\(command)")
    }
  }

  @Test func `is quiet when asked, but for what fails`() async throws {
    let job = try Job(failing: 1)
    defer { job.origin.stop() }
    let first = try await job.run("--quiet")
    #expect(first.output.isEmpty)
    #expect(first.errors.hasPrefix("missing-0: http-404: "))
    #expect(first.errors.split(separator: "\n").count == 2, "\(first.errors)")
    let good = try Job()
    defer { good.origin.stop() }
    let second = try await good.run("--quiet")
    #expect(second.output.isEmpty && second.errors.isEmpty)
  }

  @Test func `draws a bar only where asked or on a terminal, and wipes it`() async throws {
    let job = try Job()
    defer { job.origin.stop() }
    let plain = try await job.thumbworker(
      ["run", job.manifest, "--root", job.scenario.root], environment: ["NO_COLOR": "1"])
    #expect(!plain.errors.contains("\u{1B}"))
    let bar = try await job.run("--progress", "bar", "--force")
    // What a terminal would show in the end: nothing of a line before its last wipe.
    let shown = bar.errors.split(separator: "\n").map { line in
      line.split(separator: "\r\u{1B}[K", omittingEmptySubsequences: false).last ?? ""
    }
    #expect(shown.first?.hasPrefix("job: 2 items in ") == true, "\(bar.errors)")
    #expect(!shown.joined().contains("░") && !shown.joined().contains("█"))
  }

  // MARK: Looking things up

  @Test func `shows an entry by its id and by its URL`() async throws {
    let job = try Job(failing: 1)
    defer { job.origin.stop() }
    _ = try await job.run()
    var byID = try await job.scenario.show("a")
    var byURL = try await job.scenario.show(job.origin.url("/a"))
    for key in ["jobs", "next_run"] { (byID[key], byURL[key]) = (nil, nil) }  // an age is in them
    #expect(byID as NSDictionary == byURL as NSDictionary)
    #expect(byID["url"] as? String == job.origin.url("/a"))
    let missing = try await job.scenario.show("missing-0")
    #expect(missing["state"] as? String == "failed")
    #expect((missing["last_error"] as? [String: Any])?["code"] as? String == "http-404")
    let unknown = try await job.scenario.show("http://127.0.0.1:1/never-seen")
    #expect(unknown["state"] as? String == "absent")
    let nobody = try await job.thumbworker(["show", "nobody", "--root", job.scenario.root])
    #expect(nobody.status == 2)
  }

  @Test func `shows why an item has no picture though its server answered`() async throws {
    let scenario = Scenario()
    let picture = PlainPNG.bytes()
    let origin = try OriginServer.start { _ in
      .ok(Array(picture.prefix(picture.count / 2)), [("Cache-Control", "max-age=60")])
    }
    defer { origin.stop() }
    let manifest = try scenario.manifest([
      ["id": "half", "url": origin.url("/half")],
      ["id": "ftp", "url": "ftp://a.example/x"],
      ["id": "user", "url": "http://user:password@a.example/x"],
    ])
    let run = try await scenario.run(manifest)
    #expect(run.errorCounts == ["truncated": 1, "bad-url": 2])
    #expect(run.errors.contains("ftp: bad-url: the scheme \"ftp\" is not supported"))
    #expect(run.errors.contains("user: bad-url: the URL holds user info before an @"))
    for (id, code) in [("half", "truncated"), ("ftp", "bad-url"), ("user", "bad-url")] {
      let shown = try await scenario.show(id)
      #expect(shown["state"] as? String == "failed", "\(id)")
      let error = try #require(shown["last_error"] as? [String: Any], "\(id)")
      #expect(error["code"] as? String == code)
      #expect("\(shown)".contains("password") == false)
      #expect((error["next_try"] is NSNull) == (code == "bad-url"))
    }
    // A host is not in trouble for what it has sent.
    #expect(try await scenario.status()["hosts"] as? [String] == [])
  }

  @Test func `tells what a job's warnings are about`() async throws {
    let job = try Job()
    defer { job.origin.stop() }
    _ = try await job.run()
    let jpeg = try #require(job.scenario.published("thumb/a.jpg"))
    // A colour profile that is none, behind the file's first marker.
    let profile = Array("ICC_PROFILE\0\u{1}\u{1}nonsense".utf8)
    let segment = [0xFF, 0xE2, 0, UInt8(profile.count + 2)] + profile
    let scenario = Scenario()
    let origin = try OriginServer.start { _ in .ok(jpeg.prefix(2) + segment + jpeg.dropFirst(2)) }
    defer { origin.stop() }
    let run = try await scenario.run(scenario.manifest([["id": "a", "url": origin.url("/a")]]))
    #expect(run.nonzero == ["fetched": 1])
    #expect(run.errors.contains("2 warnings\n"))
    #expect(
      run.errors.contains("warning: the colour profile cannot be used: dropped: 1 item, such as a"),
      "\(run.errors)")
    let shown = try await scenario.show("a")
    #expect(
      (shown["warnings"] as? [String])?.contains("the colour profile cannot be used: dropped")
        == true)
    let told = try await job.thumbworker(["show", "a", "--root", scenario.root])
    #expect(told.output.contains("\n  warning: the colour profile cannot be used: dropped\n"))
  }

  @Test func `tells what is known, of all jobs or of one`() async throws {
    let job = try Job(failing: 1)
    defer { job.origin.stop() }
    let before = try await job.thumbworker(["status", "--root", job.scenario.root])
    #expect(before.status == 0 && before.output.contains("no job was run here yet"))
    _ = try await job.run()
    let words = try await job.thumbworker(["status", "job", "--root", job.scenario.root])
    #expect(words.output.contains("job: 3 items: 2 fresh, 0 stale, 1 failed"))
    let status = try await job.scenario.status()
    #expect(status["root"] as? String == job.scenario.root)
    let hosts = try #require(status["hosts"] as? [[String: Any]])
    #expect(hosts.map { $0["failures"] as? Int } == [1])
  }

  @Test func `finds its root by the environment`() async throws {
    let job = try Job()
    defer { job.origin.stop() }
    let base = job.scenario.folder.path
    for (variables, root) in [
      (["THUMBWORKER_ROOT": base + "/one"], base + "/one"),
      (["THUMBWORKER_ROOT": "", "XDG_CACHE_HOME": base + "/two"], base + "/two/thumbworker"),
      (
        ["THUMBWORKER_ROOT": "", "XDG_CACHE_HOME": "", "HOME": base + "/three"],
        base + "/three/.cache/thumbworker"
      ),
    ] {
      let run = try await job.thumbworker(["run", job.manifest], environment: variables)
      #expect(run.status == 0, "\(run.errors)")
      #expect(StorageTemporaryFolder.names(in: root).contains("ledger.sqlite"), "\(root)")
    }
  }

  @Test func `checks manifests without a request`() async throws {
    let job = try Job()
    defer { job.origin.stop() }
    let good = try await job.thumbworker(["validate", job.manifest])
    #expect(good.status == 0)
    #expect(good.output.hasSuffix("job job, 2 items, 1 variant: correct\n"))
    let bad = job.scenario.folder.path + "/bad.json"
    StorageTemporaryFolder.write(
      #"{"version": 1, "variants": [{"name": "a", "width": 0}], "items": [{"ulr": "x"}]}"#.utf8,
      to: bad)
    let result = try await job.thumbworker(["validate", job.manifest, bad])
    #expect(result.status == 2)
    #expect(result.errors.contains("variants[0].width") && result.errors.contains("items[0].ulr"))
    #expect(job.origin.requests.isEmpty)
  }
}
