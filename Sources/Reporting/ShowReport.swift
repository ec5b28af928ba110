import HTTPCaching
import Hashing
import LedgerCore
import Pipeline
import Vocabulary

/// One URL's story: what its server said, why it is fresh or stale and until when, what it became.
package struct ShowReport: Sendable {
  private let story: EntryStory

  package init(_ story: EntryStory) { self.story = story }

  private var view: EntryStory.View { story.views[0] }

  // MARK: For scripts

  package var json: String {
    let last = story.last
    return JSONText.object([
      ("url", .string("\(story.url)")),
      ("state", .string(story.state.rawValue)),
      ("response_time", .time(last?.response?.responseTime)),
      ("fresh_until", .time(view.freshUntil)),
      ("usable_until", .time(view.freshness?.usableUntil)),
      ("decided_by", .string(view.freshness?.decidedBy.rawValue)),
      ("etag", .string(last?.response?.fields["ETag"].first)),
      ("last_modified", .string(last?.response?.fields["Last-Modified"].first)),
      ("validated", .time(last?.validatedAt)),
      ("redirects", .array(story.chain.dropFirst().map { .string("\($0.url)") })),
      ("original", original),
      ("variants", .array(story.variants.compactMap(variant))),
      ("published", .array(published)),
      ("last_error", lastError),
      ("next_run", .string(nextRun(view))),
      ("jobs", .array(story.views.filter { $0.job != nil }.map(job))),
    ]).text
  }

  private var original: JSONText {
    guard let original = story.last?.original else { return .null }
    return .object([
      ("sha256", .string("\(original.digest)")), ("bytes", .number(original.bytes)),
      ("type", .string(original.format?.mediaType)), ("width", .number(original.width)),
      ("height", .number(original.height)),
    ])
  }

  private func variant(_ record: VariantRecord) -> JSONText? {
    guard case .made(let made) = record.state else { return nil }
    return .object([
      ("name", .string(name(of: record.recipe))), ("recipe", .string("\(record.recipe)")),
      ("sha256", .string("\(made.digest)")), ("bytes", .number(made.bytes)),
      ("type", .string(made.format.mediaType)), ("width", .number(made.width)),
      ("height", .number(made.height)),
    ])
  }

  private var published: [JSONText] {
    story.items.flatMap { item in
      item.published.map {
        .object([
          ("job", .string(item.job)), ("id", .string(item.id.text)), ("path", .string($0.path)),
        ])
      }
    }
  }

  private var lastError: JSONText {
    guard let failure = story.failure else { return .null }
    return .object([
      ("code", .string(failure.failure.code)), ("message", .string(failure.failure.message)),
      ("at", .time(failure.at)), ("next_try", .time(failure.nextTry)),
    ])
  }

  private func job(_ view: EntryStory.View) -> JSONText {
    .object([
      ("job", .string(view.job)), ("fresh_until", .time(view.freshUntil)),
      ("usable_until", .time(view.freshness?.usableUntil)),
      ("decided_by", .string(view.freshness?.decidedBy.rawValue)),
      ("next_run", .string(nextRun(view))),
    ])
  }

  /// The name that a job gives to a recipe; nil where no job asks for it any more.
  private func name(of recipe: RecipeKey) -> String? {
    for view in story.views {
      for named in view.settings.recipes(named: nil) where RecipeKey(named.recipe) == recipe {
        return named.name
      }
    }
    return nil
  }

  // MARK: For people

  package var lines: [String] {
    var lines = ["\(story.url): \(story.state.rawValue)"]
    for hop in story.chain.dropFirst() { lines.append("  redirects to \(hop.url)") }
    lines += response
    for view in story.views where view.freshness != nil { lines += freshness(view) }
    if let failure = story.failure {
      lines.append(
        "  failed \(failure.at) (\(counted(failure.count, "time")) in a row): "
          + "\(failure.failure.code): \(failure.failure.message)")
      lines.append(
        "    next try \(failure.nextTry)\(failure.isServersWord ? ", by the server's word" : "")")
    }
    lines += files
    for view in story.views {
      lines.append("  \(view.job.map { "\($0): " } ?? "")next run: \(nextRun(view))")
    }
    return lines
  }

  private var response: [String] {
    guard let entry = story.last, let response = entry.response else {
      return ["  nothing is stored"]
    }
    var lines = ["  response \(response.status), received \(response.responseTime)"]
    for name in ["Cache-Control", "Expires", "Date", "Age", "Last-Modified", "ETag", "Vary"] {
      for value in response.fields[name] { lines.append("    \(name): \(value)") }
    }
    if let validated = entry.validatedAt, validated != response.responseTime {
      lines.append("  last confirmed by the server \(validated)")
    }
    return lines
  }

  private func freshness(_ view: EntryStory.View) -> [String] {
    guard let freshness = view.freshness, let until = view.freshUntil else { return [] }
    let job = view.job.map { "\($0): " } ?? ""
    var lines = [
      "  \(job)lifetime \(DurationText.format(freshness.lifetime)) by \(freshness.decidedBy.rawValue)"
        + (freshness.age > .zero ? ", age at receipt \(DurationText.format(freshness.age))" : "")
    ]
    if let clamp = freshness.clampedBy { lines.append("    clamped by cache.\(clamp.rawValue)") }
    lines.append(
      "    \(view.isFresh ? "fresh until" : "stale since") \(until), "
        + "usable until \(freshness.usableUntil) while its origin fails")
    return lines
  }

  private var files: [String] {
    var lines: [String] = []
    if let original = story.last?.original {
      lines.append(
        "  original \(size(original.width, original.height)) \(original.format?.rawValue ?? "unknown"), "
          + "\(ByteSizeText.format(original.bytes)), \(original.digest)")
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

  /// What will happen at the next run and why.
  private func nextRun(_ view: EntryStory.View) -> String {
    if let failure = story.failure, story.now < failure.nextTry, !view.isFresh {
      return "no request before \(failure.nextTry): it is cooling after \(failure.failure.code)"
    }
    guard let last = story.last, let response = last.response, last.original != nil else {
      return "downloads it: nothing is stored"
    }
    if view.isFresh, let until = view.freshUntil {
      return "no request: it is fresh until \(until); after that, asks"
        + (validators(of: response).lines.isEmpty ? " without validators" : " with validators")
    }
    let with = validators(of: response).lines.map(\.name).joined(separator: " and ")
    return with.isEmpty
      ? "downloads it: stale, and the server gave no validator" : "asks with \(with): it is stale"
  }
}
