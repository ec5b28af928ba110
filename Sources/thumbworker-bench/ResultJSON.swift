import FoundationEssentials

/// All figures for programs.
struct ResultJSON: Encodable {
  struct Contender: Encodable {
    var part: String
    var name: String
    var isFloor: Bool
    var itemsPerSecond: Spread
    var cpuMicrosecondsPerItem: Spread
    var peakBytes: Spread
  }

  struct Stage: Encodable {
    var stage: String
    var unit: String
    var conditions: String
    var rounds: Int
    var loadBefore: Double
    var loadAfter: Double
    var contenders: [Contender]
  }

  var processor = Machine.processor
  var cores = Machine.cores
  var kernel = Machine.kernel
  var stages: [Stage]

  init(_ results: [StageResult]) { stages = results.map(Stage.init) }

  func write(to path: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    try encoder.encode(self).write(to: URL(filePath: path))
  }
}

extension ResultJSON.Stage {
  init(_ result: StageResult) {
    stage = result.comparison.stage.rawValue
    unit = result.comparison.unit
    conditions = result.comparison.conditions
    rounds = result.rounds
    loadBefore = result.loadBefore
    loadAfter = result.loadAfter
    contenders = result.rows.map(ResultJSON.Contender.init)
  }
}

extension ResultJSON.Contender {
  init(_ row: Comparison.Row) {
    part = row.part
    name = row.contender
    isFloor = row.role == .floor
    itemsPerSecond = Spread(row.samples.map(\.itemsPerSecond))
    cpuMicrosecondsPerItem = Spread(row.samples.map(\.microsecondsPerItem))
    peakBytes = Spread(row.samples.map { Double($0.peakBytes) })
  }
}
