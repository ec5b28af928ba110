import Glibc
import Hashing
import LedgerCore
import LedgerSQLite
import TestSupport
import Testing
import Threading
import Vocabulary

/// Figures, not judgements: `LEDGER_MEASURE=1000000 swift test -c release --filter Measurements`,
/// with `LEDGER_MEASURE_DISK=1` on a disk instead of in memory.
@Suite(.enabled(if: getenv("LEDGER_MEASURE") != nil), .serialized)
struct `Measurements` {
  private let count = getenv("LEDGER_MEASURE").flatMap { Int(String(cString: $0)) } ?? 100_000
  private static let window = 65_536
  /// At most so many are settled: their rate does not depend on how many follow.
  private var settled: Int { min(count, 100_000) }

  @Test func `of a job's reading, its run and its second reading`() async throws {
    let folder = LedgerFolder(isOnDisk: getenv("LEDGER_MEASURE_DISK") != nil)
    let clock = TestClock()
    let ledger = try await LedgerSQLite.open(
      path: folder.file("ledger.sqlite"), clock: clock.wall, owner: "measure")
    var scene = Scene(ledger: ledger, clock: clock)
    try await read(&scene, "new items")
    let sizeAsRead = folder.size("ledger.sqlite")
    print("file: \(sizeAsRead / count) B per item that was read")
    try await read(&scene, "unchanged items")
    try await status(scene)
    try await settleAll(&scene, workers: 64)
    let growth = folder.size("ledger.sqlite") - sizeAsRead
    print("file: \(growth / settled) B more per item with 4 variants")
    try await read(&scene, "unchanged items")
    try await status(scene)
    try await emptyRun(&scene)
    try await readChangedSettings(&scene)
  }

  private func url(_ i: Int) -> ItemURL {
    // Spread as real paths are, so that neighbours in the manifest are none in the ledger.
    let x = UInt64(i) &* 0x9E37_79B9_7F4A_7C15
    return try! ItemURL(
      "https://img\(i % 8).example-cdn.com/photos/\(x >> 56)/\(x >> 48 & 255)/\(x)_\(i).jpg")
  }

  private func window(_ start: Int, _ hash: SHA256) -> [ItemEntry] {
    (start..<min(start + Self.window, count)).map { i in
      let digits = String(i)
      let id = "item-" + String(repeating: "0", count: 8 - digits.utf8.count) + digits
      let url = url(i)
      return ItemEntry(
        id: try! ItemID(id), url: url, key: EntryKey(url, using: hash), variants: nil, meta: nil)
    }
  }

  private func read(
    _ scene: inout Scene, _ what: String, settings: String = "{}"
  ) async throws {
    let watch = Watch()
    let hash = SHA256()
    var inLedger = Duration.zero
    let ticket = try await scene.ledger.beginIngest(
      name: "measured", settings: settings, settingsDigest: Digest(of: settings),
      at: scene.clock.now)
    scene.job = ticket.job
    for start in stride(from: 0, to: count, by: Self.window) {
      let items = window(start, hash)
      let before = ContinuousClock.now
      _ = try await scene.ledger.ingest(items, bad: [], ticket: ticket)
      inLedger += ContinuousClock.now - before
    }
    _ = try await scene.ledger.finishIngest(ticket, identity: .sample, prune: true)
    watch.report("\(what): \(rate(inLedger)) items/s within the ledger")
  }

  private func settleAll(_ scene: inout Scene, workers: Int) async throws {
    try await scene.beginRun()
    let watch = Watch()
    try await withThrowingTaskGroup(of: Void.self) { [scene] group in
      for _ in 0..<workers {
        group.addTask {
          for _ in 0..<settled / workers / 64 {
            let claims = try await scene.claim(limit: 64).claims
            for claim in claims {
              let links = try await scene.settle(fourVariants(scene, claim))
              try await scene.ledger.confirm(links ?? [])
            }
          }
        }
      }
      try await group.waitForAll()
    }
    watch.report("claimed, settled and confirmed: \(rate(watch.elapsed, settled)) items/s")
  }

  private func fourVariants(_ scene: Scene, _ claim: Claim) -> Settlement {
    var settlement = scene.fetched(claim)
    let digest = settlement.entry.original!.digest
    settlement.objects.removeLast()
    settlement.variants = []
    settlement.items[0].publications = []
    for name in ["w96", "w320", "w640", "w1280"] {
      let object = Digest(of: "\(name)\(digest)")
      settlement.objects.append(ObjectRecord(digest: object, bytes: 1234))
      settlement.variants.append(
        VariantRecord(
          original: digest, recipe: RecipeKey(Digest(of: name)),
          state: .made(
            StoredVariant(digest: object, bytes: 1234, format: .webp, width: 96, height: 64))))
      settlement.items[0].publications!.append(
        Publication(path: "\(name)/\(claim.items[0].id).webp", variant: name, object: object))
    }
    return settlement
  }

  private func emptyRun(_ scene: inout Scene) async throws {
    let watch = Watch()
    try await scene.beginRun()
    _ = try await scene.ledger.job(named: "measured")
    let claimed = try await scene.claim(limit: 1).claims.count
    #expect(claimed == (settled == count ? 0 : 1))
    _ = try await scene.ledger.unsettled(job: scene.job, run: scene.run)
    watch.report("a run's begin, with one claim")
  }

  private func status(_ scene: Scene) async throws {
    let watch = Watch()
    let status = try await scene.ledger.status(at: scene.clock.now)
    #expect(status.jobs[0].items == count)
    watch.report("status")
  }

  private func readChangedSettings(_ scene: inout Scene) async throws {
    let watch = Watch()
    _ = try await scene.ledger.beginIngest(
      name: "measured", settings: "{\"a\":1}", settingsDigest: Digest(of: "{\"a\":1}"),
      at: scene.clock.now)
    watch.report("settings changed: \(rate(watch.elapsed)) items/s made due")
  }

  private func rate(_ elapsed: Duration, _ count: Int? = nil) -> Int {
    Int(Double(count ?? self.count) / elapsed.inSeconds)
  }
}

/// Wall time, CPU time and the largest resident size.
private struct Watch {
  private let start = ContinuousClock.now
  private let cpu = Self.cpuSeconds()

  var elapsed: Duration { ContinuousClock.now - start }

  func report(_ what: String) {
    let seconds = elapsed.inSeconds
    let used = Self.cpuSeconds() - cpu
    print("\(what): \(milli(seconds)) s, CPU \(milli(used)) s, peak \(Self.peakMiB()) MiB")
  }

  private func milli(_ seconds: Double) -> Double { (seconds * 1000).rounded() / 1000 }

  private static func usage() -> rusage {
    var usage = rusage()
    getrusage(RUSAGE_SELF.rawValue, &usage)
    return usage
  }

  private static func cpuSeconds() -> Double {
    let usage = usage()
    return Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
      + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
  }

  private static func peakMiB() -> Int { usage().ru_maxrss / 1024 }
}
