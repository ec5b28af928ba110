/// The lists of variants that items name. Most items of a manifest have one of a few lists, so equal
/// ones are made only once.
final class VariantLists {
  struct List {
    var names: [String]
    /// The place in the list of a name that it holds already.
    var repeated: Int?
    /// The first name that no variant of the job has.
    var unknown: String?
  }

  /// Lists and names beyond these are forgotten: no job has so many.
  private static let mostLists = 1024
  private static let mostNames = 1024

  private var lastBytes: [UInt8] = []
  private var last = List(names: [], repeated: nil)
  private var lists: [[UInt8]: List] = [:]
  /// Each distinct name with the place that had it first.
  private(set) var firstPlaces: [(name: String, place: Place)] = []
  private var namesMet: Set<String> = []
  private let known: Set<String>?

  /// - Parameter known: the job's variants; nil: not known yet.
  init(known: Set<String>? = nil) { self.known = known }

  /// - Parameter bytes: as in `RawItem.variants`.
  func list(_ text: UnsafeBufferPointer<UInt8>, at place: @autoclosure () -> Place) -> List {
    if text.elementsEqual(lastBytes) { return last }
    let bytes = Array(text)
    let list: List
    if let known = lists[bytes] {
      list = known
    } else {
      list = newList(bytes, at: place())
      if lists.count >= Self.mostLists { lists.removeAll() }
      lists[bytes] = list
    }
    (lastBytes, last) = (bytes, list)
    return list
  }

  private func newList(_ bytes: [UInt8], at place: Place) -> List {
    let names = bytes.split(separator: RawItem.nameEnd, omittingEmptySubsequences: false)
      .dropLast().map { String(decoding: $0, as: UTF8.self) }
    var list = List(names: names, repeated: nil)
    if let known { list.unknown = names.first { !known.contains($0) } }
    var met: Set<String> = []
    for (i, name) in names.enumerated() {
      if !met.insert(name).inserted { list.repeated = list.repeated ?? i }
      if namesMet.count < Self.mostNames, namesMet.insert(name).inserted {
        firstPlaces.append((name, place["variants"][i]))
      }
    }
    return list
  }
}
