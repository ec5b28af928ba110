// Commands: the command line. One file per command; the only target that chooses ledger and store.
//
//   Program        finds the command and runs it
//   OptionTable    what each command accepts; parsing and help come from it
//   Site           a root with its ledger, store and stages, opened
//   RunCommand, EnqueueCommand, WorkCommand, StatusCommand, ShowCommand, ValidateCommand: jobs
//   ExportCommand, DoctorCommand
//   PurgeCommand, RetryCommand, JobsCommand, GcCommand, VerifyCommand, LedgerCommand: housekeeping

import FoundationEssentials
import Reporting
import Vocabulary

/// How the process ends, as scripts rely on it.
package enum ExitCode: Int32, Sendable {
  case well = 0
  /// The run finished, some items are failed or cooling.
  case someFailed = 1
  /// The command line or a manifest is wrong: nothing was done.
  case usage = 2
  /// The environment failed; what was done is kept.
  case environment = 3
  /// By SIGHUP, without a log file; what was done is kept.
  case hungUp = 129
  /// By SIGINT; what was done is kept.
  case interrupted = 130
  /// By SIGTERM; what was done is kept.
  case terminated = 143
}

/// The thumbworker program.
package enum Program {
  package static let version = "0.1.0"

  /// - Parameters:
  ///   - arguments: without the program's own name.
  ///   - interruption: made before any thread was started.
  /// - Returns: the process's exit status.
  package static func main(
    _ arguments: [String], interruption: Interruption
  ) async -> Int32 {
    let console = Console()
    do {
      let code = try await run(arguments, console, interruption)
      if let reason = console.lostOutput {
        console.complain([
          "thumbworker: standard output could not be written: \(reason)",
          "  what was done is kept; run it again, writing elsewhere",
        ])
        return ExitCode.environment.rawValue
      }
      return code.rawValue
    } catch let error as UsageError {
      console.complain(["thumbworker: \(error.message)"] + (error.hint.isEmpty ? [] : [error.hint]))
      return ExitCode.usage.rawValue
    } catch {
      let failure = (error as? any WorkerFailure).map { FailureRecord($0) }
      console.complain(
        failure.map { FailureText($0, of: "thumbworker").lines } ?? ["thumbworker: \(error)"])
      return ExitCode.environment.rawValue
    }
  }

  private static func run(
    _ arguments: [String], _ console: Console, _ interruption: Interruption
  ) async throws -> ExitCode {
    guard let first = arguments.first else {
      console.complain(OptionTable.overview)
      return .usage
    }
    switch first {
    case "--help", "-h", "help":
      guard arguments.count > 1 else {
        console.print(OptionTable.overview)
        return .well
      }
      guard let command = OptionTable.command(named: arguments[1]) else {
        throw UsageError.unknownCommand(arguments[1])
      }
      console.print(command.help)
      return .well
    case "--version":
      console.print(["thumbworker \(version)"])
      return .well
    default:
      break
    }
    guard let command = OptionTable.command(named: first) else {
      throw UsageError.unknownCommand(first)
    }
    let parsed = try command.parse(arguments.dropFirst())
    if parsed.has("--help") {
      console.print(command.help)
      return .well
    }
    let environment = ProcessInfo.processInfo.environment
    if let log = parsed.value("--log") {
      try console.write(toFile: log)
      interruption.onHangup { console.reopenFile() }
    }
    func call() throws(UsageError) -> Invocation { try Invocation(parsed, environment, console) }
    switch command.name {
    case "run": return try await RunCommand(parsed, environment, console).execute(interruption)
    case "enqueue": return try await EnqueueCommand(call: call()).execute()
    case "work": return try await WorkCommand(parsed, environment, console).execute(interruption)
    case "status": return try await StatusCommand(call: call()).execute()
    case "show": return try await ShowCommand(call: call()).execute()
    case "export": return try await ExportCommand(call: call()).execute()
    case "purge": return try await PurgeCommand(parsed, environment, console).execute()
    case "retry": return try await RetryCommand(parsed, environment, console).execute()
    case "jobs": return try await JobsCommand(parsed, environment, console).execute()
    case "gc": return try await GcCommand(call()).execute()
    case "verify": return try await VerifyCommand(parsed, environment, console).execute()
    case "ledger": return try await LedgerCommand(parsed, environment, console).execute()
    case "doctor": return try await DoctorCommand(call: call()).execute()
    case "validate": return await ValidateCommand(parsed, environment, console).execute()
    default: throw UsageError.unknownCommand(first)
    }
  }
}

/// The command line cannot be understood: exit code 2.
struct UsageError: Error {
  var message: String
  var hint: String

  static func unknownCommand(_ name: String) -> UsageError {
    let names = OptionTable.commands.map(\.name)
    return UsageError(
      message: "there is no command \"\(name)\"",
      hint: nearest(to: name, among: names).map { "did you mean \"\($0)\"?" }
        ?? "thumbworker --help lists the commands")
  }
}
