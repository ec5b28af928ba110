import FoundationEssentials
import Glibc

/// The built programs beside this one.
enum Programs {
  static var thumbworker: String { get throws { try path("thumbworker") } }
  static var thumbdecoder: String { get throws { try path("thumbdecoder") } }

  private static func path(_ name: String) throws -> String {
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = readlink("/proc/self/exe", &buffer, buffer.count - 1)
    let own = String(
      decoding: buffer[..<max(0, count)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let path = own.prefix(through: own.lastIndex(of: "/") ?? own.startIndex) + name
    guard access(String(path), X_OK) == 0 else {
      throw BenchFailure(message: "\(path) is missing: build the whole package first")
    }
    return String(path)
  }
}

extension Contender {
  /// A run of the built thumbworker to its end.
  ///
  /// - Parameters:
  ///   - arguments: behind `run --json --quiet`.
  ///   - outcome: how every item has to end.
  static func run(
    _ name: String, items: Int, outcome: String, _ arguments: @escaping () throws -> [String]
  ) -> Contender {
    Contender(
      name: name,
      command: { [try Programs.thumbworker, "run", "--json", "--quiet"] + (try arguments()) },
      read: { child in
        try RunSummary(child.output).check(outcome, items)
        return [
          (
            "",
            Sample(
              items: items, wall: child.wall, processor: child.processor,
              peakBytes: child.peakBytes)
          )
        ]
      })
  }
}

/// What `run --json` prints, as far as it is looked at.
struct RunSummary: Decodable {
  private var outcomes: [String: Int]

  init(_ output: String) throws {
    guard let summary = try? JSONDecoder().decode(RunSummary.self, from: Data(output.utf8)) else {
      throw BenchFailure(message: "no summary of a run: \(output)")
    }
    self = summary
  }

  /// - Throws: where an item has ended otherwise.
  func check(_ outcome: String, _ items: Int) throws {
    guard outcomes[outcome] == items else {
      throw BenchFailure(
        message: "\(items) items were to be \(outcome), but there were \(outcomes)")
    }
  }
}
