import Vocabulary

/// Items of a source with their lines, and lines that are none.
final class SourceItems: ItemSink {
  private(set) var items = ItemQueue<ManifestItem>()
  private(set) var lines = ItemQueue<Int>()
  private(set) var badLines = 0
  /// Of the line under way: it counts when the line has no fault.
  private var pending: ManifestItem?
  /// Where an item that is complete has begun.
  var line = 0
  let problems = Problems()
  private let maker = ItemMaker()
  private let variantLists: VariantLists
  private let shown: String
  private let place: String

  /// - Parameters:
  ///   - shown: the source's name in messages.
  ///   - place: what the ids of bad lines begin with, such as `sources[0]`.
  ///   - variants: the names that items may give.
  init(shown: String, place: String, variants: Set<String>) {
    self.shown = shown
    self.place = place
    variantLists = VariantLists(known: variants)
  }

  func take(_ item: RawItem, at _: Int, _: Problems) {
    if !item.isFaulty, item.hasVariants { checkVariants(item) }
    guard !item.isFaulty else { return }
    if pending == nil {
      pending = located(maker.make(item, at: .document))
    } else if problems.isEmpty {
      problems.add(.document, "holds more than one item")
    }
  }

  /// Takes one that was put together without a scanner.
  func take(_ item: RawItem) {
    item.check { field, message in
      problems.add(Place.document[field], message)
      item.isFaulty = true
    }
    take(item, at: 0, problems)
    endLine()
  }

  /// Makes what is wrong with a line, if anything is, an item that has failed.
  func endLine() {
    guard problems.isEmpty else { return refuse(problems.takeSentence()) }
    if let pending { append(pending) }
    pending = nil
  }

  /// The line, or what stands in its place, is no item.
  func refuse(_ reason: String) {
    badLines += 1
    pending = nil
    append(badItem(line: line, shown: shown, place: place, reason))
  }

  /// A URL that cannot be used is found by its line.
  private func located(_ item: ManifestItem) -> ManifestItem {
    guard case .unusable(let id, let shownURL, var failure) = item else { return item }
    failure.message = "\(shown), line \(line): \(failure.message)"
    return .unusable(id: id, shownURL: shownURL, failure: failure)
  }

  private func append(_ item: ManifestItem) {
    items.append(item)
    lines.append(line)
  }

  private func checkVariants(_ item: RawItem) {
    let list = variantLists.list(item.variants.bytes, at: .document)
    if let i = list.repeated {
      problems.add(.document["variants"], "\(Shown.quoted(list.names[i])) is given twice")
      item.isFaulty = true
    } else if let unknown = list.unknown {
      problems.add(.document["variants"], "unknown variant \(Shown.quoted(unknown))")
      item.isFaulty = true
    }
  }

  func takeFirst(_ most: Int) -> SourcePage {
    SourcePage(items: items.takeFirst(most), lines: lines.takeFirst(most))
  }
}

/// Items in the order of their source.
package struct SourcePage: Sendable {
  package var items: [ManifestItem] = []
  /// Of each item, counted from 1.
  package var lines: [Int] = []

  package init(items: [ManifestItem] = [], lines: [Int] = []) {
    self.items = items
    self.lines = lines
  }

  package var isEmpty: Bool { items.isEmpty }
}

/// A line that is no item is one that has failed: its id says where it stands.
///
/// - Parameter place: such as `sources[0]`.
package func badItem(line: Int, shown: String, place: String, _ reason: String) -> ManifestItem {
  let words = "\(shown), line \(line)"
  return .unusable(
    // Legal: without slashes, blanks and dots at its ends.
    id: try! ItemID("\(place):\(line)"), shownURL: words,
    failure: FailureRecord(
      code: "bad-item", message: "\(words): \(reason)",
      hint: "correct that line of the source, or drop it", disposition: .giveUp))
}

/// What turns a source's text into items.
protocol SourceParser: AnyObject {
  /// - Throws: where nothing that follows could be understood.
  func feed(_ piece: UnsafeRawBufferPointer) throws(SourceFault)
  /// The text has ended.
  func finish() throws(SourceFault)
}
