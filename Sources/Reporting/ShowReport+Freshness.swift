import HTTPCaching
import LedgerCore
import Pipeline
import Vocabulary

/// Why and how long a job holds one response to be fresh, in sentences.
struct FreshnessWords {
  private let hop: EntryStory.Hop
  private let view: EntryStory.View
  private let now: Timestamp

  init(_ hop: EntryStory.Hop, of view: EntryStory.View, now: Timestamp) {
    self.hop = hop
    self.view = view
    self.now = now
  }

  /// None without a response.
  var lines: [String] {
    guard let freshness = hop.freshness else { return [] }
    var lines = [decision(freshness)] + hop.decidingLines.lines.map { "  \($0.name): \($0.value)" }
    // Of what was not kept there is no copy to speak of.
    guard hop.entry.lastAnswer != .notStored else { return lines }
    if let clamp = freshness.clampedBy { lines.append(self.clamp(clamp)) }
    if let age = hop.currentAge, freshness.age > .zero || age >= .seconds(1) {
      lines.append(
        "age \(Approximate.words(max(age, .zero))) now, "
          + "\(Approximate.words(freshness.age)) when it came"
      )
    }
    lines.append(until(freshness))
    lines.append(usable(freshness))
    return lines
  }

  private var cache: CacheSettings { view.settings.cache(forHost: hop.entry.url.host) }

  private func decision(_ freshness: Freshness) -> String {
    let lifetime = "lifetime \(Approximate.lifetime(freshness.lifetime))"
    let policy = cache.policy == .rfc9111 ? "" : " (policy \(cache.policy.rawValue))"
    let target = freshness.target.map { ", of \($0)" } ?? ""
    return "\(lifetime): \(freshness.decidedBy.words)\(target)\(policy)"
  }

  private func clamp(_ clamp: Clamp) -> String {
    switch clamp {
    case .minTTL: "lengthened to cache.minTTL, \(DurationText.format(cache.minTTL))"
    case .maxTTL: "cut to cache.maxTTL, \(DurationText.format(cache.maxTTL ?? .zero))"
    case .defaultTTL: "cut to cache.defaultTTL, \(DurationText.format(cache.defaultTTL))"
    }
  }

  private func until(_ freshness: Freshness) -> String {
    let until = freshness.freshUntil
    return now < until
      ? "fresh until \(until), for \(Approximate.words(until - now))"
      : "stale since \(until), for \(Approximate.words(now - until))"
  }

  private func usable(_ freshness: Freshness) -> String {
    if view.settings.publish?.withdraw == .stale, !freshness.mayServeStale {
      return "not usable once stale: the server forbids it, and publish.withdraw is \"stale\""
    }
    if let failing = whileFailing { return failing }
    return "usable until \(freshness.usableUntil), should its origin fail; "
      + "kept until \(freshness.keptUntil)"
  }

  /// Nil while the origin does not fail.
  private var whileFailing: String? {
    guard let serves = hop.servesUntil else { return nil }
    guard !hop.isConfirmedMissing else {
      return "its copy is withdrawn: a second 404 has confirmed the first"
    }
    guard now < serves else { return "its copy is withdrawn: its origin has failed for too long" }
    let confirmation = hop.entry.failure?.missingSince.map {
      ", or until a 404 from \($0 + cache.negativeTTL) on confirms the first"
    }
    return "its copy serves until \(serves) while its origin goes on failing\(confirmation ?? "")"
  }
}

extension FreshnessRule {
  /// Why the lifetime is what it is.
  fileprivate var words: String {
    switch self {
    case .sMaxAge: "s-maxage, which is for shared caches"
    case .maxAge: "max-age"
    case .expires: "Expires, counted from Date"
    case .heuristic: "nothing was said: a tenth of the time since Last-Modified"
    case .default: "nothing was said: cache.defaultTTL"
    case .noCache: "no-cache asks for a look each time"
    case .varyStar: "Vary: * fits no other request"
    case .invalid: "what was said cannot be read, or is said twice and differs"
    case .status: "this status has none unless the server gives one"
    case .ignore: "cache.defaultTTL, whatever the server said"
    case .noStore: "no-store forbids to keep it"
    case .isPrivate: "private forbids shared caches to keep it"
    case .authorization: "it was asked for with Authorization, and not released for others"
    case .mustUnderstand: "must-understand, and this status is not understood"
    case .negativeTTL: "cache.negativeTTL"
    case .coolDown: "our own patience"
    case .retryAfter: "Retry-After"
    }
  }
}

/// Spans of time as people say them, rounded down.
enum Approximate {
  /// `40 ms`, `1.4 s`, `12 s`, `4 min 12 s`, `2 h 5 min`, `3 d 4 h`, `40 d`.
  static func words(_ duration: Duration) -> String {
    let seconds = duration.wholeMilliseconds / 1000
    switch seconds {
    case ..<1: return "\(duration.wholeMilliseconds) ms"
    case ..<10: return SummaryReport.words(duration)
    case ..<60: return "\(seconds) s"
    case ..<172_800: return SummaryReport.words(duration)
    case ..<1_209_600: return "\(seconds / 86_400) d \(seconds / 3600 % 24) h"
    default: return "\(seconds / 86_400) d"
    }
  }

  /// As a manifest spells it where that is short: `1h`, `144m`, `30d`.
  static func lifetime(_ duration: Duration) -> String {
    let exact = DurationText.format(duration)
    return exact.utf8.count <= 5 ? exact : words(duration)
  }
}
