import FoundationEssentials
import Glibc

/// The C programs that say what the least is: one thread, no limits, no promises.
struct Yardsticks {
  let folder: String?

  /// - Parameters:
  ///   - program: its name in the folder.
  ///   - arguments: of one round.
  /// - Returns: nothing where there is no such program.
  func floor(
    _ name: String, program: String, part: String = "",
    arguments: @escaping () throws -> [String],
    read: @escaping (ChildProcess) throws -> Sample
  ) -> [Contender] {
    guard let path = folder.map({ "\($0)/\(program)" }), access(path, X_OK) == 0 else { return [] }
    return [
      Contender(
        name: name, role: .floor, command: { [path] + (try arguments()) },
        read: { [(part, try read($0))] })
    ]
  }

  /// The number behind `label` in what a yardstick prints.
  static func number(after label: String, in output: String) throws -> Double {
    guard let range = output.firstRange(of: label) else {
      throw BenchFailure(message: "a yardstick does not say \(label): \(output)")
    }
    let digits = output[range.upperBound...].drop { $0 == " " }
      .prefix { $0.isNumber || $0 == "." }
    guard let number = Double(digits) else {
      throw BenchFailure(message: "a yardstick says no number behind \(label): \(output)")
    }
    return number
  }
}
