/// A stage's contenders, run in turn so that what the machine does besides hits all of them.
struct Comparison {
  var stage: Stage
  /// What one item is.
  var unit: String
  /// What has to be known to read the figures.
  var conditions: String
  var contenders: [Contender]

  /// One contender's figures of one part.
  struct Row {
    var part: String
    var contender: String
    var role: Contender.Role
    var samples: [Sample]
  }

  /// A first round warms up caches and is not counted.
  func run(rounds: Int, progress: (Int) -> Void) throws -> [Row] {
    var rows: [Row] = []
    for round in 0...rounds {
      progress(round)
      for contender in contenders {
        let samples = try contender.round()
        if round > 0 { for (part, sample) in samples { rows.add(sample, part, contender) } }
      }
    }
    return rows
  }
}

extension [Comparison.Row] {
  fileprivate mutating func add(_ sample: Sample, _ part: String, _ contender: Contender) {
    if let index = firstIndex(where: { $0.part == part && $0.contender == contender.name }) {
      self[index].samples.append(sample)
    } else {
      append(
        Comparison.Row(
          part: part, contender: contender.name, role: contender.role, samples: [sample]))
    }
  }

  /// What a row is compared with: the part's first floor.
  func floor(of row: Element) -> Element? {
    row.role == .floor ? nil : first { $0.part == row.part && $0.role == .floor }
  }
}
