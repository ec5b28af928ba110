import HTTPCaching
import Hashing
import LedgerCore
import Manifests
import Vocabulary

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
          // No request is made: whoever looks needs no credentials, only that there are some.
          let settings = try settings(
            fromHead: record.settings, environment: environment, standIn: "set at a run")
          views.append(view(chain, of: url, job: job, settings: settings, at: now))
        }
      }
      if views.isEmpty {
        let defaults = JobSettings(name: "default")
        views = [view(chain, of: url, job: nil, settings: defaults, at: now)]
      }
      return EntryStory(
        url: url, chain: chain, views: views, items: items, variants: variants,
        encoders: try await ledger.encoders(), now: now)
    } catch {
      throw RunStop(error)
    }
  }

  /// The items with that id, in any job.
  package func items(withID id: String) async throws(RunStop) -> [ItemView] {
    do {
      return try await ledger.items(withID: id)
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
    _ chain: [Entry], of url: ItemURL, job: String?, settings: JobSettings, at now: Timestamp
  ) -> EntryStory.View {
    let judge = EntryJudge(
      book: SettingsBook(settings), options: RunOptions(), itemOrigin: url.origin)
    return EntryStory.View(
      job: job, settings: settings, hops: chain.map { judge.hop($0, at: now) })
  }
}

extension EntryJudge {
  fileprivate func hop(_ entry: Entry, at now: Timestamp) -> EntryStory.Hop {
    var hop = EntryStory.Hop(
      entry: entry, decidingLines: HTTPFields(), verdict: verdict(on: entry, at: now))
    if let response = entry.response, let freshness = freshness(of: entry) {
      hop.freshness = freshness
      hop.decidingLines = decidingLines(of: response, freshness: freshness)
      hop.currentAge = freshness.age + (now - response.responseTime)
      if book[entry.url.host].cache.policy == .rfc9111 {
        hop.mismatchedField = response.mismatchedField(with: requestFields(for: entry.url))
      }
    }
    if let failure = entry.failure {
      hop.nextTry = nextTry(failure, of: entry.url)
      hop.servesUntil = servesUntil(failure, of: entry)
      hop.isConfirmedMissing = isConfirmedMissing(failure, of: entry.url)
    }
    return hop
  }
}
