/// Everything that a manifest says but its items.
package struct JobSettings: Sendable, Hashable {
  /// `[a-z0-9][a-z0-9._-]{0,63}`.
  package var name: String
  package var network = NetworkSettings()
  package var cache = CacheSettings()
  package var hosts: [HostOverride] = []
  package var limits = LimitSettings()
  package var variants: [VariantSpec] = []
  package var publish: PublishSettings? = PublishSettings()

  package init(name: String) { self.name = name }

  /// The network settings for one host: the first override that matches, laid over the job's.
  package func network(forHost host: String) -> NetworkSettings {
    override(forHost: host)?.network ?? network
  }

  /// The cache settings for one host: the first override that matches, laid over the job's.
  package func cache(forHost host: String) -> CacheSettings {
    override(forHost: host)?.cache ?? cache
  }

  private func override(forHost host: String) -> HostOverride? {
    overrideIndex(forHost: host).map { hosts[$0] }
  }

  /// Which of `hosts` counts for one: the first that matches.
  package func overrideIndex(forHost host: String) -> Int? {
    hosts.firstIndex { $0.match.matches(host: host) }
  }

  /// Whether a name is fit for a job or a variant: `[a-z0-9][a-z0-9._-]{0,63}`.
  package static func isLegalName(_ name: some StringProtocol) -> Bool {
    let bytes = name.utf8
    func isAlphanumeric(_ byte: UInt8) -> Bool {
      (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte)
    }
    guard let first = bytes.first, bytes.count <= 64, isAlphanumeric(first) else { return false }
    return bytes.allSatisfy { isAlphanumeric($0) || $0 == 0x2E || $0 == 0x5F || $0 == 0x2D }
  }
}

/// Other settings for some hosts, already laid over the job's.
package struct HostOverride: Sendable, Hashable {
  package var match: HostPattern
  package var network: NetworkSettings
  package var cache: CacheSettings

  package init(match: HostPattern, network: NetworkSettings, cache: CacheSettings) {
    self.match = match
    self.network = network
    self.cache = cache
  }
}

/// How requests are made.
package struct NetworkSettings: Sendable, Hashable {
  /// At most so many request starts within so long.
  package struct Rate: Sendable, Hashable {
    package var count: Int
    package var per: Duration

    package init(count: Int, per: Duration) {
      self.count = count
      self.per = per
    }
  }

  /// A request header; where it is a credential, it goes to the item's own origin only.
  package struct Header: Sendable, Hashable {
    package var name: String
    package var value: String

    package init(name: String, value: String) {
      self.name = name
      self.value = value
    }

    /// Header names whose values open doors: taken from the environment only, never written anywhere.
    package var isCredential: Bool { Self.isCredential(name: name) }

    package static func isCredential(name: String) -> Bool {
      let name = name.lowercased()
      let whole: Set<String> = [
        "authorization", "proxy-authorization", "cookie", "x-api-key", "x-auth-token", "api-key",
      ]
      return whole.contains(name)
        || ["token", "secret", "password", "apikey", "api-key", "authorization", "credential"]
          .contains { name.contains($0) }
    }
  }

  package var concurrency = 32
  package var perHost = 6
  package var ratePerHost: Rate?
  package var connectTimeout: Duration = .seconds(10)
  package var idleTimeout: Duration = .seconds(15)
  /// Of the whole transfer, redirects included.
  package var timeout: Duration = .seconds(60)
  /// Of a body, after content decoding.
  package var maxBytes = 64 << 20
  package var maxRedirects = 5
  /// Tries of one item within a run.
  package var attempts = 4
  package var backoffInitial: Duration = .milliseconds(500)
  package var backoffMax: Duration = .seconds(30)
  /// Addresses exempt from the private-address block.
  package var allow: [AddressRange] = []
  package var headers: [Header] = []
  package var userAgent: String?
  /// What all requests go through, and name look-ups do not; nil: straight to their origins.
  package var proxy: ProxySettings?
  /// The absolute path of a file of certificates in PEM form, trusted in place of the system's store.
  package var caFile: String?

  package init() {}
}

/// How long what a server sent is held to be fresh.
package struct CacheSettings: Sendable, Hashable {
  package enum Policy: String, Sendable, Hashable, CaseIterable {
    case rfc9111, kingfisher, ignore
  }

  package var policy: Policy = .rfc9111
  /// A shared cache in RFC 9111's sense: `s-maxage` counts, `private` is not stored.
  package var shared = true
  package var defaultTTL: Duration = .days(7)
  package var minTTL: Duration = .zero
  package var maxTTL: Duration?
  package var negativeTTL: Duration = .hours(1)
  /// RFC 9213 fields that stand in for Cache-Control, the first that is present.
  package var targets: [String] = []
  package var staleIfError: Duration = .days(30)

  package init() {}
}

/// What a decoder may spend on strangers' bytes.
package struct LimitSettings: Sendable, Hashable {
  package var maxPixels = 100_000_000
  package var maxFrames = 512
  package var decodeTimeout: Duration = .seconds(30)
  /// Bytes, for all decoders together.
  package var memory = 2 << 30
  package var formats = ImageFormat.allowedByDefault

  package init() {}

  /// Those that decide what becomes of a picture, not only whether this machine manages it: a line each
  /// that is not the default.
  package var shapingText: String {
    let usual = LimitSettings()
    var text = ""
    if maxPixels != usual.maxPixels { text += "\nmaxPixels \(maxPixels)" }
    if maxFrames != usual.maxFrames { text += "\nmaxFrames \(maxFrames)" }
    if formats != usual.formats {
      text += "\nformats \(formats.map(\.rawValue).sorted().joined(separator: ","))"
    }
    return text
  }
}

/// Where the published names stand and when they go.
package struct PublishSettings: Sendable, Hashable {
  package enum Withdrawal: String, Sendable, Hashable, CaseIterable {
    /// When the origin takes its copy back.
    case gone
    /// As soon as HTTP forbids to serve the copy stale.
    case stale
  }

  /// A template of `{variant}`, `{id}`, `{ext}` and `{shard}`.
  package var path = "{variant}/{id}.{ext}"
  package var original = false
  package var prune = true
  package var withdraw: Withdrawal = .gone

  package init() {}
}

extension Duration {
  package static func hours(_ count: Int) -> Duration { .seconds(count * 3600) }
  package static func days(_ count: Int) -> Duration { .seconds(count * 86_400) }
}
