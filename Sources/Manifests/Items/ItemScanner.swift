/// Takes the events within a list of items and hands each item on when it is complete.
///
/// Knows an item's shape, not what its values mean. The list may be a manifest's `items`; what stands
/// around it is its caller's business.
final class ItemScanner {
  private enum Level { case list, item, names, meta, skipped }
  private enum Field { case id, url, variants, meta, ignored }

  let problems: Problems
  /// Which item is under way, and when the list has ended: how many there were.
  private(set) var index = 0
  private let raw = RawItem()
  private let sink: any ItemSink
  private var level = Level.list
  private var field = Field.ignored
  /// Arrays and objects open in what is skipped or in `meta`.
  private var nested = 0
  private var levelAfterSkip = Level.list
  private var nameCount = 0
  private var metaKeys = MetaKeys()
  private let placeOfItem: (Int) -> Place

  /// - Parameter place: where an item stands, by its index.
  init(
    sink: any ItemSink, problems: Problems, place: @escaping (Int) -> Place = { .item($0) }
  ) {
    self.sink = sink
    self.problems = problems
    placeOfItem = place
  }

  private var place: Place { placeOfItem(index) }

  /// Forgets an item that will not be completed.
  func abandonItem() {
    level = .list
    metaKeys = MetaKeys()
  }

  private func fault(_ place: @autoclosure () -> Place, _ message: @autoclosure () -> String) {
    problems.add(place(), message())
    raw.isFaulty = true
  }

  // MARK: Scalars

  func string(_ text: UnsafeBufferPointer<UInt8>) {
    switch level {
    case .list:
      raw.clear()
      raw.url.append(text)
      raw.hasURL = true
      finishItem()
    case .item:
      switch field {
      case .id: raw.id.append(text)
      case .url: raw.url.append(text)
      case .variants: fault(place["variants"], "must be an array of names, not a string")
      case .meta: writeMeta { $0.string(text) }
      case .ignored: break
      }
    case .names:
      raw.variants.append(text)
      raw.variants.append(RawItem.nameEnd)
      nameCount += 1
    case .meta: writeMeta { $0.string(text) }
    case .skipped: break
    }
  }

  /// A number, `true`, `false` or `null`: only `meta` may hold one.
  func scalar(_ text: UnsafeBufferPointer<UInt8>, kind: JSONValue) {
    switch level {
    case .list:
      problems.add(place, "must be an object or a URL, not \(kind.kind)")
      index += 1
    case .item:
      if field == .meta { writeMeta { $0.raw(text) } } else { rejectValue(kind) }
    case .names:
      fault(place["variants"][nameCount], "must be a string, not \(kind.kind)")
      nameCount += 1
    case .meta: writeMeta { $0.raw(text) }
    case .skipped: break
    }
  }

  private func rejectValue(_ kind: JSONValue) {
    switch field {
    case .id:
      fault(place["id"], "must be a string, not \(kind.kind)")
      raw.hasID = false
    case .url: fault(place["url"], "must be a string, not \(kind.kind)")
    case .variants: fault(place["variants"], "must be an array of names, not \(kind.kind)")
    case .meta, .ignored: break
    }
  }

  // MARK: Objects and arrays

  func key(_ text: UnsafeBufferPointer<UInt8>) {
    switch level {
    case .item: field = newField(text)
    case .meta:
      if !metaKeys.insert(text) {
        let name = String(decoding: text, as: UTF8.self)
        fault(place["meta"], "the key \(Shown.quoted(name)) is given twice")
      }
      writeMeta { $0.key(text) }
    case .list, .names, .skipped: break
    }
  }

  private func newField(_ text: UnsafeBufferPointer<UInt8>) -> Field {
    guard let field = Self.field(named: text) else {
      let name = String(decoding: text, as: UTF8.self)
      fault(
        place[name], "unknown key\(Suggestion.text(for: name, among: ManifestKeys.item))")
      return .ignored
    }
    let isNew: Bool
    switch field {
    case .id: (isNew, raw.hasID) = (!raw.hasID, true)
    case .url: (isNew, raw.hasURL) = (!raw.hasURL, true)
    case .variants: (isNew, raw.hasVariants) = (!raw.hasVariants, true)
    case .meta: (isNew, raw.hasMeta) = (!raw.hasMeta, true)
    case .ignored: isNew = true
    }
    guard isNew else {
      fault(place[String(decoding: text, as: UTF8.self)], "given twice")
      return .ignored
    }
    return field
  }

  private static func field(named text: UnsafeBufferPointer<UInt8>) -> Field? {
    switch text.count {
    case 2 where text.isEqual(to: "id"): .id
    case 3 where text.isEqual(to: "url"): .url
    case 4 where text.isEqual(to: "meta"): .meta
    case 8 where text.isEqual(to: "variants"): .variants
    default: nil
    }
  }

  func openObject() {
    switch level {
    case .list:
      raw.clear()
      level = .item
    case .item:
      if field == .meta { return enterMeta("{") }
      rejectValue(.object([]))
      skip()
    case .names:
      fault(place["variants"][nameCount], "must be a string, not an object")
      nameCount += 1
      skip()
    case .meta: deeperMeta("{")
    case .skipped: nested += 1
    }
  }

  func openArray() {
    switch level {
    case .list:
      problems.add(place, "must be an object or a URL, not an array")
      index += 1
      skip()
    case .item:
      switch field {
      case .meta: enterMeta("[")
      case .variants:
        level = .names
        nameCount = 0
      case .id, .url, .ignored:
        rejectValue(.array([]))
        skip()
      }
    case .names:
      fault(place["variants"][nameCount], "must be a string, not an array")
      nameCount += 1
      skip()
    case .meta: deeperMeta("[")
    case .skipped: nested += 1
    }
  }

  func closeObject() {
    switch level {
    case .item:
      level = .list
      finishItem()
    case .meta: closeMeta("}")
    case .skipped: closeSkipped()
    case .list, .names: break
    }
  }

  /// - Returns: whether that was the list's own end.
  func closeArray() -> Bool {
    switch level {
    case .list: return true
    case .names:
      level = .item
      if nameCount == 0 {
        fault(place["variants"], "is empty: leave it out for all variants")
      }
    case .meta: closeMeta("]")
    case .skipped: closeSkipped()
    case .item: break
    }
    return false
  }

  private func skip() {
    levelAfterSkip = level
    level = .skipped
    nested = 1
  }

  private func closeSkipped() {
    nested -= 1
    if nested == 0 { level = levelAfterSkip }
  }

  // MARK: meta

  /// What is over the limit is read on, to its end, and not kept.
  private func writeMeta(_ write: (JSONText) -> Void) {
    if raw.meta.bytes.count <= RawItem.mostMetaBytes {
      if level == .meta, !metaKeys.isInObject { raw.meta.separate() }
      write(raw.meta)
    }
  }

  private func enterMeta(_ bracket: Unicode.Scalar) {
    raw.meta.open(bracket)
    level = .meta
    nested = 1
    metaKeys.open(isObject: bracket == "{")
  }

  private func deeperMeta(_ bracket: Unicode.Scalar) {
    writeMeta { $0.open(bracket) }
    nested += 1
    metaKeys.open(isObject: bracket == "{")
  }

  private func closeMeta(_ bracket: Unicode.Scalar) {
    nested -= 1
    metaKeys.close()
    if raw.meta.bytes.count <= RawItem.mostMetaBytes { raw.meta.close(bracket) }
    if nested == 0 { level = .item }
  }

  // MARK: The whole item

  private func finishItem() {
    raw.check { field, message in fault(place[field], message) }
    sink.take(raw, at: index, problems)
    index += 1
  }
}

/// What becomes of the items of a list.
protocol ItemSink: AnyObject {
  /// - Parameter item: faulty ones come too, so that their other faults can be found.
  func take(_ item: RawItem, at index: Int, _ problems: Problems)
}
