/// A part of the work that is measured by itself.
enum Stage: String, CaseIterable {
  /// Bodies hashed and dropped.
  case fetch
  /// Bodies made durable and settled in the ledger; nothing is decoded.
  case store
  /// A manifest read.
  case parse
  /// Items taken up, claimed and settled.
  case ledger
  /// A ledger that holds so many entries already.
  case scale
  /// A run in which nothing is due.
  case empty
  /// A run in which every copy is confirmed.
  case revalidate
  /// Variants made by the confined decoders.
  case decode
  /// The whole run.
  case job

  func prepare(_ context: StageContext) throws -> Comparison {
    switch self {
    case .fetch: try FetchStage(context: context).prepare()
    case .store: try StoreStage(context: context).prepare()
    case .parse: try ParseStage(context: context).prepare()
    case .ledger: try LedgerStage(context: context).prepare()
    case .scale: try ScaleStage(context: context).prepare()
    case .empty: try EmptyStage(context: context).prepare()
    case .revalidate: try RevalidateStage(context: context).prepare()
    case .decode: try DecodeStage(context: context).prepare()
    case .job: try JobStage(context: context).prepare()
    }
  }
}

/// What a stage prepares itself with.
struct StageContext {
  var options: BenchOptions
  var folder: BenchFolder
  var yardsticks: Yardsticks
}
