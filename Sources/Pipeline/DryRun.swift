import HTTPCaching
import Hashing
import LedgerCore
import Manifests
import Vocabulary

/// What a run would do, found out without a request and without writing anything.
package struct DryRun: Sendable {
  package enum Plan: String, Sendable, CaseIterable {
    /// Nothing: it is fresh and its variants are there.
    case fresh
    /// Asked with validators: only what changed would be downloaded.
    case revalidate
    /// Downloaded: nothing of it is stored, or nothing that could be validated.
    case fetch
    /// Variants made from the stored original, without a request.
    case rebuild
    /// Not asked: it failed recently.
    case cooling
    /// Its URL cannot be used.
    case unusable
  }

  private let ledger: (any Ledger)?
  private let manifest: ManifestFile
  private let options: RunOptions
  private let now: Timestamp
  private let recipes: RecipeBook
  private let book: SettingsBook

  /// - Parameters:
  ///   - ledger: nil where none exists yet.
  ///   - encoders: those of the decoders that a run would have.
  package init(
    ledger: (any Ledger)?, manifest: ManifestFile, options: RunOptions, now: Timestamp,
    encoders: EncoderVersions
  ) {
    recipes = RecipeBook(settings: manifest.settings, encoders: encoders)
    book = SettingsBook(manifest.settings)
    self.ledger = ledger
    self.manifest = manifest
    self.options = options
    self.now = now
  }

  /// - Parameter each: told of each item in the manifest's order.
  package func run(
    each: @Sendable (ItemID, Plan) -> Void = { _, _ in }
  ) async throws(RunStop) -> [Plan: Int] {
    var counts: [Plan: Int] = [:]
    let pages = ItemPages()
    try await pages.open(manifest)
    while case let page = try await pages.nextItems(), !page.isEmpty {
      try await count(page, in: &counts, each)
    }
    for (i, source) in manifest.sources.enumerated() {
      try await count(source, at: i, in: &counts, each)
    }
    return counts
  }

  /// Sources at URLs are not asked: they are passed over.
  private func count(
    _ source: SourceAddress, at index: Int, in counts: inout [Plan: Int],
    _ each: @Sendable (ItemID, Plan) -> Void
  ) async throws(RunStop) {
    guard let order = SourceReader.Order(source, at: index, of: manifest) else { return }
    let pages = ItemPages()
    do {
      try await pages.open(order)
      while case let page = try await pages.nextPage(), !page.isEmpty {
        try await count(page.items, in: &counts, each)
      }
    } catch {
      throw RunStop(error)
    }
  }

  private func count(
    _ page: [ManifestItem], in counts: inout [Plan: Int],
    _ each: @Sendable (ItemID, Plan) -> Void
  ) async throws(RunStop) {
    for item in page {
      let plan: Plan
      let id: ItemID
      switch item {
      case .usable(let itemID, let url, let key, let variants, _):
        id = itemID
        plan = try await self.plan(url, key, variants: variants)
      case .unusable(let itemID, _, _):
        id = itemID
        plan = .unusable
      }
      counts[plan, default: 0] += 1
      each(id, plan)
    }
  }

  private func plan(
    _ url: ItemURL, _ key: EntryKey, variants: [String]?
  ) async throws(RunStop) -> Plan {
    let judge = EntryJudge(book: book, options: options, itemOrigin: url.origin)
    guard let ledger else { return .fetch }
    do {
      var next = try await ledger.entry(key)
      for _ in 0...book[url.host].network.maxRedirects {
        guard let entry = next else { return .fetch }
        switch judge.verdict(on: entry, at: now) {
        case .fresh: break
        case .cooling, .failed, .notStored: return .cooling
        case .asks(_, let conditions): return conditions.lines.isEmpty ? .fetch : .revalidate
        }
        if let target = entry.redirectTarget {
          next = try await ledger.entry(EntryKey(target))
        } else if let original = entry.original {
          let made = Set(try await ledger.variants(of: original.digest).map(\.recipe))
          let wanted = recipes.page(for: variants).wanted.keys
          return wanted.allSatisfy(made.contains) ? .fresh : .rebuild
        } else {
          return .fetch
        }
      }
    } catch {
      throw RunStop(error)
    }
    return .fetch
  }
}
