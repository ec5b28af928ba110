import Hashing
import LedgerCore
import Manifests
import Synchronization
import Vocabulary

extension JobSettings {
  /// The recipes that an item asks for, under the names that its files get.
  ///
  /// - Parameters:
  ///   - names: the item's `variants`; nil is all.
  ///   - encoders: of the decoders that make them, or have made them.
  package func recipes(named names: [String]?, by encoders: EncoderVersions) -> [NamedRecipe] {
    variants.filter { names?.contains($0.name) ?? true }.flatMap {
      $0.recipes(by: encoders)
    }
  }
}

extension Housekeeper {
  /// The recipes that any job asks for, as its manifest was read last.
  ///
  /// - Parameter environment: what the manifests' variables stand for.
  /// - Returns: nil where the settings of a job cannot be read, such as those of a later version.
  package func wantedRecipes(
    environment: [String: String]
  ) async throws(RunStop) -> Set<RecipeKey>? {
    do {
      let encoders = try await ledger.encoders()
      var wanted: Set<RecipeKey> = []
      for job in try await ledger.jobs() {
        guard
          let settings = try? settings(
            fromHead: job.settings, environment: environment, standIn: "")
        else { return nil }
        for named in settings.recipes(named: nil, by: encoders) {
          wanted.insert(RecipeKey(named.recipe, under: settings.limits))
        }
      }
      return wanted
    } catch {
      throw RunStop(error)
    }
  }
}

/// What the items of a job ask for, worked out once for each choice of variants: a recipe's key is a
/// digest of all its settings, which costs more than an item that has not changed.
final class RecipeBook: Sendable {
  /// One choice of variants.
  struct Page: Sendable {
    struct Line: Sendable {
      var name: String
      var recipe: Recipe
      var key: RecipeKey
    }

    let lines: [Line]
    /// Each recipe once, whatever the names.
    let wanted: [RecipeKey: Recipe]
    /// Of everything besides the original and the id that decides the published names; nil where there
    /// are none.
    fileprivate let digest: Digest?
  }

  /// Where the job publishes.
  let names: PublishedNames?
  private let settings: JobSettings
  private let encoders: EncoderVersions
  /// Of items that name no variants, as nearly all do.
  private let whole: Page
  private let pages = Mutex<[[String]: Page]>([:])
  private let hash = Mutex(SHA256())

  /// Further choices are worked out each time.
  private static let mostPages = 1_000

  /// - Parameter encoders: of the decoders that make what is missing.
  init(settings: JobSettings, encoders: EncoderVersions) {
    self.settings = settings
    self.encoders = encoders
    names = settings.publish.map { PublishedNames(template: $0.path) }
    whole = Self.write(nil, settings, encoders, names)
  }

  /// - Parameter variants: the item's; nil is all.
  func page(for variants: [String]?) -> Page {
    guard let variants else { return whole }
    if let known = pages.withLock({ $0[variants] }) { return known }
    let page = Self.write(variants, settings, encoders, names)
    pages.withLock { pages in
      if pages.count < Self.mostPages { pages[variants] = page }
    }
    return page
  }

  private static func write(
    _ variants: [String]?, _ settings: JobSettings, _ encoders: EncoderVersions,
    _ names: PublishedNames?
  ) -> Page {
    let lines = settings.recipes(named: variants, by: encoders).map {
      Page.Line(
        name: $0.name, recipe: $0.recipe, key: RecipeKey($0.recipe, under: settings.limits))
    }
    let publishesOriginal = settings.publish?.original == true
    // No name and no key holds a line break; the template stands last.
    let text =
      lines.map { "\($0.name) \($0.key)\n" }.joined() + "\(publishesOriginal)\n"
      + (names?.template ?? "")
    return Page(
      lines: lines, wanted: Dictionary(lines.map { ($0.key, $0.recipe) }) { first, _ in first },
      digest: names == nil || (lines.isEmpty && !publishesOriginal) ? nil : Digest(of: text))
  }

  /// - Returns: nil where nothing is published of it.
  func publicationKey(_ page: Page, id: ItemID, original: Digest) -> PublicationKey? {
    guard let digest = page.digest else { return nil }
    let key = hash.withLock { hash in
      hash.update(digest)
      hash.update(original)
      return hash.digest(of: id.text)
    }
    return PublicationKey(rawValue: Int64(bitPattern: key.words.0))
  }
}
