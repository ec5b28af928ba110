import Vocabulary

/// The second pass: makes each item's values and queues them for the reader.
final class ItemBuilder: ItemSink {
  private var items = ItemQueue<ManifestItem>()
  private let maker = ItemMaker()

  /// Items in memory, given away or not.
  var held: Int { items.held }

  var count: Int { items.count }

  /// Gives up to `most` of the oldest items away.
  func takeFirst(_ most: Int) -> [ManifestItem] { items.takeFirst(most) }

  func take(_ item: RawItem, at index: Int, _: Problems) {
    guard !item.isFaulty else { return }
    items.append(maker.make(item, at: .item(index)))
  }
}
