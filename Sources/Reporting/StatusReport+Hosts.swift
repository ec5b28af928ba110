import LedgerCore
import Vocabulary

extension LedgerStatus.Host {
  var json: JSONText {
    .object([
      ("host", .string(host)), ("cooling_until", .time(coolingUntil)),
      ("failures", .number(failures)), ("limit", .number(standing.limit)),
      ("held_until", .time(standing.heldUntil)), ("broken_until", .time(standing.brokenUntil)),
      ("unreachable", .number(standing.failuresInARow)),
      ("reason", .string(standing.reason.isEmpty ? nil : standing.reason)),
    ])
  }

  /// `host cdn.example.com: 3 failing URLs, next try …; left alone until …: it has asked for that`.
  func line(at now: Timestamp) -> String {
    var parts = [
      failures > 0
        ? "\(counted(failures, "failing URL")), next try \(max(coolingUntil, now))" : nil,
      hold(at: now), pause(at: now),
    ].compactMap(\.self)
    if let limit = standing.limit { parts.append("bears \(counted(limit, "transfer")) at a time") }
    return "host \(host): \(parts.joined(separator: "; "))"
  }

  private func hold(at now: Timestamp) -> String? {
    guard let until = standing.heldUntil, until > now else { return nil }
    return "left alone until \(until), as it has asked for (Retry-After)"
  }

  private func pause(at now: Timestamp) -> String? {
    guard let until = standing.brokenUntil else { return nil }
    let row = "could not be reached \(standing.failuresInARow) times in a row (\(standing.reason))"
    return until > now
      ? "left alone until \(until): it \(row)"
      : "it \(row); the next run tries it with one request first"
  }
}
