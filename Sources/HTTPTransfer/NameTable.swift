import Vocabulary

/// What is known of host names, who waits for one, and what libcurl has been told.
///
/// A name is looked up once for all that need it, so many names at a time, and its answer is kept for
/// a while, be it good or bad. libcurl never looks up a name itself: it is given the addresses with
/// the first exchange for each name and port. Plain values: it decides, `TransferLoop` acts.
struct NameTable {
  enum Decision: Equatable {
    case go
    /// Until the name's answer has come.
    case wait
    case fail(String)
  }

  /// glibc asks for both families at once: that makes twenty questions, and resolvers that drop what
  /// is more have been met.
  static let maxLookups = 10
  /// getaddrinfo does not tell how long an answer holds.
  static let knownFor: Int64 = 60_000
  static let unknownFor: Int64 = 60_000
  /// A failure that may pass: long enough to spare the resolver a crowd, not the next attempt.
  static let failedFor: Int64 = 1000

  private struct Entry {
    var answer: NameAnswer?
    /// The answer holds until then.
    var until: Int64 = 0
    /// Nil while it waits for a free look-up, or needs none.
    var askedAt: Int64?
    var isQueued = false
    var waiting: [ExchangeQueue.Place] = []
    /// What libcurl was told for each port, and in which turn of the loop.
    var told: [UInt16: (addresses: [NetworkAddress], turn: Int)] = [:]
  }

  /// For each host as URLs write it the name as libcurl spells it; nil where there is none to look up:
  /// an address, or a name that is fixed.
  private var names: [String: String?] = [:]
  /// The one that was asked for last, which most exchanges have as well.
  private var latest: (host: String, name: String?) = ("", nil)
  private var entries: [String: Entry] = [:]
  /// Names that wait for a free look-up.
  private var queue: [String] = []
  private(set) var lookups = 0
  private var withdrawn: [String] = []
  private var sweepAt = 4096
  private let fixed: [String]
  private var tellsFixed: Bool
  /// No waiting exchange is overdue before this.
  private(set) var nextDeadline = Int64.max

  /// - Parameter fixed: `name:port:address[,address]`.
  init(fixed: [String]) {
    self.fixed = fixed
    tellsFixed = !fixed.isEmpty
  }

  /// Of names that are known, for good or bad, or waited for.
  var count: Int { entries.count }

  // MARK: Exchanges

  /// - Parameter spelling: what libcurl makes of a URL's host; asked once for each host.
  mutating func need(
    _ exchange: Exchange, at now: Int64, spelling: (ItemURL) -> String?
  ) -> Decision {
    guard let name = name(of: exchange.request.url, at: now, spelling) else { return .go }
    if let entry = entries[name], entry.until > now {
      switch entry.answer {
      case .addresses: return .go
      case .failure(let why, _): return .fail(why)
      case nil: break
      }
    }
    wait(exchange, for: name, at: now)
    return .wait
  }

  private mutating func name(
    of url: ItemURL, at now: Int64, _ spelling: (ItemURL) -> String?
  ) -> String? {
    if let known = knownName(of: url.host) { return known }
    var name = spelling(url)
    if let text = name, text.hasPrefix("[") || NetworkAddress(text) != nil || isFixed(text) {
      name = nil
    }
    sweep(at: now)
    names[url.host] = .some(name)
    return name
  }

  private mutating func knownName(of host: String) -> String?? {
    if host == latest.host { return .some(latest.name) }
    guard let known = names[host] else { return nil }
    latest = (host, known)
    return known
  }

  private func isFixed(_ name: String) -> Bool { fixed.contains { $0.hasPrefix("\(name):") } }

  private mutating func wait(_ exchange: Exchange, for name: String, at now: Int64) {
    entries[name, default: Entry()].waiting.append((exchange, now))
    if let askedAt = entries[name]!.askedAt {
      note(exchange, arrivedAt: now, askedAt: askedAt)
    } else if !entries[name]!.isQueued {
      entries[name]!.isQueued = true
      queue.append(name)
    }
  }

  private mutating func note(_ exchange: Exchange, arrivedAt: Int64, askedAt: Int64) {
    nextDeadline = min(nextDeadline, exchange.nameDeadline(arrivedAt: arrivedAt, askedAt: askedAt))
  }

  mutating func remove(_ exchange: Exchange) -> Bool {
    guard let name = names[exchange.request.url.host] ?? nil,
      let index = entries[name]?.waiting.firstIndex(where: { $0.exchange === exchange })
    else { return false }
    entries[name]!.waiting.remove(at: index)
    return true
  }

  /// Those whose name has had no answer in time.
  mutating func overdue(at now: Int64) -> [Exchange] {
    guard now >= nextDeadline else { return [] }
    nextDeadline = .max
    var overdue: [Exchange] = []
    for (name, entry) in entries where !entry.waiting.isEmpty {
      guard let askedAt = entry.askedAt else { continue }
      var left: [ExchangeQueue.Place] = []
      for place in entry.waiting {
        let deadline = place.exchange.nameDeadline(arrivedAt: place.arrivedAt, askedAt: askedAt)
        if now >= deadline {
          overdue.append(place.exchange)
        } else {
          left.append(place)
          nextDeadline = min(nextDeadline, deadline)
        }
      }
      entries[name]!.waiting = left
    }
    return overdue
  }

  mutating func removeAll() -> [Exchange] {
    defer { entries = [:] }
    return entries.values.flatMap { $0.waiting.map(\.exchange) }
  }

  // MARK: Look-ups

  /// The next name to look up; nil: none, or enough are under way.
  mutating func nextLookup(at now: Int64) -> String? {
    while lookups < Self.maxLookups, !queue.isEmpty {
      let name = queue.removeFirst()
      entries[name]!.isQueued = false
      guard let entry = entries[name], !entry.waiting.isEmpty else { continue }  // all gave up
      entries[name]!.askedAt = now
      for place in entry.waiting { note(place.exchange, arrivedAt: place.arrivedAt, askedAt: now) }
      lookups += 1
      return name
    }
    return nil
  }

  /// - Returns: those that waited for it.
  mutating func take(_ answer: NameAnswer, for name: String, at now: Int64) -> [ExchangeQueue.Place]
  {
    lookups -= 1
    guard var entry = entries[name] else { return [] }
    entry.answer = answer
    entry.askedAt = nil
    entry.until =
      switch answer {
      case .addresses: now + Self.knownFor
      case .failure(_, let isFinal): now + (isFinal ? Self.unknownFor : Self.failedFor)
      }
    defer {
      entry.waiting = []
      entries[name] = entry
    }
    return entry.waiting
  }

  // MARK: What libcurl is told

  /// Lines for CURLOPT_RESOLVE that have to go along with an exchange; nearly always none.
  ///
  /// - Parameter turn: of the loop. What begins in one turn may be taken up in any order, so each of
  ///   them tells it.
  mutating func directives(for url: ItemURL, turn: Int) -> [String] {
    var lines: [String] = []
    if tellsFixed {
      lines = fixed
      tellsFixed = false
    }
    if !withdrawn.isEmpty {
      lines += withdrawn
      withdrawn = []
    }
    guard let name = knownName(of: url.host) ?? nil, let index = entries.index(forKey: name),
      case .addresses(let addresses) = entries.values[index].answer
    else { return lines }
    if let told = entries.values[index].told[url.port], told.addresses == addresses,
      told.turn < turn
    {
      return lines
    }
    entries.values[index].told[url.port] = (addresses, turn)
    let list = addresses.map { $0.bytes.count == 16 ? "[\($0)]" : "\($0)" }
    return lines + ["\(name):\(url.port):\(list.joined(separator: ","))"]
  }

  /// Forgets what has expired, once there is much of it.
  private mutating func sweep(at now: Int64) {
    guard max(entries.count, names.count) >= sweepAt else { return }
    for (name, entry) in entries {
      guard entry.until <= now, entry.waiting.isEmpty, entry.askedAt == nil, !entry.isQueued
      else { continue }
      entries[name] = nil
      withdrawn += entry.told.keys.map { "-\(name):\($0)" }
    }
    latest = ("", nil)
    names = names.filter { host in host.value.map { entries[$0] != nil } ?? false }
    sweepAt = max(4096, max(entries.count, names.count) * 2)
  }
}

extension Exchange {
  /// Waiting for a free look-up takes nothing from its time.
  fileprivate func nameDeadline(arrivedAt: Int64, askedAt: Int64) -> Int64 {
    max(arrivedAt, askedAt) + request.connectTimeout.clampedMilliseconds
  }
}
