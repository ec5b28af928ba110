import Vocabulary

/// What `doctor` found, in words and for scripts.
package struct DoctorReport: Sendable {
  /// One thing that was looked at.
  package struct Finding: Sendable {
    package enum State: String, Sendable {
      case ok
      /// The work can be done, with the loss that the message names.
      case warning
      case failed
    }

    /// Stable, short, kebab-case.
    package var name: String
    package var state: State
    package var message: String
    /// An instruction to the reader; empty where there is nothing to do.
    package var hint: String

    package init(_ name: String, _ state: State, _ message: String, hint: String = "") {
      self.name = name
      self.state = state
      self.message = message
      self.hint = hint
    }

    package init(_ name: String, _ failure: some WorkerFailure) {
      self.init(name, .failed, failure.message, hint: failure.hint)
    }
  }

  private let version: String
  private let findings: [Finding]
  private let decoder: DecoderGreeting?

  /// - Parameters:
  ///   - version: of this program.
  ///   - decoder: nil where none started.
  package init(version: String, findings: [Finding], decoder: DecoderGreeting?) {
    self.version = version
    self.findings = findings
    self.decoder = decoder
  }

  /// Whether this machine can do the work.
  package var isWell: Bool { !findings.contains { $0.state == .failed } }

  package var lines: [String] {
    let width = findings.map(\.name.count).max() ?? 0
    return findings.flatMap { finding -> [String] in
      let gap = String(repeating: " ", count: width - finding.name.count + 2)
      let mark = finding.state == .ok ? "" : "\(finding.state.rawValue): "
      let hint = finding.state == .ok || finding.hint.isEmpty ? [] : [finding.hint]
      return ["\(finding.name)\(gap)\(mark)\(finding.message)"]
        + hint.map { String(repeating: " ", count: width + 2) + $0 }
    }
  }

  package var json: String {
    JSONText.object([
      ("well", .bool(isWell)), ("version", .string(version)),
      ("libvips", .string(decoder?.libvips)),
      ("reads", .array(Self.names(decoder?.reads))),
      ("writes", .array(Self.names(decoder?.writes))),
      (
        "encoders",
        .object(
          ImageFormat.allCases.compactMap { format in
            decoder?.encoders.byFormat[format].map { (format.rawValue, .string($0)) }
          })
      ),
      (
        "checks",
        .array(
          findings.map {
            .object([
              ("name", .string($0.name)), ("state", .string($0.state.rawValue)),
              ("message", .string($0.message)), ("hint", .string($0.state == .ok ? "" : $0.hint)),
            ])
          })
      ),
    ]).text
  }

  private static func names(_ formats: Set<ImageFormat>?) -> [JSONText] {
    ImageFormat.allCases.filter { formats?.contains($0) ?? false }.map { .string($0.rawValue) }
  }
}
