import Vocabulary

/// The lines of a response that its freshness was decided by, as received: what `show` quotes.
///
/// Empty where nothing that the server said decided.
package func decidingLines(of response: StoredResponse, freshness: Freshness) -> HTTPFields {
  let names: [String]
  switch freshness.decidedBy {
  case .expires: names = ["Expires", "Date"]
  case .heuristic: names = ["Last-Modified", "Date"]
  case .varyStar: names = ["Vary"]
  case .invalid: names = freshness.target.map { [$0] } ?? ["Cache-Control", "Expires"]
  case .sMaxAge, .maxAge, .noCache, .noStore, .isPrivate, .authorization,
    .mustUnderstand:
    names = [freshness.target ?? "Cache-Control"]
  case .default, .status, .ignore, .negativeTTL, .coolDown, .retryAfter: names = []
  }
  let countsAge = freshness.decidedBy != .ignore && freshness.age > .zero
  return HTTPFields(
    response.fields.lines.filter { line in
      names.contains { line.isNamed($0) } || countsAge && !names.isEmpty && line.isNamed("Age")
    })
}
