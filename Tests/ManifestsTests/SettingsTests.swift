import TestSupport
import Testing
import Vocabulary

@testable import Manifests

/// Opens a manifest of version 1 with these members.
private func open(
  _ members: String, environment: [String: String] = [:]
) throws(ManifestFailure) -> ManifestFile {
  let file = ManifestTestFile("{\"version\": 1, \(members)}")
  return try ManifestFile.open(path: file.path, environment: environment)
}

private let everything = """
  {
    "$schema": "./manifest.schema.json", "version": 1, "name": "catalog",
    "network": {
      "concurrency": 16, "perHost": 3, "ratePerHost": "10/m", "connectTimeout": "5s",
      "idleTimeout": 7.5, "timeout": "2m", "maxBytes": "1MiB", "maxRedirects": 0, "attempts": 1,
      "backoff": {"initial": "100ms", "max": "1s"}, "allow": ["127.0.0.0/8", "::1"],
      "headers": {"Authorization": "Bearer ${TOKEN}", "Accept-Language": "de"},
      "userAgent": "catalog/1.0"
    },
    "cache": {
      "policy": "kingfisher", "shared": false, "defaultTTL": "1d", "minTTL": "1m",
      "maxTTL": "30d", "negativeTTL": 60, "targets": ["CDN-Cache-Control"], "staleIfError": "never"
    },
    "hosts": [
      {"match": "*.a.example", "network": {"perHost": 1, "headers": {}, "backoff": {"max": "2s"}}},
      {"match": "b.example", "cache": {"maxTTL": null, "policy": "ignore"}}
    ],
    "limits": {"maxPixels": 1000000, "maxFrames": 1, "decodeTimeout": "5s", "memory": "1GiB",
               "formats": ["jpeg", "png"]},
    "variants": [
      {"name": "thumb", "width": 200, "height": 100, "fit": "cover", "position": "centre",
       "enlarge": true, "format": "webp", "quality": 80, "effort": "fast", "background": "#abc",
       "dpr": [2, 1], "metadata": "none", "animation": "keep"},
      {"name": "w96", "width": 96}
    ],
    "publish": {"path": "{shard}/{variant}-{id}.{ext}", "original": true, "prune": false,
                "withdraw": "stale"},
    "items": []
  }
  """

@Suite struct `A manifest's settings` {
  @Test func `are all read`() throws {
    let file = ManifestTestFile(everything)
    let settings = try ManifestFile.open(path: file.path, environment: ["TOKEN": "s3cret"]).settings
    var network = NetworkSettings()
    network.concurrency = 16
    network.perHost = 3
    network.ratePerHost = .init(count: 10, per: .seconds(60))
    network.connectTimeout = .seconds(5)
    network.idleTimeout = .milliseconds(7500)
    network.timeout = .seconds(120)
    network.maxBytes = 1 << 20
    network.maxRedirects = 0
    network.attempts = 1
    network.backoffInitial = .milliseconds(100)
    network.backoffMax = .seconds(1)
    network.allow = [AddressRange("127.0.0.0/8")!, AddressRange("::1")!]
    network.headers = [
      .init(name: "Accept-Language", value: "de"),
      .init(name: "Authorization", value: "Bearer s3cret"),
    ]
    network.userAgent = "catalog/1.0"
    #expect(settings.network == network)
    var cache = CacheSettings()
    cache.policy = .kingfisher
    cache.shared = false
    cache.defaultTTL = .days(1)
    cache.minTTL = .seconds(60)
    cache.maxTTL = .days(30)
    cache.negativeTTL = .seconds(60)
    cache.targets = ["CDN-Cache-Control"]
    cache.staleIfError = DurationText.never
    #expect(settings.cache == cache)
    var limits = LimitSettings()
    limits.maxPixels = 1_000_000
    limits.maxFrames = 1
    limits.decodeTimeout = .seconds(5)
    limits.memory = 1 << 30
    limits.formats = [.jpeg, .png]
    #expect(settings.limits == limits)
    var publish = PublishSettings()
    publish.path = "{shard}/{variant}-{id}.{ext}"
    publish.original = true
    publish.prune = false
    publish.withdraw = .stale
    #expect(settings.publish == publish)
    var thumb = VariantSpec(name: "thumb", width: 200, height: 100)
    thumb.fit = .cover
    thumb.enlarge = true
    thumb.format = .webp
    thumb.quality = 80
    thumb.effort = .fast
    thumb.background = .init("#aabbcc")!
    thumb.dpr = [1, 2]
    #expect(settings.variants == [thumb, VariantSpec(name: "w96", width: 96)])
    #expect(settings.name == "catalog")
  }

  @Test(arguments: VariantSpec.words) func `take every value of a variant's keys`(
    key: String, word: String, expected: VariantSpec
  ) throws {
    let head =
      "{\"version\": 1, \"name\": \"job\", "
      + "\"variants\": [{\"name\": \"a\", \"width\": 9, \"\(key)\": \(word)}]}"
    #expect(try Manifests.settings(fromHead: head, environment: [:]).variants == [expected])
  }

  @Test func `of hosts are laid over the job's, the first match first`() throws {
    let file = ManifestTestFile(everything)
    let settings = try ManifestFile.open(path: file.path, environment: ["TOKEN": "x"]).settings
    var network = settings.network
    network.perHost = 1
    network.headers = []
    network.backoffMax = .seconds(2)
    #expect(settings.network(forHost: "x.a.example") == network)
    #expect(settings.cache(forHost: "x.a.example") == settings.cache)
    var cache = settings.cache
    cache.maxTTL = nil
    cache.policy = .ignore
    #expect(settings.cache(forHost: "B.example") == cache)
    #expect(settings.network(forHost: "b.example") == settings.network)
    #expect(settings.network(forHost: "a.example") == settings.network)
  }

  @Test func `have defaults`() throws {
    #expect(try open("\"items\": []").settings == JobSettings(name: "job"))
  }

  @Test func `may publish nothing`() throws {
    #expect(try open("\"publish\": false").settings.publish == nil)
  }

  @Test(arguments: [
    ("\"10/s\"", 10, Duration.seconds(1)), ("\"100/m\"", 100, .seconds(60)),
    ("\"1/h\"", 1, .seconds(3600)), ("5", 5, .seconds(1)), ("0.5", 1, .seconds(2)),
    ("2.5", 1, .milliseconds(400)), ("1e2", 1, .milliseconds(10)), ("0.01", 1, .seconds(100)),
  ])
  func `state a rate in either form`(text: String, count: Int, per: Duration) throws {
    let rate = try open("\"network\": {\"ratePerHost\": \(text)}").settings.network.ratePerHost
    #expect(rate == .init(count: count, per: per))
  }

  @Test func `may lift a rate for a host`() throws {
    let settings = try open(
      """
      "network": {"ratePerHost": "1/s"},
      "hosts": [{"match": "a.example", "network": {"ratePerHost": null}}]
      """
    ).settings
    #expect(settings.network(forHost: "a.example").ratePerHost == nil)
    #expect(settings.network.ratePerHost != nil)
  }

  @Test(arguments: [
    ("my.catalog.json", "my.catalog"), ("catalog", "catalog"), ("0.json", "0"),
  ])
  func `take their name from the file`(file: String, name: String) throws {
    let manifest = ManifestTestFile("{\"version\": 1}", named: file)
    #expect(try ManifestFile.open(path: manifest.path, environment: [:]).settings.name == name)
  }

  @Test(arguments: ["Catalog.json", ".json", "my catalog.json", "ä.json", "_a.json"])
  func `need a name where the file's is none`(file: String) {
    let lines = problems("{\"version\": 1}", named: file)
    #expect(lines.count == 1)
    #expect(lines.first?.hasSuffix("the first a letter or digit): set \"name\"") == true)
    #expect(problems("{\"version\": 1, \"name\": \"a\"}", named: file) == [])
  }
}

@Suite struct `A job's head` {
  @Test func `keeps variables by their names, and no items`() throws {
    let manifest = try open(
      """
      "$schema": "x", "network": {"headers": {"Cookie": "a=${A}; b=${B}"}},
      "items": ["http://a.example/"]
      """, environment: ["A": "s3cret", "B": "t0ken"])
    #expect(
      manifest.headText
        == "{\"name\":\"job\",\"network\":{\"headers\":{\"Cookie\":\"a=${A}; b=${B}\"}},\"version\":1}"
    )
    #expect(
      manifest.settings.network.headers == [.init(name: "Cookie", value: "a=s3cret; b=t0ken")])
  }

  @Test func `is the same whatever the order of its keys`() throws {
    let a = try open("\"cache\": {\"shared\": true, \"minTTL\": \"1s\"}, \"name\": \"x\"")
    let b = try open("\"name\": \"x\", \"cache\": {\"minTTL\":\"1s\",\"shared\":true}")
    #expect(a.headText == b.headText)
  }

  @Test func `gives the settings back`() throws {
    let file = ManifestTestFile(everything)
    let manifest = try ManifestFile.open(path: file.path, environment: ["TOKEN": "x"])
    let again = try settings(fromHead: manifest.headText, environment: ["TOKEN": "x"])
    #expect(again == manifest.settings)
  }

  @Test func `wants its variables again`() throws {
    let head = "{\"name\":\"a\",\"network\":{\"headers\":{\"Cookie\":\"${A}\"}},\"version\":1}"
    let failure = #expect(throws: ManifestFailure.self) {
      try settings(fromHead: head, environment: ["A": ""])
    }
    #expect(
      failure?.message
        == "the job's settings in the ledger: network.headers.Cookie: the environment variable A is "
        + "not set or is empty")
    #expect(throws: ManifestFailure.self) { try settings(fromHead: "{", environment: [:]) }
  }
}

extension VariantSpec {
  /// Each key that takes words or sizes, a value of it in JSON, and the variant that it makes.
  fileprivate static var words: [(String, String, VariantSpec)] {
    func each<Value: RawRepresentable<String> & CaseIterable>(
      _ key: String, _ place: WritableKeyPath<VariantSpec, Value>
    ) -> [(String, String, VariantSpec)] {
      Value.allCases.map { value in
        var spec = VariantSpec(name: "a", width: 9)
        spec[keyPath: place] = value
        return (key, "\"\(value.rawValue)\"", spec)
      }
    }
    var budget = VariantSpec(name: "a", width: 9)
    budget.maxBytes = 24 << 10
    return each("fit", \.fit) + each("position", \.position) + each("format", \.format)
      + each("effort", \.effort) + each("metadata", \.metadata) + each("animation", \.animation)
      + [("maxBytes", "\"24KiB\"", budget), ("maxBytes", "24576", budget)]
  }
}
