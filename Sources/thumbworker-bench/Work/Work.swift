import FoundationEssentials
import Glibc

/// What is measured in a process of its own: `thumbworker-bench measure NAME key=value…`.
enum Work {
  enum Name: String {
    case fetch, transfer, store
  }

  static func run(_ arguments: ArraySlice<String>) async throws {
    guard let name = arguments.first.flatMap(Name.init) else {
      throw BenchFailure.usage("there is nothing of that name to measure")
    }
    let values = WorkValues(arguments.dropFirst())
    switch name {
    case .fetch: try await FetchWork(values).run()
    case .transfer: try await TransferWork(values).run()
    case .store: try await StoreWork(values).run()
    }
  }
}

/// What a piece of work was told on its command line.
struct WorkValues {
  private let values: [String: String]

  init(_ arguments: ArraySlice<String>) {
    values = arguments.reduce(into: [:]) { values, argument in
      guard let equals = argument.firstIndex(of: "=") else { return }
      values[String(argument[..<equals])] = String(argument[argument.index(after: equals)...])
    }
  }

  func text(_ name: String) throws -> String {
    guard let value = values[name] else { throw BenchFailure.usage("measure: \(name)= is missing") }
    return value
  }

  func count(_ name: String) throws -> Int {
    guard let count = Int(try text(name)) else { throw BenchFailure.usage("measure: \(name)=") }
    return count
  }

  /// The lines of a file.
  func lines(_ name: String) throws -> [String] {
    let path = try text(name)
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
      throw BenchFailure.system("read", path)
    }
    return text.split(separator: "\n").map(String.init)
  }
}

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
    let (start, processor) = (seconds(), processorSeconds)
    let items = try await body()
    let report = WorkReport(
      part: part, items: items, wall: seconds() - start,
      processor: processorSeconds - processor)
    print(String(decoding: try JSONEncoder().encode(report), as: UTF8.self))
    fflush(nil)
  }

  /// Of this process and of its children that have ended.
  private static var processorSeconds: Double {
    rusage.of(RUSAGE_SELF).processorSeconds + rusage.of(RUSAGE_CHILDREN).processorSeconds
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
