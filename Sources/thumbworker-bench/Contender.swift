/// One side of a comparison.
struct Contender {
  enum Role {
    /// Ours.
    case measured
    /// The least that such a stage can cost.
    case floor
  }

  var name: String
  var role = Role.measured
  /// Makes what a round needs, outside of what is measured, and says what to run.
  var command: () throws -> [String]
  /// What the program's output and use say, by part of the stage; a stage without parts has one, "".
  var read: (ChildProcess) throws -> [(part: String, sample: Sample)]

  func round() throws -> [(part: String, sample: Sample)] {
    try read(ChildProcess.run(try command()))
  }
}

extension Contender {
  /// This program again, in a process of its own.
  static func work(
    _ name: String, _ work: Measurement.Name, _ values: @escaping () throws -> [String: String]
  ) -> Contender {
    Contender(
      name: name,
      command: {
        ["/proc/self/exe", "measure", work.rawValue]
          + (try values()).map { "\($0.key)=\($0.value)" }
      },
      read: { try WorkReport.read($0) })
  }
}
