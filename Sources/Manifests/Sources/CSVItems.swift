/// An item in each record behind the header row, which names the columns: `url`, and if need be `id` and
/// `variants` (names with blanks, commas, semicolons or bars between). What stands in other columns
/// becomes the item's `meta`.
final class CSVItems: SourceParser {
  private enum Column {
    case id, url, variants
    case meta(String)
  }

  private static let known = ["id", "url", "variants"]

  private let items: SourceItems
  private let records = CSVRecords()
  private let raw = RawItem()
  private var columns: [Column] = []
  private var fault: SourceFault?
  /// Whether the record under way has no end of line.
  private var isUnended = false

  init(into items: SourceItems) { self.items = items }

  func feed(_ piece: UnsafeRawBufferPointer) throws(SourceFault) {
    records.feed(piece, take)
    if let fault { throw fault }
  }

  func finish() throws(SourceFault) {
    isUnended = true
    records.finish(take)
    if let fault { throw fault }
    if records.endsInQuotes {
      throw SourceFault(line: records.line, reason: "a quoted field has no end")
    }
    if columns.isEmpty { throw SourceFault(reason: "has no header row") }
  }

  private func take(_ result: Result<CSVRecords.Record, CSVRecords.Refusal>) {
    guard fault == nil else { return }
    items.line = records.line
    switch result {
    case .success(let record):
      if columns.isEmpty { readHeader(record) } else { read(record) }
    case .failure(let refusal):
      if columns.isEmpty {
        fault = SourceFault(line: records.line, reason: "the header row: \(refusal.reason)")
      } else {
        items.refuse(refusal.reason)
      }
    }
  }

  private func readHeader(_ record: CSVRecords.Record) {
    var names: [String] = []
    for i in 0..<record.count {
      let name = String(decoding: record[i].trimmed, as: UTF8.self)
      let known = Self.known.first { $0 == name.lowercased() }
      names.append(known ?? name)
    }
    if let wrong = Self.fault(of: names) {
      fault = SourceFault(line: records.line, reason: wrong)
      return
    }
    columns = names.map { name in
      switch name {
      case "id": .id
      case "url": .url
      case "variants": .variants
      default: .meta(name)
      }
    }
  }

  private static func fault(of names: [String]) -> String? {
    if let repeated = names.indices.first(where: { names[..<$0].contains(names[$0]) }) {
      return "the column \(Shown.quoted(names[repeated])) is given twice"
    }
    let missing = known.filter { !names.contains($0) }
    for name in names where !known.contains(name) {
      if let meant = Suggestion.nearest(to: name, among: missing) {
        return "unknown column \(Shown.quoted(name)), did you mean \"\(meant)\"?"
      }
    }
    return names.contains("url") ? nil : "the header row names no column \"url\""
  }

  private func read(_ record: CSVRecords.Record) {
    guard record.count == columns.count else {
      let reason = "has \(record.count) fields, the header row \(columns.count)"
      if isUnended, record.count < columns.count {
        fault = .cutOff(line: records.line, reason)
      } else {
        items.refuse(reason)
      }
      return
    }
    raw.clear()
    for i in 0..<record.count {
      let field = record[i].trimmed
      guard !field.isEmpty else { continue }
      switch columns[i] {
      case .id:
        raw.id.append(field)
        raw.hasID = true
      case .url:
        raw.url.append(field)
        raw.hasURL = true
      case .variants: readVariants(field)
      case .meta(let name):
        if !raw.hasMeta { raw.meta.open("{") }
        raw.hasMeta = true
        raw.meta.key(name)
        raw.meta.string(field)
      }
    }
    if raw.hasMeta { raw.meta.close("}") }
    items.take(raw)
  }

  private func readVariants(_ field: UnsafeBufferPointer<UInt8>) {
    for name in field.split(whereSeparator: { $0.isBlank || ",;|".utf8.contains($0) }) {
      raw.variants.append(UnsafeBufferPointer(rebasing: name))
      raw.variants.append(RawItem.nameEnd)
      raw.hasVariants = true
    }
  }
}
