import HTTPCaching
import LedgerCore
import Pipeline
import Vocabulary

extension ShowReport {
  private var view: EntryStory.View { story.views[0] }

  /// For scripts, on one line. What depends on a job's settings is the first job's; `jobs` has all.
  package var json: String {
    let last = story.last
    return JSONText.object([
      ("url", .string("\(story.url)")),
      ("state", .string(story.state.rawValue)),
      ("status", .number(last?.response?.status)),
      ("response_time", .time(last?.response?.responseTime)),
      ("fresh_until", .time(view.freshUntil)),
      ("usable_until", .time(view.freshness?.usableUntil)),
      ("kept_until", .time(view.freshness?.keptUntil)),
      ("decided_by", .string(view.freshness?.decidedBy.rawValue)),
      ("etag", .string(last?.response?.fields["ETag"].first)),
      ("last_modified", .string(last?.response?.fields["Last-Modified"].first)),
      ("validated", .time(last?.validatedAt)),
      ("last_answer", .string(last?.lastAnswer?.rawValue)),
      ("redirects", .array(story.chain.dropFirst().map { .string("\($0.url)") })),
      ("original", original), ("placeholder", placeholder),
      ("warnings", .array((last?.original?.warnings ?? []).map { .string($0) })),
      ("variants", .array(story.variants.compactMap(variant))),
      ("published", .array(published)),
      ("last_error", lastError),
      ("next_run", .string(NextRunWords(view, now: story.now).text)),
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

  private var placeholder: JSONText {
    guard let placeholder = story.last?.original?.placeholder else { return .null }
    return .object([
      ("color", .string("\(placeholder.color)")),
      ("thumbhash", .string(placeholder.thumbHashText)),
    ])
  }

  private func variant(_ record: VariantRecord) -> JSONText? {
    guard case .made(let made) = record.state else { return nil }
    return .object([
      ("name", .string(name(of: record.recipe))), ("recipe", .string("\(record.recipe)")),
      ("sha256", .string("\(made.digest)")), ("bytes", .number(made.bytes)),
      ("type", .string(made.format.mediaType)), ("width", .number(made.width)),
      ("height", .number(made.height)), ("capped", .bool(made.isCapped)),
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
    if let item = story.failedItem, let failure = item.failure {
      return Self.lastError(failure, at: story.last?.validatedAt, nextTry: item.dueAt)
    }
    guard let failure = story.failure else { return .null }
    let nextTry = view.hops.last { $0.nextTry != nil }?.nextTry
    return .object([
      ("code", .string(failure.failure.code)), ("message", .string(failure.failure.message)),
      ("at", .time(failure.at)), ("next_try", .time(nextTry ?? failure.nextTry)),
      ("count", .number(failure.count)), ("since", .time(failure.since)),
      ("servers_word", .bool(failure.isServersWord)),
    ])
  }

  /// Of what no other try mends while bytes and manifest stay as they are.
  static func lastError(
    _ failure: FailureRecord, at time: Timestamp?, nextTry: Timestamp?
  ) -> JSONText {
    .object([
      ("code", .string(failure.code)), ("message", .string(failure.message)),
      ("at", .time(time)), ("next_try", .time(nextTry)), ("count", .number(1)),
      ("since", .time(time)), ("servers_word", .bool(false)),
    ])
  }

  private func job(_ view: EntryStory.View) -> JSONText {
    let next = NextRunWords(view, now: story.now)
    return .object([
      ("job", .string(view.job)), ("fresh_until", .time(view.freshUntil)),
      ("usable_until", .time(view.freshness?.usableUntil)),
      ("kept_until", .time(view.freshness?.keptUntil)),
      ("decided_by", .string(view.freshness?.decidedBy.rawValue)),
      ("next_run", .string(next.text)), ("action", .string(next.action)),
      ("reason", .string(next.reason)), ("at", .time(next.at)),
      ("hops", .array(view.hops.map(hop))),
    ])
  }

  private func hop(_ hop: EntryStory.Hop) -> JSONText {
    let freshness = hop.freshness
    return .object([
      ("url", .string("\(hop.entry.url)")),
      ("decided_by", .string(freshness?.decidedBy.rawValue)),
      ("deciding", .array(hop.decidingLines.lines.map { .string("\($0.name): \($0.value)") })),
      ("target", .string(freshness?.target)),
      ("lifetime_ms", .number(freshness?.lifetime.wholeMilliseconds)),
      ("clamped_by", .string(freshness?.clampedBy?.rawValue)),
      ("age_ms", .number(hop.currentAge?.wholeMilliseconds)),
      ("age_at_receipt_ms", .number(freshness?.age.wholeMilliseconds)),
      ("fresh_until", .time(freshness?.freshUntil)),
      ("usable_until", .time(freshness?.usableUntil)),
      ("kept_until", .time(freshness?.keptUntil)),
      ("serves_until", .time(hop.servesUntil)),
      ("confirmed_missing", .bool(hop.isConfirmedMissing)),
      ("varies_by", .string(hop.mismatchedField)),
    ])
  }
}

extension JSONText {
  fileprivate static func number(_ value: Int64?) -> JSONText {
    value.map { .number($0) } ?? .null
  }
}
