import HTTPCaching
import Hashing
import LedgerCore
import Pipeline
import Vocabulary

/// One URL's story: what its server said, why it is fresh or stale and until when, what it became, and
/// what the next run will do.
///
/// The parts: `ShowReport+JSON` for scripts, `ShowReport+Freshness` and `ShowReport+NextRun` for the
/// sentences.
package struct ShowReport: Sendable {
  let story: EntryStory

  package init(_ story: EntryStory) { self.story = story }

  /// For people.
  package var lines: [String] {
    var lines = ["\(story.url): \(story.state.rawValue)"]
    lines += response
    lines += lastAnswer
    lines += failure
    lines += files
    lines += (story.last?.original?.warnings ?? []).map { "  warning: \($0)" }
    for view in story.views { lines += self.lines(of: view) }
    return lines
  }

  // MARK: What the server said

  private var response: [String] {
    guard let entry = story.last else { return ["  nothing is known of it"] }
    var lines: [String] = []
    for (hop, next) in zip(story.chain, story.chain.dropFirst()) {
      lines.append("  \(hop.response.map { "\($0.status) " } ?? "")redirects to \(next.url)")
    }
    guard let response = entry.response else { return lines + ["  nothing is stored"] }
    lines.append("  response \(response.status), received \(response.responseTime)")
    let known = [
      "Cache-Control", "Expires", "Date", "Age", "Last-Modified", "ETag", "Vary", "Pragma",
    ]
    for line in response.fields.lines
    where known.contains(where: line.isNamed) || line.isTargeted {
      lines.append("    \(line.name): \(line.value)")
    }
    return lines
  }

  private var lastAnswer: [String] {
    guard let entry = story.last, let at = entry.validatedAt else { return [] }
    let words = entry.lastAnswer.map { ": \($0.words)" } ?? ""
    return ["  last answer \(at)\(words)"]
  }

  private var failure: [String] {
    guard let failure = story.failure else { return unusableBytes }
    let row = failure.count > 1 ? ", \(failure.count) times in a row since \(failure.since)" : ""
    return [
      "  failed \(failure.at)\(row): \(failure.failure.code): \(failure.failure.message)"
    ]
  }

  private var unusableBytes: [String] {
    guard let failure = story.failedItem?.failure else { return [] }
    return ["  failed: \(failure.code): \(failure.message)"]
      + (failure.hint.isEmpty ? [] : ["    \(failure.hint)"])
  }

  // MARK: What it became

  private var files: [String] {
    var lines: [String] = []
    if let original = story.last?.original {
      let kind = original.format.map { " \($0.rawValue)" } ?? ""
      lines.append(
        "  original \(size(original.width, original.height))\(kind), "
          + "\(ByteSizeText.format(original.bytes)), \(original.digest)")
      if let placeholder = original.placeholder {
        lines.append(
          "    mostly \(placeholder.color), ThumbHash \(placeholder.thumbHashText)")
      }
    }
    for record in story.variants {
      let name = name(of: record.recipe) ?? "\(record.recipe)"
      switch record.state {
      case .made(let made):
        lines.append(
          "  variant \(name) \(size(made.width, made.height)) \(made.format.rawValue), "
            + "\(ByteSizeText.format(made.bytes)), \(made.digest)")
      case .failed(let failure):
        lines.append("  variant \(name): \(failure.code): \(failure.message)")
      }
    }
    for item in story.items {
      for name in item.published { lines.append("  published public/\(item.job)/\(name.path)") }
    }
    return lines
  }

  private func size(_ width: Int?, _ height: Int?) -> String {
    guard let width, let height else { return "of unknown size" }
    return "\(width)×\(height)"
  }

  /// The name that a job gives to a recipe; nil where no job asks for it any more.
  func name(of recipe: RecipeKey) -> String? {
    for view in story.views {
      for named in view.settings.recipes(named: nil, by: story.encoders)
      where RecipeKey(named.recipe, under: view.settings.limits) == recipe {
        return named.name
      }
    }
    return nil
  }

  // MARK: What a job makes of it

  private func lines(of view: EntryStory.View) -> [String] {
    let name = view.job.map { "job \($0)" } ?? "no job names it; by the defaults"
    var lines = ["  \(name):"]
    for hop in view.hops {
      if view.hops.count > 1 { lines.append("    \(hop.entry.url)") }
      lines += FreshnessWords(hop, of: view, now: story.now).lines.map { "    \($0)" }
    }
    lines.append("    next run: \(NextRunWords(view, now: story.now).text)")
    return lines
  }
}

extension LastAnswer {
  fileprivate var words: String {
    switch self {
    case .newBytes: "a new picture"
    case .sameBytes: "the picture that is stored, sent again"
    case .notModified: "304, the stored copy is still good"
    case .redirect: "a redirect"
    case .notStored: "what may not be stored; every older copy was removed"
    }
  }
}

extension HTTPFields.Line {
  /// RFC 9213: `CDN-Cache-Control` and its kin.
  fileprivate var isTargeted: Bool { name.lowercased().hasSuffix("-cache-control") }
}
