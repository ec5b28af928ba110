import Vocabulary

/// An option as a command accepts it; help is made of it.
struct Option: Sendable {
  /// With its dashes.
  var name: String
  /// What stands for its value in the help; nil for a flag.
  var value: String?
  var help: String
}

/// A command as the table knows it.
struct CommandSpec: Sendable {
  var name: String
  /// As the usage line shows them: `MANIFEST…`.
  var operands: String
  var operandCount: ClosedRange<Int>
  var summary: String
  var options: [Option]

  /// What `--help` prints.
  var help: [String] {
    let width = options.map { $0.spelled.count }.max() ?? 0
    return ["usage: thumbworker \(name) [options] \(operands)", "", summary, "", "options:"]
      + options.map { option in
        let gap = String(repeating: " ", count: width - option.spelled.count + 2)
        return "  \(option.spelled)\(gap)\(option.help)"
      }
  }

  /// - Throws: `UsageError` for an option that is not in the table, a missing or unwanted value, or
  ///   too few or many operands.
  func parse(_ arguments: some Sequence<String>) throws(UsageError) -> ParsedArguments {
    var parsed = ParsedArguments()
    var iterator = arguments.makeIterator()
    var onlyOperands = false
    while let argument = iterator.next() {
      if onlyOperands || !argument.hasPrefix("-") || argument == "-" {
        parsed.operands.append(argument)
        continue
      }
      if argument == "--" {
        onlyOperands = true
        continue
      }
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = parts[0] == "-h" ? "--help" : String(parts[0])
      guard let option = options.first(where: { $0.name == name }) else {
        throw UsageError(
          message: "\(self.name) has no option \(name)",
          hint: nearest(to: name, among: options.map(\.name)).map { "did you mean \($0)?" }
            ?? "thumbworker \(self.name) --help lists them")
      }
      if option.value == nil {
        guard parts.count == 1 else {
          throw UsageError(message: "\(name) takes no value", hint: "")
        }
        parsed.values[name, default: []].append("")
      } else if parts.count == 2 {
        parsed.values[name, default: []].append(String(parts[1]))
      } else if let value = iterator.next() {
        parsed.values[name, default: []].append(value)
      } else {
        throw UsageError(message: "\(name) needs a value: \(option.spelled)", hint: "")
      }
    }
    guard parsed.has("--help") || operandCount.contains(parsed.operands.count) else {
      throw UsageError(
        message: parsed.operands.count < operandCount.lowerBound
          ? "\(name) needs \(operands)" : "\(name) takes fewer arguments",
        hint: "usage: thumbworker \(name) [options] \(operands)")
    }
    return parsed
  }
}

extension Option {
  fileprivate var spelled: String { value.map { "\(name) \($0)" } ?? name }
}

/// A command line, understood.
struct ParsedArguments: Sendable {
  var values: [String: [String]] = [:]
  var operands: [String] = []

  func has(_ name: String) -> Bool { values[name] != nil }

  /// The last value given.
  func value(_ name: String) -> String? { values[name]?.last }

  func duration(_ name: String) throws(UsageError) -> Duration? {
    guard let text = value(name) else { return nil }
    guard let duration = DurationText.parse(text) else {
      throw UsageError(
        message: "\(name): \"\(text)\" is no duration", hint: "write it as 30s, 15m, 6h or 7d")
    }
    return duration
  }

  /// How long this process's leases last without a renewal. Each is renewed three times in that time, so
  /// it is not to be too short; and whoever dies holds back its URLs, so it is not to be too long.
  func lease() throws(UsageError) -> Duration? {
    guard let lease = try duration("--lease") else { return nil }
    guard (.milliseconds(100) ... .seconds(3600)).contains(lease) else {
      throw UsageError(
        message: "--lease: \(DurationText.format(lease)) is not from 100ms to 1h", hint: "")
    }
    return lease
  }

  func byteSize(_ name: String) throws(UsageError) -> Int? {
    guard let text = value(name) else { return nil }
    guard let bytes = ByteSizeText.parse(text) else {
      throw UsageError(
        message: "\(name): \"\(text)\" is no size", hint: "write it as 512MiB or 10GB")
    }
    return bytes
  }

  func count(_ name: String, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
    guard let text = value(name) else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw UsageError(
        message:
          "\(name): \"\(text)\" is no whole number from \(range.lowerBound) to \(range.upperBound)",
        hint: "")
    }
    return number
  }
}

/// Every command with its options.
enum OptionTable {
  private static let common = [
    Option(
      name: "--root", value: "DIR",
      help: "where everything is kept (default: $THUMBWORKER_ROOT, else ~/.cache/thumbworker)"),
    Option(name: "--help", value: nil, help: "show this help"),
  ]

  private static let variant = Option(
    name: "--variant", value: "NAME=WxH,…",
    help: "of a source in a manifest's place, such as 'thumb=200x200,fit=cover,format=webp'")

  /// Of the commands that do a job's work.
  private static let working = [
    Option(name: "--workers", value: "N", help: "decoder processes (default: the cores)"),
    Option(
      name: "--grace", value: "DURATION",
      help: "after a signal, let what is under way end for so long (default: 10s)"),
    Option(
      name: "--lease", value: "DURATION",
      help: "hold a URL for so long where this process dies (default: 30s)"),
    Option(
      name: "--min-free", value: "SIZE",
      help: "leave so much of the disk free (default: a fiftieth of it, 256 MiB at most)"),
    Option(name: "--log", value: "FILE", help: "append messages to it; SIGHUP opens it again"),
  ]

  static let commands: [CommandSpec] = [
    CommandSpec(
      name: "run", operands: "MANIFEST…", operandCount: 1...1000,
      summary: "Does everything that is due in the jobs and waits until it is done.",
      options: [
        Option(name: "--quiet", value: nil, help: "errors only: no progress, no summary"),
        Option(
          name: "--progress", value: "auto|bar|lines|none",
          help: "how progress is shown (default: auto: a bar on a terminal, else lines)"),
        Option(name: "--json", value: nil, help: "print the summary as JSON on standard output"),
        Option(
          name: "--dry-run", value: nil, help: "say what would be done; ask and write nothing"),
        Option(name: "--force", value: nil, help: "treat every entry as expired"),
        Option(
          name: "--refresh-ahead", value: "DURATION",
          help: "treat what expires within it as expired"),
        Option(name: "--retry-failed", value: nil, help: "ignore cool-downs"),
        Option(name: "--limit", value: "N", help: "work on at most N URLs"),
        Option(
          name: "--reread", value: nil, help: "read the manifest's items even if it is unchanged"),
        Option(
          name: "--fail-above", value: "SHARE",
          help: "end well while no more than this share of items fails, such as 2% (default: 0)"),
        variant,
      ] + working + common),
    CommandSpec(
      name: "enqueue", operands: "MANIFEST…", operandCount: 1...1000,
      summary: "Puts jobs on the queue and returns; work does them.",
      options: [
        Option(
          name: "--reread", value: nil, help: "read the manifest's items even if it is unchanged"),
        variant,
      ] + common),
    CommandSpec(
      name: "work", operands: "", operandCount: 0...0,
      summary: "Works on all jobs of the queue, refreshing entries as they expire, until stopped.",
      options: [
        Option(name: "--drain", value: nil, help: "end when nothing is due"),
        Option(name: "--quiet", value: nil, help: "errors only: no summaries"),
        Option(
          name: "--json", value: nil,
          help: "print a summary for each look at a job as JSON on standard output"),
        Option(
          name: "--gc-every", value: "DURATION",
          help: "collect what is no longer needed so often (default: 1h; never: not at all)"),
        Option(
          name: "--max-bytes", value: "SIZE",
          help: "then let the least recently needed go until no more is stored"),
      ] + working + common),
    CommandSpec(
      name: "status", operands: "[JOB]", operandCount: 0...1,
      summary: "Shows what is known now of all jobs, or of one.",
      options: [
        Option(name: "--watch", value: nil, help: "look again every two seconds, until stopped"),
        Option(name: "--json", value: nil, help: "print it as JSON; with --watch a line each time"),
      ] + common),
    CommandSpec(
      name: "show", operands: "URL|ID", operandCount: 1...1,
      summary:
        "Tells one entry's story: what the server said, why it is fresh or stale, its files.",
      options: [Option(name: "--json", value: nil, help: "print it as JSON")] + common),
    CommandSpec(
      name: "export", operands: "JOB", operandCount: 1...1,
      summary: "Prints a line for each item of a job, for the site that uses its thumbnails.",
      options: [
        Option(name: "--csv", value: nil, help: "CSV with a header row (default: NDJSON)"),
        Option(
          name: "--absolute", value: nil, help: "paths of files, not below public/JOB/"),
      ] + common),
    CommandSpec(
      name: "purge", operands: "[URL…]", operandCount: 0...1000,
      summary: "Forgets entries and deletes their files; the next run fetches them again.",
      options: [
        Option(name: "--job", value: "JOB", help: "all that a job's items need"),
        Option(name: "--host", value: "HOST", help: "all of one host"),
        Option(name: "--all", value: nil, help: "everything"),
      ] + common),
    CommandSpec(
      name: "retry", operands: "[JOB]", operandCount: 0...1,
      summary: "Makes failed, cooling and dead items due now, of one job or of all.",
      options: [
        Option(
          name: "--code", value: "CODE,…", help: "only those, such as http-503,timeout")
      ] + common),
    CommandSpec(
      name: "jobs", operands: "[pause|resume|cancel|remove JOB]", operandCount: 0...2,
      summary: "Lists the jobs, pauses one, lets it go on, ends its runs or forgets it.",
      options: [
        Option(
          name: "--keep-names", value: nil, help: "remove: leave what is published of it"),
        Option(name: "--json", value: nil, help: "print the list as JSON"),
      ] + common),
    CommandSpec(
      name: "gc", operands: "", operandCount: 0...0,
      summary:
        "Deletes what nothing refers to, what no job has needed for long, and what is over limits.",
      options: [
        Option(
          name: "--max-bytes", value: "SIZE",
          help: "let the least recently needed go until no more is stored"),
        Option(name: "--max-count", value: "N", help: "likewise, by the number of files"),
        Option(
          name: "--min-free", value: "SIZE",
          help: "likewise, until so much of the root's file system is free"),
        Option(
          name: "--max-age", value: "DURATION",
          help: "keep what is in no job for so long (default: 30d)"),
        Option(name: "--dry-run", value: nil, help: "say what would go; delete nothing"),
        Option(name: "--json", value: nil, help: "print what was done as JSON"),
      ] + common),
    CommandSpec(
      name: "verify", operands: "", operandCount: 0...0,
      summary: "Checks every stored file and published name against the ledger.",
      options: [
        Option(
          name: "--repair", value: nil,
          help: "put damaged files aside, link names again, make the rest due"),
        Option(
          name: "--max-rate", value: "SIZE", help: "read no more than that per second"),
        Option(name: "--json", value: nil, help: "print what was found as JSON"),
      ] + common),
    CommandSpec(
      name: "ledger", operands: "backup FILE", operandCount: 2...2,
      summary: "Makes a consistent copy of the ledger while workers run.", options: common),
    CommandSpec(
      name: "doctor", operands: "", operandCount: 0...0,
      summary: "Says whether this machine can do the work: libvips, sandbox, disk, ledger, limits.",
      options: [Option(name: "--json", value: nil, help: "print it as JSON")] + common),
    CommandSpec(
      name: "validate", operands: "MANIFEST…", operandCount: 1...1000,
      summary: "Checks manifests, and the files that they name, without any request.",
      options: [variant, Option(name: "--help", value: nil, help: "show this help")]),
  ]

  static func command(named name: String) -> CommandSpec? { commands.first { $0.name == name } }

  static var overview: [String] {
    [
      "usage: thumbworker COMMAND [options] …", "",
      "Keeps thumbnails of a catalogue of URLs up to date.", "",
    ]
      + commands.map { command in
        let gap = String(repeating: " ", count: 10 - command.name.count)
        return "  \(command.name)\(gap)\(command.summary)"
      } + ["", "thumbworker COMMAND --help tells more; thumbworker --version its version."]
  }
}

/// The one of the names that is a likely slip of the other, by edit distance; nil where none is near.
func nearest(to name: String, among names: [String]) -> String? {
  let ranked = names.map { ($0, editDistance(name, $0)) }.min { $0.1 < $1.1 }
  return ranked.flatMap { $0.1 <= max(2, name.count / 3) ? $0.0 : nil }
}

/// Insertions, deletions and replacements that make one text the other.
private func editDistance(_ a: String, _ b: String) -> Int {
  let b = Array(b)
  var row = Array(0...b.count)
  for (i, x) in a.enumerated() {
    var diagonal = row[0]
    row[0] = i + 1
    for (j, y) in b.enumerated() {
      let replaced = diagonal + (x == y ? 0 : 1)
      diagonal = row[j + 1]
      row[j + 1] = min(replaced, row[j] + 1, diagonal + 1)
    }
  }
  return row[b.count]
}
