/// First come, first served: the first leaves without moving the others, of whom there may be hundreds. Who
/// gives up leaves from the middle.
package struct WaitingLine<Element> {
  @usableFromInline var places: [Element] = []
  /// Where the line begins; those before have left.
  @usableFromInline var start = 0

  @inlinable package init() {}

  @inlinable package var isEmpty: Bool { start == places.count }
  @inlinable package var first: Element? { isEmpty ? nil : places[start] }

  @inlinable package mutating func append(_ element: Element) { places.append(element) }

  /// - Returns: nil where nobody waits.
  @discardableResult
  @inlinable package mutating func removeFirst() -> Element? {
    guard !isEmpty else { return nil }
    let first = places[start]
    start += 1
    if isEmpty {
      places.removeAll(keepingCapacity: true)
      start = 0
    } else if start >= 256 {
      places.removeFirst(start)
      start = 0
    }
    return first
  }

  /// - Returns: the first of whom that holds; nil where it holds of nobody.
  @discardableResult
  @inlinable package mutating func removeFirst(where leaves: (Element) -> Bool) -> Element? {
    places[start...].firstIndex(where: leaves).map { places.remove(at: $0) }
  }

  /// - Returns: all of whom that holds, in their order.
  @inlinable package mutating func removeAll(where leaves: (Element) -> Bool) -> [Element] {
    let waiting = removeAll()
    var gone: [Element] = []
    for element in waiting {
      if leaves(element) { gone.append(element) } else { append(element) }
    }
    return gone
  }

  /// - Returns: those who waited, in their order.
  @inlinable package mutating func removeAll() -> [Element] {
    defer { self = WaitingLine() }
    return Array(places[start...])
  }
}

extension WaitingLine: Sendable where Element: Sendable {}
