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
    String(decoding: try contents(of: try text(name)), as: UTF8.self)
      .split(separator: "\n").map(String.init)
  }
}
