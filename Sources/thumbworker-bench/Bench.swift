import FoundationEssentials
import Glibc

/// Runs the stages that were asked for and shows what they cost.
struct Bench {
  private let options: BenchOptions

  init(_ options: BenchOptions) { self.options = options }

  func run() throws {
    let folder = try BenchFolder(options.folder)
    defer { folder.remove() }
    let context = StageContext(
      options: options, folder: folder, yardsticks: Yardsticks(folder: options.yardsticks))
    if options.yardsticks == nil {
      say("no yardsticks: figures without a floor (--yardsticks DIR)")
    }
    var results: [StageResult] = []
    for stage in options.stages {
      let result = try run(stage, context)
      print(ResultTable(result).text, terminator: "\n\n")
      fflush(nil)
      results.append(result)
    }
    if let file = options.jsonFile { try ResultJSON(results).write(to: file) }
  }

  private func run(_ stage: Stage, _ context: StageContext) throws -> StageResult {
    say("\(stage.rawValue): preparing")
    let load = Machine.load
    let comparison = try stage.prepare(context)
    let rows = try comparison.run(rounds: options.rounds) { round in
      say("\(stage.rawValue): \(round == 0 ? "warming up" : "round \(round) of \(options.rounds)")")
    }
    return StageResult(
      comparison: comparison, rounds: options.rounds, rows: rows, loadBefore: load,
      loadAfter: Machine.load)
  }
}

/// To standard error, for people.
func say(_ text: String) {
  let line = Array("\(text)\n".utf8)
  write(STDERR_FILENO, line, line.count)
}

/// A stage with its figures and what the machine did besides.
struct StageResult {
  var comparison: Comparison
  var rounds: Int
  var rows: [Comparison.Row]
  /// Tasks that ran or waited to run, over a minute; our own included.
  var loadBefore: Double
  var loadAfter: Double
}
