/// A part of the work that is measured by itself.
enum Stage: String, CaseIterable {
  /// Bodies hashed and dropped.
  case fetch
  /// Bodies made durable and settled in the ledger; nothing is decoded.
  case store

  func prepare(_ context: StageContext) throws -> Comparison {
    switch self {
    case .fetch: try FetchStage(context: context).prepare()
    case .store: try StoreStage(context: context).prepare()
    }
  }
}

/// What a stage prepares itself with.
struct StageContext {
  var options: BenchOptions
  var folder: BenchFolder
  var yardsticks: Yardsticks
}
