import FoundationEssentials
import Glibc

/// What a piece of work says of itself, a line for each of its parts.
struct WorkReport: Codable {
  var part: String
  var items: Int
  /// In seconds.
  var wall: Double
  var processor: Double

  /// Measures `body`, which is not to do anything else, and prints what it has cost.
  ///
  /// - Parameter body: returns how many items it has done.
  static func measure(_ part: String = "", _ body: () async throws -> Int) async throws {
    var meter = Meter()
    var items = 0
    try await meter.run { items = try await body() }
    try meter.report(part, items: items)
  }

  static func read(_ child: ChildProcess) throws -> [(part: String, sample: Sample)] {
    try child.output.split(separator: "\n").map { line in
      guard let report = try? JSONDecoder().decode(WorkReport.self, from: Data(line.utf8)) else {
        throw BenchFailure(message: "no report: \(line)")
      }
      return (
        report.part,
        Sample(
          items: report.items, wall: report.wall, processor: report.processor,
          peakBytes: child.peakBytes)
      )
    }
  }
}

/// Adds up what pieces of one part cost.
struct Meter {
  /// In seconds.
  private var wall = 0.0
  private var processor = 0.0

  mutating func run(_ body: () async throws -> Void) async rethrows {
    let (start, used) = (seconds(), Self.processorSeconds)
    try await body()
    wall += seconds() - start
    processor += Self.processorSeconds - used
  }

  func report(_ part: String, items: Int) throws {
    let report = WorkReport(part: part, items: items, wall: wall, processor: processor)
    print(String(decoding: try JSONEncoder().encode(report), as: UTF8.self))
    fflush(nil)
  }

  /// Of this process and of its children that have ended.
  private static var processorSeconds: Double {
    rusage.of(RUSAGE_SELF).processorSeconds + rusage.of(RUSAGE_CHILDREN).processorSeconds
  }
}
