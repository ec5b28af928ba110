import Foundation
import Glibc
import Threading

/// A started program of ours, with its output in files.
package final class ProgramRun: Sendable {
  package struct Result: Sendable {
    /// The exit status; 128 + the signal where one ended it.
    package var status: Int32
    package var output: String
    package var errors: String
    /// The most memory that it, or one of the decoders that it has started, held at once.
    package var peakKiB: Int

    /// Standard output's last line as a JSON object.
    package var json: [String: Any] { jsonLines.last ?? [:] }

    /// Each line of standard output as a JSON object; an empty one for a line that is none.
    package var jsonLines: [[String: Any]] {
      output.split(separator: "\n").map { line in
        let value = try? JSONSerialization.jsonObject(with: Data(line.utf8))
        return value as? [String: Any] ?? [:]
      }
    }

    package var outcomes: [String: Int] { json["outcomes"] as? [String: Int] ?? [:] }
    package var errorCounts: [String: Int] { json["errors"] as? [String: Int] ?? [:] }

    /// The outcomes that are not zero.
    package var nonzero: [String: Int] { outcomes.filter { $0.value != 0 } }
  }

  package let pid: pid_t
  private let output: String
  private let errors: String

  /// Where `swift build` has put the programs: beside the test runner.
  package static let binaries: String = {
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = readlink("/proc/self/exe", &buffer, buffer.count - 1)
    let runner = String(
      decoding: buffer[..<max(0, count)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    // The test bundle's path is an argument where the toolchain's own helper runs it.
    let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? runner
    return URL(fileURLWithPath: bundle).deletingLastPathComponent().path
  }()

  /// - Parameters:
  ///   - arguments: without the program's name.
  ///   - folder: where its output is kept.
  ///   - input: the file that is its standard input.
  package init(
    _ program: String = "thumbworker", _ arguments: [String], in folder: String,
    environment: [String: String] = [:], input: String = "/dev/null"
  ) throws {
    let id = UUID().uuidString
    output = "\(folder)/\(id).out"
    errors = "\(folder)/\(id).err"
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT, 0o600)
    posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT, 0o600)
    let path = program.contains("/") ? program : "\(Self.binaries)/\(program)"
    var variables = ProcessInfo.processInfo.environment
    variables.merge(environment) { $1 }
    let argv = ([path] + arguments).map { strdup($0) } + [nil]
    let envp = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { (argv + envp).forEach { free($0) } }
    // Threads that run tests block nearly all signals, and what they start would inherit that.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    var child = pid_t()
    let failure = posix_spawn(&child, path, &actions, &attributes, argv, envp)
    guard failure == 0 else {
      throw ProgramMissing(description: "\(path): \(String(cString: strerror(failure)))")
    }
    pid = child
  }

  package struct ProgramMissing: Error, CustomStringConvertible {
    package var description: String
  }

  package func signal(_ number: Int32) { kill(pid, number) }

  /// Whether a signal was sent that it has not taken yet.
  package var hasPendingSignals: Bool {
    let status = (try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)) ?? ""
    let pending = status.split(separator: "\n").first { $0.hasPrefix("ShdPnd:") }
    return pending?.split(separator: "\t").last.flatMap { UInt64($0, radix: 16) } ?? 0 != 0
  }

  /// The processes that it has started and that live: a worker's decoders.
  package var children: [pid_t] {
    // It may have ended by now.
    let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")) ?? []
    return tasks.flatMap { task in
      ((try? String(contentsOfFile: "/proc/\(pid)/task/\(task)/children", encoding: .utf8)) ?? "")
        .split(separator: " ").compactMap { pid_t($0) }
    }
  }

  /// Waits on a thread of its own for the program to end.
  package func result() async -> Result {
    let (status, peakKiB) = await withCheckedContinuation { continuation in
      _ = OwnedThread(name: "test-wait") { [pid] in
        var status: Int32 = 0
        var use = rusage()
        while wait4(pid, &status, 0, &use) < 0 && errno == EINTR {}
        let code = status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
        continuation.resume(returning: (code, Int(use.ru_maxrss)))
      }
    }
    func text(_ path: String) -> String {
      (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    }
    return Result(
      status: status, output: text(output), errors: text(errors), peakKiB: peakKiB)
  }

  /// Runs `thumbworker` to its end.
  package static func thumbworker(
    _ arguments: String..., in folder: String, environment: [String: String] = [:]
  ) async throws -> Result {
    try await ProgramRun("thumbworker", arguments, in: folder, environment: environment).result()
  }
}
