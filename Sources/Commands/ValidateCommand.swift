import Manifests
import Reporting
import Vocabulary

/// `validate MANIFEST…`: checks manifests without any request.
struct ValidateCommand {
  private let parsed: ParsedArguments
  private let environment: [String: String]
  private let console: Console

  init(_ parsed: ParsedArguments, _ environment: [String: String], _ console: Console) {
    self.parsed = parsed
    self.environment = environment
    self.console = console
  }

  func execute() -> ExitCode {
    guard let manifests = openManifests(parsed.operands, environment, console) else {
      return .usage
    }
    for (path, manifest) in zip(parsed.operands, manifests) {
      console.print([
        "\(path): job \(manifest.settings.name), \(counted(manifest.itemCount, "item")), "
          + "\(counted(manifest.settings.variants.count, "variant")): correct"
      ])
    }
    return .well
  }
}
