/// What was read and not given away yet, oldest first.
struct ItemQueue<Element> {
  private var elements: [Element] = []
  /// How many of `elements` were given away.
  private var given = 0

  /// Elements in memory, given away or not.
  var held: Int { elements.count }

  var count: Int { elements.count - given }

  mutating func append(_ element: Element) { elements.append(element) }

  /// Gives up to `most` of the oldest away.
  mutating func takeFirst(_ most: Int) -> [Element] {
    let end = min(given + most, elements.count)
    let first = given == 0 && end == elements.count ? elements : Array(elements[given..<end])
    given = end
    // What was given away is dropped in one go with at least as much as moves up for it.
    if given * 2 >= elements.count {
      elements.removeFirst(given)
      given = 0
    }
    return first
  }
}
