import LedgerCore
import Manifests
import Pipeline
import Reporting
import Vocabulary

/// `validate MANIFEST…`: checks manifests and the files that they name, without any request.
struct ValidateCommand {
  private static let mostBadLines = 20

  private let parsed: ParsedArguments
  private let environment: [String: String]
  private let console: Console

  init(_ parsed: ParsedArguments, _ environment: [String: String], _ console: Console) {
    self.parsed = parsed
    self.environment = environment
    self.console = console
  }

  func execute() async -> ExitCode {
    guard
      let manifests = openManifests(
        parsed.operands, variants: parsed.values["--variant"] ?? [], environment, console)
    else { return .usage }
    var worst = ExitCode.well
    for manifest in manifests {
      let path = manifest.path
      let survey = await SourceSurvey(of: manifest, most: Self.mostBadLines).run()
      tell(survey, of: path)
      let count = manifest.itemCount + survey.items
      let code = exitCode(of: survey)
      console.print([
        "\(path): job \(manifest.settings.name), \(counted(count, "item")), "
          + "\(counted(manifest.settings.variants.count, "variant")): "
          + (code == .well ? "correct" : "has faults")
      ])
      if code.rawValue > worst.rawValue { worst = code }
    }
    return worst
  }

  private func tell(_ survey: SourceSurvey.Result, of path: String) {
    for failure in survey.failures { console.complain(FailureText(failure, of: path).lines) }
    for item in survey.badItems {
      console.complain(FailureText(item.failure, of: item.id.text).lines)
    }
    let more = survey.badItemCount - survey.badItems.count
    if more > 0 { console.complain(["\(path): and \(counted(more, "more such item"))"]) }
    for source in survey.notAsked { console.complain(["\(path): \(source) was not asked"]) }
  }

  private func exitCode(of survey: SourceSurvey.Result) -> ExitCode {
    if !survey.failures.isEmpty { return .usage }
    return survey.badItemCount == 0 ? .well : .someFailed
  }
}
