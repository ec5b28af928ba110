import HTTPCaching
import Hashing
import LedgerCore
import Manifests
import Vocabulary

/// One item as the site that uses its thumbnails needs it.
package struct ExportedItem: Sendable {
  /// A variant that is there.
  package struct Variant: Sendable {
    package var name: String
    /// Below `public/JOB/`; nil where it is not published.
    package var path: String?
    package var object: Digest
    /// Nil where only its name is still known: it was made of an original that is no more.
    package var made: StoredVariant?
  }

  package var id: ItemID
  /// As it may be shown to anybody.
  package var shownURL: String
  package var state: EntryStory.State
  /// Why it is not well.
  package var failure: FailureRecord?
  /// Whether no other try is expected to mend that: `retry` makes it due all the same.
  package var isDead = false
  package var freshUntil: Timestamp?
  package var original: Original?
  /// Compact JSON.
  package var meta: String?
  /// In the manifest's order, each once for each device pixel ratio.
  package var variants: [Variant]
}

/// All items of a job, a page at a time.
package struct Export: Sendable {
  /// Read in one go, and so held in memory.
  private static let page = 256

  private let ledger: any Ledger
  private let job: JobRecord
  private let recipes: RecipeBook
  private let book: SettingsBook
  package let settings: JobSettings

  /// - Parameter environment: as for a run, but nothing is missed that only a request needs.
  /// - Throws: where the ledger cannot be read, or what it keeps of the job is not understood.
  package init(
    of job: JobRecord, ledger: any Ledger, environment: [String: String]
  ) async throws(RunStop) {
    self.ledger = ledger
    self.job = job
    do {
      let encoders = try await ledger.encoders()
      settings = try Manifests.settings(
        fromHead: job.settings, environment: environment, standIn: "set at a run")
      recipes = RecipeBook(settings: settings, encoders: encoders)
      book = SettingsBook(settings)
    } catch {
      throw RunStop(error)
    }
  }

  /// The names that variants have in this job, as `ExportedItem.Variant.name` has them.
  package var variantNames: [String] {
    recipes.page(for: nil).lines.map(\.name)
      + (settings.publish?.original == true ? [PublishedNames.original] : [])
  }

  /// - Parameter each: is given a page's items, in the order of their ids.
  package func run(
    at now: Timestamp, each: ([ExportedItem]) -> Void
  ) async throws(RunStop) {
    do {
      var last = ""
      while case let items = try await ledger.knownItems(
        of: job.number, after: last, limit: Self.page), !items.isEmpty
      {
        var exported: [ExportedItem] = []
        for item in items { exported.append(try await self.item(item, at: now)) }
        each(exported)
        last = items.last!.view.id.text
      }
    } catch {
      throw RunStop(error)
    }
  }

  private func item(
    _ known: KnownItem, at now: Timestamp
  ) async throws(LedgerFailure) -> ExportedItem {
    let (chain, records) = try await chain(of: known)
    let view = known.view
    var item = ExportedItem(
      id: view.id, shownURL: view.shownURL, state: .absent, failure: view.failure,
      freshUntil: nil, original: chain.last?.original, meta: known.meta,
      variants: variants(of: known, records))
    if let url = view.url {
      let judge = EntryJudge(book: book, options: RunOptions(), itemOrigin: url.origin)
      if let last = chain.last, judge.freshness(of: last) != nil {
        item.freshUntil = chain.compactMap { judge.freshness(of: $0)?.freshUntil }.min()
      }
      item.failure = item.failure ?? chain.last { $0.failure != nil }?.failure?.failure
      if item.original != nil {
        item.state = chain.allSatisfy { judge.verdict(on: $0, at: now).isFresh } ? .fresh : .stale
      }
    }
    if item.failure != nil { item.state = .failed }
    item.isDead =
      view.state == .failed
      && (view.failure?.disposition == .giveUp || view.dueAt >= .distantFuture)
    return item
  }

  private func chain(
    of known: KnownItem
  ) async throws(LedgerFailure) -> ([Entry], [VariantRecord]) {
    guard var last = known.entry else { return ([], []) }
    var chain = [last]
    var records = known.records
    while let target = last.redirectTarget, chain.count < 50,
      let next = try await ledger.entry(EntryKey(target)), !chain.contains(next)
    {
      chain.append(next)
      last = next
      if let original = next.original { records = try await ledger.variants(of: original.digest) }
    }
    return (chain, records)
  }

  private func variants(
    of known: KnownItem, _ records: [VariantRecord]
  ) -> [ExportedItem.Variant] {
    var made: [RecipeKey: StoredVariant] = [:]
    for record in records {
      if case .made(let variant) = record.state { made[record.recipe] = variant }
    }
    let byDigest = Dictionary(made.values.map { ($0.digest, $0) }) { first, _ in first }
    var published = known.view.published
    var variants: [ExportedItem.Variant] = []
    for line in recipes.page(for: known.variants).lines {
      if let index = published.firstIndex(where: { $0.variant == line.name }) {
        let name = published.remove(at: index)
        variants.append(
          ExportedItem.Variant(
            name: line.name, path: name.path, object: name.object, made: byDigest[name.object]))
      } else if let variant = made[line.key] {
        variants.append(
          ExportedItem.Variant(
            name: line.name, path: nil, object: variant.digest, made: variant))
      }
    }
    for name in published {
      variants.append(
        ExportedItem.Variant(
          name: name.variant, path: name.path, object: name.object, made: byDigest[name.object]))
    }
    return variants
  }
}
