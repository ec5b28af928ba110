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
    var waiting: [TransferLoop.Place] = []
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

  /// - Parameters:
  ///   - host: as a URL writes it: of the exchange's URL or of its proxy.
  ///   - arrivedAt: when the exchange came.
  ///   - spelling: what libcurl makes of a host; asked once for each.
  mutating func need(
    _ exchange: Exchange, _ host: String, arrivedAt: Int64, at now: Int64,
    spelling: (String) -> String?
  ) -> Decision {
    guard let name = name(of: host, at: now, spelling) else { return .go }
    if let entry = entries[name], entry.until > now {
      switch entry.answer {
      case .addresses: return .go
      case .failure(let why, _): return .fail(why)
      case nil: break
      }
    }
    wait(exchange, for: name, arrivedAt: arrivedAt)
    return .wait
  }

  private mutating func name(
    of host: String, at now: Int64, _ spelling: (String) -> String?
  ) -> String? {
    if let known = knownName(of: host) { return known }
    var name = spelling(host)
    if let text = name, text.hasPrefix("[") || NetworkAddress(text) != nil || isFixed(text) {
      name = nil
    }
    sweep(at: now)
    names[host] = .some(name)
    return name
  }

  private mutating func knownName(of host: String) -> String?? {
    if host == latest.host { return .some(latest.name) }
    guard let known = names[host] else { return nil }
    latest = (host, known)
    return known
  }

  private func isFixed(_ name: String) -> Bool { fixed.contains { $0.hasPrefix("\(name):") } }

  private mutating func wait(_ exchange: Exchange, for name: String, arrivedAt: Int64) {
    entries[name, default: Entry()].waiting.append((exchange, arrivedAt))
    if let askedAt = entries[name]!.askedAt {
      note(exchange, arrivedAt: arrivedAt, askedAt: askedAt)
    } else if !entries[name]!.isQueued {
      entries[name]!.isQueued = true
      queue.append(name)
    }
  }

  private mutating func note(_ exchange: Exchange, arrivedAt: Int64, askedAt: Int64) {
    nextDeadline = min(nextDeadline, exchange.nameDeadline(arrivedAt: arrivedAt, askedAt: askedAt))
  }

  mutating func remove(_ exchange: Exchange) -> Bool {
    for host in [exchange.request.url.host, exchange.request.proxy?.host] {
      guard let host, let name = names[host] ?? nil,
        let index = entries[name]?.waiting.firstIndex(where: { $0.exchange === exchange })
      else { continue }
      entries[name]!.waiting.remove(at: index)
      return true
    }
    return false
  }

  /// What a host's name leads to, or the address that it is, for who connects by way of a proxy.
  ///
  /// - Returns: nil where it has to be looked up, none where libcurl makes nothing of it.
  func addresses(
    of host: String, port: UInt16, at now: Int64, spelling: (String) -> String?
  ) -> [NetworkAddress]? {
    guard let name = names[host] else { return nil }
    if let name {
      guard let entry = entries[name], entry.until > now, case .addresses(let list) = entry.answer
      else { return nil }
      return list
    }
    guard let text = spelling(host) else { return [] }
    if let address = NetworkAddress(text.filter { $0 != "[" && $0 != "]" }) { return [address] }
    return fixedAddresses(of: text, port: port)
  }

  private func fixedAddresses(of name: String, port: UInt16) -> [NetworkAddress] {
    let start = "\(name):\(port):"
    guard let line = fixed.first(where: { $0.hasPrefix(start) }) else { return [] }
    return line.dropFirst(start.count).split(separator: ",")
      .compactMap { NetworkAddress($0.filter { $0 != "[" && $0 != "]" }) }
  }

  /// Those whose name has had no answer in time.
  mutating func overdue(at now: Int64) -> [Exchange] {
    guard now >= nextDeadline else { return [] }
    nextDeadline = .max
    var overdue: [Exchange] = []
    for (name, entry) in entries where !entry.waiting.isEmpty {
      guard let askedAt = entry.askedAt else { continue }
      var left: [TransferLoop.Place] = []
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
  mutating func take(_ answer: NameAnswer, for name: String, at now: Int64) -> [TransferLoop.Place]
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
  /// - Parameters:
  ///   - host: what is connected to, as a URL writes it: an origin or a proxy.
  ///   - turn: of the loop. What begins in one turn may be taken up in any order, so each of them
  ///     tells it.
  mutating func directives(for host: String, port: UInt16, turn: Int) -> [String] {
    var lines: [String] = []
    if tellsFixed {
      lines = fixed
      tellsFixed = false
    }
    if !withdrawn.isEmpty {
      lines += withdrawn
      withdrawn = []
    }
    guard let name = knownName(of: host) ?? nil, let index = entries.index(forKey: name),
      case .addresses(let addresses) = entries.values[index].answer
    else { return lines }
    if let told = entries.values[index].told[port], told.addresses == addresses,
      told.turn < turn
    {
      return lines
    }
    entries.values[index].told[port] = (addresses, turn)
    let list = addresses.map { $0.bytes.count == 16 ? "[\($0)]" : "\($0)" }
    return lines + ["\(name):\(port):\(list.joined(separator: ","))"]
  }

  /// Whether a host is an address, or a name that is fixed.
  func needsNoLookUp(_ host: String) -> Bool {
    if case .some(.none) = names[host] { true } else { false }
  }

  /// libcurl does not know what it was told of a host.
  mutating func tellAgain(_ host: String) {
    if let name = names[host] ?? nil { entries[name]?.told = [:] }
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
