import Vocabulary

extension SettingsReader {
  /// Lays what an object says over `network`.
  ///
  /// - Parameter forHost: whether it is a host's override: what counts over the whole process cannot
  ///   differ by host.
  func readNetwork(
    _ value: JSONValue, at place: Place, into network: inout NetworkSettings, forHost: Bool = false
  ) {
    guard
      let object = ObjectReader(value, at: place, keys: ManifestKeys.network, problems: problems)
    else { return }
    if forHost, object.has("concurrency") {
      object.reject("concurrency", "counts over all hosts: set it in the job's network")
    } else {
      object.integer("concurrency", in: 1...1024).assign(to: &network.concurrency)
    }
    object.integer("perHost", in: 1...1024).assign(to: &network.perHost)
    readRate(object, into: &network.ratePerHost)
    let transfer: ClosedRange<Duration> = .milliseconds(1) ... .days(1)
    object.duration("connectTimeout", in: transfer).assign(to: &network.connectTimeout)
    object.duration("idleTimeout", in: transfer).assign(to: &network.idleTimeout)
    object.duration("timeout", in: transfer).assign(to: &network.timeout)
    object.byteSize("maxBytes", in: 1...(1 << 40)).assign(to: &network.maxBytes)
    object.integer("maxRedirects", in: 0...50).assign(to: &network.maxRedirects)
    object.integer("attempts", in: 1...100).assign(to: &network.attempts)
    readBackoff(object, into: &network)
    if object.has("allow") { network.allow = allowed(object) }
    if object.has("headers") { network.headers = headers(object) }
    if let agent = userAgent(object) { network.userAgent = agent }
    readProxy(object, into: &network.proxy)
    readCAFile(object, into: &network.caFile)
  }

  private func readBackoff(_ object: ObjectReader, into network: inout NetworkSettings) {
    let place = object.place["backoff"]
    guard let value = object.value("backoff"),
      let backoff = ObjectReader(value, at: place, keys: ManifestKeys.backoff, problems: problems)
    else { return }
    backoff.duration("initial", in: .zero ... .days(1)).assign(to: &network.backoffInitial)
    backoff.duration("max", in: .zero ... .days(1)).assign(to: &network.backoffMax)
    if network.backoffInitial > network.backoffMax {
      problems.add(
        place,
        "initial (\(DurationText.format(network.backoffInitial))) is longer than max "
          + "(\(DurationText.format(network.backoffMax)))")
    }
  }

  /// `"10/s"`, `"100/m"`, `"1/h"`, or a number of requests per second; null lifts the job's limit.
  private func readRate(_ object: ObjectReader, into rate: inout NetworkSettings.Rate?) {
    switch object.value("ratePerHost") {
    case nil: break
    case .null?: rate = nil
    case .string(let text)?:
      rate = NetworkSettings.Rate(text)
      if rate == nil {
        object.reject(
          "ratePerHost",
          "\(Shown.quoted(text)) is no rate: write \"10/s\", \"100/m\" or \"1/h\"")
      }
    case .number(let text)?:
      rate = NetworkSettings.Rate(perSecond: text)
      if rate == nil {
        object.reject(
          "ratePerHost",
          "must be from one request a day to 1000000 a second, not \(Shown.plain(text, most: 40))")
      }
    case let other?:
      object.reject("ratePerHost", "must be a rate such as \"10/s\", not \(other.kind)")
    }
  }

  private func allowed(_ object: ObjectReader) -> [AddressRange] {
    (object.strings("allow") ?? []).compactMap { place, text in
      let range = AddressRange(text)
      if range == nil {
        problems.add(
          place,
          "\(Shown.quoted(text)) is no address and no block of addresses such as \"127.0.0.0/8\"")
      }
      return range
    }
  }

  private func userAgent(_ object: ObjectReader) -> String? {
    guard let text = object.string("userAgent") else { return nil }
    if text.isEmpty || !text.utf8.allSatisfy(HeaderRules.isValueByte) {
      object.reject("userAgent", "must not be empty or hold control characters")
    }
    return text
  }
}

extension NetworkSettings.Rate {
  fileprivate static let mostCount = 1_000_000

  /// - Parameter text: `COUNT/UNIT` with `s`, `m` or `h`.
  fileprivate init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    let units: [Substring: Duration] = ["s": .seconds(1), "m": .seconds(60), "h": .hours(1)]
    guard parts.count == 2, let per = units[parts[1]], let count = Int(parts[0]),
      parts[0].first != "+", (1...Self.mostCount).contains(count)
    else { return nil }
    self.init(count: count, per: per)
  }

  /// Fewer than one a second, or a broken number, become one request per interval:
  ///
  ///     5    → 5 in 1 s        0.5  → 1 in 2 s        2.5  → 1 in 400 ms
  ///
  /// - Returns: nil for less than one request a day and for more than a million a second.
  fileprivate init?(perSecond text: String) {
    if let count = Int(text), (1...Self.mostCount).contains(count) {
      self.init(count: count, per: .seconds(1))
      return
    }
    guard let rate = Double(text), rate.isFinite, rate >= 1 / 86_400, rate <= 1000 else {
      return nil
    }
    self.init(count: 1, per: .milliseconds(Int64((1000 / rate).rounded(.up))))
  }
}
