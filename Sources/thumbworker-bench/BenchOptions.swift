import FoundationEssentials
import Glibc

/// What the command line asks for.
struct BenchOptions {
  var stages: [Stage] = []
  /// Of each stage; nil: as many as the stage finds fit.
  var items: Int?
  var rounds = 7
  var connections = 32
  /// Where the C yardsticks are; nil: figures without a floor.
  var yardsticks: String?
  /// Images to use instead of made ones.
  var corpus: String?
  /// Where everything is made. What is stored there is synced, so it should be a disk.
  var folder: String?
  var jsonFile: String?
  private(set) var asksForHelp = false

  static let help = """
    usage: thumbworker-bench [options] [STAGE…]
    stages: \(Stage.allCases.map(\.rawValue).joined(separator: " ")) (default: all)
      --items N          items of each stage: 10k, 1M (default: each stage's own)
      --rounds N         rounds, each of all contenders in turn (default: 7)
      --connections N    transfers at a time (default: 32)
      --yardsticks DIR   the C yardsticks' folder (default: $THUMBWORKER_YARDSTICKS)
      --corpus DIR       images for decode and job (default: made ones)
      --dir DIR          where to work; emptied afterwards (default: a new folder of $TMPDIR)
      --json FILE        the figures as JSON as well
    """

  init(_ arguments: [String]) throws {
    yardsticks = ProcessInfo.processInfo.environment["THUMBWORKER_YARDSTICKS"]
      .flatMap { $0.isEmpty ? nil : $0 }
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      if argument == "--help" || argument == "-h" {
        asksForHelp = true
        return
      }
      guard argument.hasPrefix("--") else {
        stages.append(try Self.stage(argument))
        continue
      }
      guard let value = rest.popFirst() else {
        throw BenchFailure.usage("\(argument) needs a value")
      }
      try take(argument, value)
    }
    if stages.isEmpty { stages = Stage.allCases }
    try check()
  }

  /// What would be noticed when everything is measured.
  private func check() throws {
    for folder in [yardsticks, corpus].compactMap({ $0 }) where access(folder, R_OK | X_OK) != 0 {
      throw BenchFailure.usage("there is no folder \(folder)")
    }
    guard let jsonFile else { return }
    guard let file = fopen(jsonFile, "a") else { throw BenchFailure.system("write", jsonFile) }
    fclose(file)
  }

  private mutating func take(_ option: String, _ value: String) throws {
    switch option {
    case "--items": items = try Self.count(value, of: option)
    case "--rounds": rounds = try Self.count(value, of: option)
    case "--connections": connections = try Self.count(value, of: option)
    case "--yardsticks": yardsticks = value
    case "--corpus": corpus = value
    case "--dir": folder = value
    case "--json": jsonFile = value
    default: throw BenchFailure.usage("there is no option \(option)")
    }
  }

  private static func stage(_ name: String) throws -> Stage {
    guard let stage = Stage(rawValue: name) else {
      throw BenchFailure.usage("there is no stage \"\(name)\"")
    }
    return stage
  }

  /// `5000`, `10k`, `1M`.
  private static func count(_ text: String, of option: String) throws -> Int {
    let units = ["k": 1000, "M": 1_000_000]
    let unit = text.last.flatMap { units[String($0)] }
    guard let number = Int(unit == nil ? text[...] : text.dropLast()), number > 0 else {
      throw BenchFailure.usage("\(option): \"\(text)\" is no count")
    }
    return number * (unit ?? 1)
  }
}
