import Pipeline
import Vocabulary

// What failed and why: how often, where most, and one example.

extension SummaryReport {
  private static let hostsShown = 3

  /// ```
  ///   http-404: 12 items (3.1 %): cdn.example.com 9, img.example.org 2, a.example 1
  ///     such as sku-1: https://cdn.example.com/1.jpg (192.0.2.1) answered 404, with HTML
  ///     correct or drop the URL
  /// ```
  func errorLines(_ code: String, _ error: RunSummary.ErrorCount) -> [String] {
    let share = items > 0 ? " (\(Self.percent(error.count, of: items)))" : ""
    let hosts = error.hosts.worst(Self.hostsShown).map { "\($0.host) \($0.count)" }
    return [
      "  \(code): \(counted(error.count, "item"))\(share)"
        + (hosts.isEmpty ? "" : ": \(hosts.joined(separator: ", "))"),
      "    such as \(error.exampleItem): \(error.exampleMessage)",
    ] + (error.hint.isEmpty ? [] : ["    \(error.hint)"])
  }

  func errorDetails(_ code: String, _ error: RunSummary.ErrorCount) -> JSONText {
    .object([
      ("code", .string(code)), ("items", .number(error.count)),
      ("share", .fraction(error.count, of: items)),
      (
        "hosts",
        .array(
          error.hosts.worst(Self.hostsShown).map {
            .object([("host", .string($0.host)), ("items", .number($0.count))])
          })
      ),
      ("id", .string(error.exampleItem)), ("message", .string(error.exampleMessage)),
      ("hint", .string(error.hint)),
    ])
  }

  /// `12 %`, `3.1 %`, `<0.1 %`.
  static func percent(_ part: Int, of whole: Int) -> String {
    let tenths = part * 1000 / whole
    if tenths >= 100 { return "\(tenths / 10) %" }
    return tenths == 0 ? "<0.1 %" : "\(tenths / 10).\(tenths % 10) %"
  }
}
