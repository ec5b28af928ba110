import Fetching
import HTTPCaching
import Vocabulary

/// What a job's settings come to for one host, worked out once for all claims that ask it.
final class HostSettings: Sendable {
  let manner: RequestManner
  let rules: FreshnessRules
  var network: NetworkSettings { manner.settings }
  var cache: CacheSettings { rules.settings }

  fileprivate init(_ network: NetworkSettings, _ cache: CacheSettings) {
    manner = RequestManner(network)
    rules = FreshnessRules(cache)
  }
}

/// A job's settings, with those of each host.
final class SettingsBook: Sendable {
  let job: JobSettings
  private let usual: HostSettings
  /// In the order of the job's.
  private let overrides: [HostSettings]

  init(_ job: JobSettings) {
    self.job = job
    usual = HostSettings(job.network, job.cache)
    overrides = job.hosts.map { HostSettings($0.network, $0.cache) }
  }

  /// The first override that matches, laid over the job's.
  subscript(host: String) -> HostSettings {
    job.overrideIndex(forHost: host).map { overrides[$0] } ?? usual
  }
}
