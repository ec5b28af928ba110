import Glibc

/// A piece of work that is measured in a process of its own.
protocol Work: Sendable {
  init(_ values: WorkValues) throws

  /// Where its tasks run; nil: on the cooperative pool.
  var executor: (any TaskExecutor)? { get }

  /// Prepares itself, then works, and prints a `WorkReport` for each part.
  func run() async throws
}

extension Work {
  var executor: (any TaskExecutor)? { nil }
}

/// `thumbworker-bench measure NAME key=value…`.
enum Measurement {
  enum Name: String {
    case fetch, transfer, store, parse, ledger, scale, decode

    var work: any Work.Type {
      switch self {
      case .fetch: FetchWork.self
      case .transfer: TransferWork.self
      case .store: StoreWork.self
      case .parse: ParseWork.self
      case .ledger: LedgerWork.self
      case .scale: ScaleWork.self
      case .decode: DecodeWork.self
      }
    }
  }

  /// Ends the process when the work has ended.
  static func start(_ arguments: ArraySlice<String>) throws {
    guard let name = arguments.first.flatMap(Name.init) else {
      throw BenchFailure.usage("there is nothing of that name to measure")
    }
    let work = try name.work.init(WorkValues(arguments.dropFirst()))
    Task(executorPreference: work.executor) {
      do {
        try await work.run()
        exit(0)
      } catch {
        say("\(name): \((error as? BenchFailure)?.message ?? "\(error)")")
        exit(3)
      }
    }
  }
}
