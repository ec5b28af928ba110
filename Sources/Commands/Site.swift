import DecoderPool
import Fetching
import FoundationEssentials
import Glibc
import HTTPTransfer
import LedgerCore
import LedgerSQLite
import Pipeline
import Storage
import Threading
import Vocabulary

/// Where everything is kept.
struct Site {
  let layout: RootLayout
  /// `--min-free`, for commands that have it.
  let minFree: Int?

  /// `--root`, else `$THUMBWORKER_ROOT`, else `$XDG_CACHE_HOME/thumbworker`, else
  /// `~/.cache/thumbworker`.
  init(_ parsed: ParsedArguments, _ environment: [String: String]) throws(UsageError) {
    func given(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
    let path: String
    if let root = parsed.value("--root") ?? given("THUMBWORKER_ROOT") {
      path = root
    } else if let cache = given("XDG_CACHE_HOME"), cache.hasPrefix("/") {
      // The base directory specification has relative paths ignored.
      path = "\(cache)/thumbworker"
    } else if let home = given("HOME") {
      path = "\(home)/.cache/thumbworker"
    } else {
      throw UsageError(message: "no root: HOME is not set", hint: "give --root DIR")
    }
    guard !path.isEmpty else { throw UsageError(message: "--root is empty", hint: "") }
    layout = RootLayout(root: try Self.absolute(path))
    minFree = try parsed.byteSize("--min-free")
  }

  static func absolute(_ path: String) throws(UsageError) -> String {
    if path.hasPrefix("/") { return path }
    guard let folder = getcwd(nil, 0) else {
      throw UsageError(
        message: "the root \(path) is relative, and the working folder is gone or unreadable",
        hint: "give an absolute path, or change to a folder that exists")
    }
    defer { free(folder) }
    return "\(String(cString: folder))/\(path)"
  }

  /// For `status` and `show`, which write nothing.
  ///
  /// - Returns: nil where no run was made yet.
  func ledgerToRead() async throws(LedgerFailure) -> (any Ledger)? {
    try await ledgerToCopy()
  }

  /// To be read only, and copied.
  ///
  /// - Returns: nil where no run was made yet.
  func ledgerToCopy() async throws(LedgerFailure) -> (any Ledger & LedgerHousekeeping)? {
    guard access(layout.ledger, F_OK) == 0 else { return nil }
    return try await LedgerSQLite.openReadOnly(path: layout.ledger)
  }

  /// What housekeeping needs: ledger and store, to be written.
  ///
  /// - Throws: `UsageError` where no run was made yet.
  func openToKeep() async throws -> Housekeeper {
    guard access(layout.ledger, F_OK) == 0 else { throw nothingKnown }
    let (ledger, store) = try await openLedgerAndStore()
    return Housekeeper(ledger: ledger, store: store, clock: .system)
  }

  /// What putting jobs on the queue needs; makes the root where there is none.
  func openToEnqueue() async throws -> (Housekeeper, TransferEngine, Fetcher) {
    let (ledger, store) = try await openLedgerAndStore()
    let engine = TransferEngine(connections: 32)
    return (
      Housekeeper(ledger: ledger, store: store, clock: .system), engine,
      Self.fetcher(engine, SystemSleeper())
    )
  }

  private static func fetcher(_ engine: TransferEngine, _ sleeper: SystemSleeper) -> Fetcher {
    Fetcher(engine: engine, sleeper: sleeper, clock: .system, jitter: { .random(in: 0..<1) })
  }

  var nothingKnown: UsageError {
    UsageError(
      message: "nothing is known in \(layout.root): no run was made there",
      hint: "give --root DIR, or run a manifest first")
  }

  private func openLedgerAndStore() async throws -> (LedgerSQLite, ObjectStore) {
    // Not the other folders yet: what is no root of ours stays as it is.
    try layout.createRoot()
    let ledger = try await LedgerSQLite.open(
      path: layout.ledger, clock: .system, owner: "\(ProcessInfo.processInfo.hostName):\(getpid())")
    let store = try await ObjectStore.open(
      root: layout, storeID: try await ledger.storeID(), minFree: minFree)
    if store.isStranger {
      // The ledger names files that may be gone: each item's are checked before it counts as fresh.
      // That this is due is durable before the store is known again.
      try await ledger.makeAllDue()
      CrashSeam.storeChecked.reached()
      try await store.confirmIdentity()
    }
    return (ledger, store)
  }

  /// Everything that a run needs.
  func open(
    workers: Int?, memory: Int, connections: Int,
    formats: Set<ImageFormat> = ImageFormat.allowedByDefault
  ) async throws -> OpenSite {
    let (ledger, store) = try await openLedgerAndStore()
    let engine = TransferEngine(connections: connections)
    let sleeper = SystemSleeper()
    let decoders = try DecoderPool(
      executable: try Self.decoderPath(),
      decoders: workers ?? ProcessInfo.processInfo.activeProcessorCount, memory: memory,
      formats: formats)
    let encoders = try await decoders.greeting().encoders
    try await ledger.adopt(encoders)
    return OpenSite(
      worker: Worker(
        ledger: ledger, store: store,
        fetcher: Self.fetcher(engine, sleeper),
        decoders: decoders, clock: .system, sleeper: sleeper, encoders: encoders),
      keeper: Housekeeper(ledger: ledger, store: store, clock: .system), engine: engine)
  }

  /// One decoder, for whoever asks what it can do.
  func decoders(formats: Set<ImageFormat>) throws -> DecoderPool {
    try DecoderPool(
      executable: try Self.decoderPath(), decoders: 1, memory: LimitSettings().memory,
      formats: formats)
  }

  /// What the decoders of this installation are, without a run.
  func decoderGreeting() async throws -> DecoderGreeting {
    let pool = try decoders(formats: ImageFormat.allowedByDefault)
    let greeting: DecoderGreeting
    do {
      greeting = try await pool.greeting()
    } catch {
      await pool.stop()
      throw error
    }
    await pool.stop()
    return greeting
  }

  /// Beside the program itself, or where `$THUMBWORKER_DECODER` says.
  private static func decoderPath() throws(UsageError) -> String {
    if let path = ProcessInfo.processInfo.environment["THUMBWORKER_DECODER"] { return path }
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = readlink("/proc/self/exe", &buffer, buffer.count - 1)
    let program = String(
      decoding: buffer[..<max(0, count)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let path =
      program.split(separator: "/", omittingEmptySubsequences: false).dropLast()
      .joined(separator: "/") + "/thumbdecoder"
    guard access(path, X_OK) == 0 else {
      throw UsageError(
        message: "\(path) is missing",
        hint: "install thumbdecoder beside thumbworker, or set THUMBWORKER_DECODER to its path")
    }
    return path
  }
}

/// A root with its stages at work.
struct OpenSite: Sendable {
  let worker: Worker
  let keeper: Housekeeper
  let engine: TransferEngine

  func close() async {
    await worker.decoders.stop()
    await worker.ledger.close()
    engine.stop()
  }
}
