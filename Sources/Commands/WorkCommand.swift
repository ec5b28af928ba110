import LedgerCore
import Manifests
import Pipeline
import Reporting
import Storage
import Threading
import Vocabulary

/// `work`: works on all jobs as their items fall due, until stopped; `--drain`: until nothing is due.
struct WorkCommand {
  private let parsed: ParsedArguments
  private let environment: [String: String]
  private let console: Console
  private let site: Site
  private let workers: Int?
  private let collectionInterval: Duration
  private var rule = CollectionRule()
  private var options = RunOptions()

  init(_ parsed: ParsedArguments, _ environment: [String: String], _ console: Console)
    throws(UsageError)
  {
    self.parsed = parsed
    self.environment = environment
    self.console = console
    site = try Site(parsed, environment)
    workers = try parsed.count("--workers", in: 1...256)
    collectionInterval = try parsed.duration("--gc-every") ?? .hours(1)
    if let grace = try parsed.duration("--grace") { options.grace = grace }
    if let lease = try parsed.lease() { options.leaseDuration = lease }
    rule.maxBytes = try parsed.byteSize("--max-bytes")
    // More than bodies leave free: they go on after it.
    rule.minFree = site.minFree.map { $0 + $0 / 4 }
  }

  func execute(_ interruption: Interruption) async throws -> ExitCode {
    interruption.expectRuns()
    let jobs = await jobs()
    let open = try await site.open(
      workers: workers, memory: 2 << 30,
      connections: jobs.reduce(32) { max($0, $1.network.concurrency) },
      formats: jobs.reduce(into: ImageFormat.allowedByDefault) { $0.formUnion($1.limits.formats) })
    let drains = parsed.has("--drain")
    let collecting = drains ? nil : Task { await collect(open.keeper, open.worker.sleeper) }
    let failures = try await WorkLoop(
      worker: open.worker, environment: environment, options: options,
      tell: tellers(interruption), isStopped: { interruption.isStopping }
    ).run(drains: drains)
    collecting?.cancel()
    await collecting?.value
    await open.close()
    return interruption.exitCode ?? (failures.isEmpty ? .well : .environment)
  }

  /// The settings of the jobs that are on the queue by now: what a later one asks for beyond theirs, it
  /// gets from the next start on.
  private func jobs() async -> [JobSettings] {
    let jobs = try? await site.ledgerToCopy()?.jobs()  // opening it to write says why not
    return (jobs ?? []).compactMap {
      try? Manifests.settings(fromHead: $0.settings, environment: environment, standIn: "")
    }
  }

  private func tellers(_ interruption: Interruption) -> WorkLoop.Tellers {
    let (console, isJSON, isQuiet) = (console, parsed.has("--json"), parsed.has("--quiet"))
    return WorkLoop.Tellers(
      begins: { _, board in interruption.watch(board) },
      ends: { summary, board in
        interruption.forget(board)
        let report = SummaryReport(summary)
        if isJSON { console.print([report.json]) }
        if !isQuiet || summary.stoppedBy != nil { console.complain(report.lines) }
      },
      cannot: { job, failure in console.complain(FailureText(failure, of: job).lines) })
  }

  /// How often the limits are looked at between the hours of collection.
  private static let limitInterval: Duration = .seconds(300)

  private func collect(_ keeper: Housekeeper, _ sleeper: any Sleeper) async {
    var last = sleeper.now
    // Ends by cancellation.
    while (try? await sleeper.sleep(for: min(left(since: last, sleeper), Self.limitInterval)))
      != nil
    {
      let isDue = left(since: last, sleeper) <= .zero
      defer { if isDue { last = sleeper.now } }
      do throws(RunStop) {
        if !isDue { guard try await isOverLimit(keeper) else { continue } }
        var rule = rule
        // What a job needs it would only fetch again, and that every few minutes.
        rule.sparesNeeded = !isDue
        let wanted = try await keeper.wantedRecipes(environment: environment)
        _ = try await GarbageCollection(keeper: keeper, rule: rule, wanted: wanted).run()
      } catch {
        console.complain(FailureText(error.failure, of: "gc").lines)
      }
    }
  }

  /// Until the next collection that is due by its time.
  private func left(since last: Duration, _ sleeper: any Sleeper) -> Duration {
    collectionInterval - (sleeper.now - last)
  }

  /// Whether bodies would soon stop to come, or more is stored than is to be.
  private func isOverLimit(_ keeper: Housekeeper) async throws(RunStop) -> Bool {
    if let minFree = rule.minFree, let free = keeper.store.freeBytes, free < minFree { return true }
    guard let maxBytes = rule.maxBytes else { return false }
    return try await keeper.storedBytes() > maxBytes
  }
}
