/// A command line with what it is carried out with.
struct Invocation {
  let parsed: ParsedArguments
  let environment: [String: String]
  let console: Console
  let site: Site

  init(
    _ parsed: ParsedArguments, _ environment: [String: String], _ console: Console
  ) throws(UsageError) {
    self.parsed = parsed
    self.environment = environment
    self.console = console
    site = try Site(parsed, environment)
  }
}
