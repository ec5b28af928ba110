/// The hosts that occur most often among very many, in the memory of a few.
///
/// So many are counted. One more takes the place of the rarest, and starts with its count: so a host that
/// makes up more than one part in `places` of all is never missed, and no count is too low. By how much it
/// may be too high is kept beside it.
///
/// - Source: Metwally, Agrawal and El Abbadi, "Efficient Computation of Frequent and Top-k Elements in
///   Data Streams", 2005 (Space-Saving).
package struct HostTally: Sendable, Hashable {
  private struct Place: Hashable {
    var count: Int
    /// What it took over from the host that had its place before.
    var inherited: Int
  }

  static let places = 32

  private var byHost: [String: Place] = [:]

  package init() {}

  mutating func add(_ host: String, times: Int = 1) {
    if byHost[host] != nil || byHost.count < Self.places {
      byHost[host, default: Place(count: 0, inherited: 0)].count += times
      return
    }
    let rarest = byHost.min { ($0.value.count, $0.key) < ($1.value.count, $1.key) }!
    byHost[rarest.key] = nil
    byHost[host] = Place(count: rarest.value.count + times, inherited: rarest.value.count)
  }

  /// The most frequent, by how often they have occurred at least.
  package func worst(_ most: Int) -> [(host: String, count: Int)] {
    let counts = byHost.map { (host: $0.key, count: $0.value.count - $0.value.inherited) }
    return Array(counts.sorted { ($1.count, $0.host) < ($0.count, $1.host) }.prefix(most))
  }
}
