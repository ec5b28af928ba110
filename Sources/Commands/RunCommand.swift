import LedgerCore
import Manifests
import Pipeline
import Reporting
import Synchronization
import Threading
import Vocabulary

/// `run MANIFEST…`: does everything that is due and waits until it is done.
struct RunCommand {
  private let parsed: ParsedArguments
  private let environment: [String: String]
  private let console: Console
  private var options = RunOptions()
  private let style: ProgressDisplay.Style
  private let failAbove: Double
  private let workers: Int?
  private var variants: [String] { parsed.values["--variant"] ?? [] }

  init(_ parsed: ParsedArguments, _ environment: [String: String], _ console: Console)
    throws(UsageError)
  {
    self.parsed = parsed
    self.environment = environment
    self.console = console
    options.force = parsed.has("--force")
    options.retryFailed = parsed.has("--retry-failed")
    options.reread = parsed.has("--reread")
    options.refreshAhead = try parsed.duration("--refresh-ahead") ?? .zero
    if let grace = try parsed.duration("--grace") { options.grace = grace }
    if let lease = try parsed.lease() { options.leaseDuration = lease }
    options.limit = try parsed.count("--limit", in: 1...Int.max)
    workers = try parsed.count("--workers", in: 1...256)
    let style = parsed.value("--progress") ?? "auto"
    guard let known = ProgressDisplay.Style(rawValue: style) else {
      throw UsageError(
        message: "--progress: \"\(style)\" is none of auto, bar, lines and none", hint: "")
    }
    self.style = parsed.has("--quiet") ? .none : known
    failAbove = try Self.share(parsed.value("--fail-above") ?? "0")
  }

  /// `2%` or `0.02`, as a number from 0 to 1.
  private static func share(_ text: String) throws(UsageError) -> Double {
    let isPercent = text.hasSuffix("%")
    guard let number = Double(isPercent ? String(text.dropLast()) : text),
      case let share = isPercent ? number / 100 : number, (0...1).contains(share)
    else {
      throw UsageError(
        message: "--fail-above: \"\(text)\" is no share", hint: "write it as 2% or 0.02")
    }
    return share
  }

  func execute(_ interruption: Interruption) async throws -> ExitCode {
    let site = try Site(parsed, environment)
    if parsed.has("--dry-run") {
      guard
        let manifests = openManifests(parsed.operands, variants: variants, environment, console)
      else { return .usage }
      return try await plan(manifests, site)
    }
    guard
      let sources = await jobSources(
        parsed.operands, site, reread: options.reread, variants: variants, environment, console)
    else { return .usage }
    let open = try await site.open(
      workers: workers, memory: sources.map(\.settings.limits.memory).min() ?? 2 << 30,
      connections: sources.map(\.settings.network.concurrency).max() ?? 32,
      formats: sources.reduce(into: []) { $0.formUnion($1.settings.limits.formats) })
    var worst = ExitCode.well
    var isStopped = false
    for source in sources where interruption.exitCode == nil && !isStopped {
      let summary = await run(source, open.worker, interruption)
      report(summary)
      let code = exitCode(of: summary)
      if code.rawValue > worst.rawValue { worst = code }
      isStopped = summary.stoppedBy != nil
    }
    await open.close()
    return interruption.exitCode ?? worst
  }

  private func run(
    _ source: JobSource, _ worker: Worker, _ interruption: Interruption
  ) async -> RunSummary {
    let failures = FailureLines(console: console)
    let board = RunBoard(onFailure: failures.show)
    interruption.watch(board)
    let display = ProgressDisplay(
      style: style, job: source.settings.name, board: board, console: console,
      sleeper: worker.sleeper)
    let progress = Task { await display.run() }
    let summary = await JobRun(
      worker: worker, source: source, options: options, board: board
    ).run()
    progress.cancel()
    await progress.value
    interruption.forget(board)
    return summary
  }

  private func report(_ summary: RunSummary) {
    let report = SummaryReport(summary)
    if parsed.has("--json") { console.print([report.json]) }
    if !parsed.has("--quiet") || summary.stoppedBy != nil || summary.calledOff != nil
      || !summary.sourceFailures.isEmpty
    {
      console.complain(report.lines)
    }
  }

  private func exitCode(of summary: RunSummary) -> ExitCode {
    if summary.stoppedBy != nil { return .environment }
    if summary.calledOff != nil { return .someFailed }
    if !summary.sourceFailures.isEmpty { return .environment }
    return summary.failedShare > failAbove ? .someFailed : .well
  }

  private func plan(_ manifests: [ManifestFile], _ site: Site) async throws -> ExitCode {
    let ledger = try await site.ledgerToRead()
    let encoders = try await site.decoderGreeting().encoders
    let now = Timestamp(milliseconds: WallClock.system.milliseconds())
    for manifest in manifests {
      let counts = try await DryRun(
        ledger: ledger, manifest: manifest, options: options, now: now, encoders: encoders
      ).run()
      for source in manifest.sources where source.url != nil {
        console.complain([
          "\(manifest.settings.name): \(source.shown) was not asked: its items are not in the plan"
        ])
      }
      let report = PlanReport(job: manifest.settings.name, counts: counts)
      console.print(parsed.has("--json") ? [report.json] : report.lines)
    }
    await ledger?.close()
    return .well
  }
}

/// Tells the first failures as they come; the summary counts them all.
private final class FailureLines: Sendable {
  private static let most = 20
  private let shown = Mutex(0)
  private let console: Console

  init(console: Console) { self.console = console }

  func show(_ item: ItemID, _ failure: FailureRecord) {
    let number = shown.withLock { shown in
      shown += 1
      return shown
    }
    if number <= Self.most {
      console.complain(FailureText(failure, of: item.text).lines)
    } else if number == Self.most + 1 {
      console.complain(["more items fail; the summary counts them by code"])
    }
  }
}
