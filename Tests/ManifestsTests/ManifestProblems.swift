import TestSupport
import Testing

@testable import Manifests

/// The lines that a user sees, the manifest's path taken off.
func problems(
  _ text: String, environment: [String: String] = [:], named name: String = "job.json"
) -> [String] {
  problems(ManifestTestFile(text, named: name), environment: environment)
}

func problems(_ file: ManifestTestFile, environment: [String: String] = [:]) -> [String] {
  do {
    _ = try ManifestFile.open(path: file.path, environment: environment)
    return []
  } catch {
    return error.message.split(separator: "\n").map {
      String($0.hasPrefix("\(file.path): ") ? $0.dropFirst(file.path.utf8.count + 2) : $0)
    }
  }
}

struct Row: CustomTestStringConvertible, Sendable {
  let text: String
  let lines: [String]
  var testDescription: String { String(text.prefix(100)) }

  init(_ text: String, _ lines: String...) {
    self.text = text
    self.lines = lines
  }
}
