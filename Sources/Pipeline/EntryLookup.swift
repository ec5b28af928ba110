import HTTPCaching
import Hashing
import LedgerCore
import Manifests
import Vocabulary

/// All that is known of one URL, gathered for whoever asks why it is as it is.
package struct EntryStory: Sendable {
  /// How one job sees the entry: what the server said, under that job's settings.
  package struct View: Sendable {
    /// Nil: no job names the URL; the defaults are applied.
    package var job: String?
    /// Of the entry at the chain's end; nil without a response.
    package var freshness: Freshness?
    /// Of the whole chain: the least of its hops'.
    package var freshUntil: Timestamp?
    package var isFresh: Bool
    package var settings: JobSettings
  }

  package enum State: String, Sendable {
    case fresh, stale, failed, absent
  }

  package var url: ItemURL
  /// The entry of the URL itself, then those its redirects lead to.
  package var chain: [Entry]
  /// One for each job, or one with the defaults.
  package var views: [View]
  package var items: [ItemView]
  package var variants: [VariantRecord]
  package var state: State
  package var now: Timestamp

  /// Where the chain ends.
  package var last: Entry? { chain.last }

  /// The failure nearest to the bytes.
  package var failure: EntryFailure? { chain.last { $0.failure != nil }?.failure }
}

/// Looks up entries by URL or id.
package struct EntryLookup: Sendable {
  private let ledger: any Ledger
  private let environment: [String: String]

  package init(ledger: any Ledger, environment: [String: String]) {
    self.ledger = ledger
    self.environment = environment
  }

  package func story(of url: ItemURL, at now: Timestamp) async throws(RunStop) -> EntryStory {
    do {
      let key = EntryKey(url)
      let items = try await ledger.items(naming: key)
      let chain = try await chain(from: key)
      var variants: [VariantRecord] = []
      if let original = chain.last?.original {
        variants = try await ledger.variants(of: original.digest)
      }
      var views: [EntryStory.View] = []
      for job in Set(items.map(\.job)).sorted() {
        if let record = try await ledger.job(named: job) {
          let settings = try settings(fromHead: record.settings, environment: environment)
          views.append(view(chain, job: job, settings: settings, at: now))
        }
      }
      if views.isEmpty {
        views = [view(chain, job: nil, settings: JobSettings(name: "default"), at: now)]
      }
      return EntryStory(
        url: url, chain: chain, views: views, items: items, variants: variants,
        state: state(chain, views), now: now)
    } catch {
      throw RunStop(error)
    }
  }

  /// The URLs of the items with that id, in any job.
  package func urls(ofID id: String) async throws(RunStop) -> [ItemURL] {
    do {
      return try await ledger.items(withID: id).compactMap(\.url)
    } catch {
      throw RunStop(error)
    }
  }

  private func chain(from first: EntryKey) async throws(LedgerFailure) -> [Entry] {
    var chain: [Entry] = []
    var key: EntryKey? = first
    while let next = key, chain.count < 50, !chain.contains(where: { $0.key == next }),
      let entry = try await ledger.entry(next)
    {
      chain.append(entry)
      key = entry.redirectTarget.map { EntryKey($0) }
    }
    return chain
  }

  private func view(
    _ chain: [Entry], job: String?, settings: JobSettings, at now: Timestamp
  ) -> EntryStory.View {
    let freshnesses = chain.compactMap { entry in
      entry.response.map { freshness(of: $0, settings: settings.cache(forHost: entry.url.host)) }
    }
    let freshUntil = freshnesses.map(\.freshUntil).min()
    let isComplete = chain.last?.original != nil && chain.allSatisfy { $0.response != nil }
    return EntryStory.View(
      job: job, freshness: chain.last?.response == nil ? nil : freshnesses.last,
      freshUntil: freshUntil, isFresh: isComplete && freshUntil.map { now < $0 } ?? false,
      settings: settings)
  }

  private func state(_ chain: [Entry], _ views: [EntryStory.View]) -> EntryStory.State {
    if chain.contains(where: { $0.failure != nil }) { return .failed }
    if chain.last?.original == nil { return .absent }
    return views.allSatisfy(\.isFresh) ? .fresh : .stale
  }
}
