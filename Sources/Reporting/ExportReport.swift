import LedgerCore
import Pipeline
import Vocabulary

/// An exported item as one line, for the site that uses its thumbnails.
///
/// NDJSON has what `export` promises; CSV has the same in columns, those of each variant behind each
/// other.
package struct ExportReport: Sendable {
  /// Where published names stand: empty, or the absolute folder with a `/` behind it.
  private let folder: String
  private let variantNames: [String]

  /// - Parameters:
  ///   - folder: `public/JOB`, absolute; nil leaves paths as they are below it.
  ///   - variantNames: the columns of CSV.
  package init(folder: String?, variantNames: [String]) {
    self.folder = folder.map { $0 + "/" } ?? ""
    self.variantNames = variantNames
  }

  // MARK: NDJSON

  package func json(_ item: ExportedItem) -> String {
    let object = JSONText.object([
      ("id", .string(item.id.text)), ("url", .string(item.shownURL)),
      ("state", .string(item.state.rawValue)), ("error", .string(item.failure?.code)),
      ("dead", .bool(item.isDead)), ("fresh_until", .time(item.freshUntil)),
      ("width", .number(item.original?.width)),
      ("height", .number(item.original?.height)), ("placeholder", placeholder(item)),
      ("meta", item.meta.map { .verbatim($0) } ?? .null),
      ("variants", .array(item.variants.map { variant($0, of: item) })),
    ])
    return object.text
  }

  private func placeholder(_ item: ExportedItem) -> JSONText {
    guard let placeholder = item.original?.placeholder else { return .null }
    return .object([
      ("color", .string("\(placeholder.color)")),
      ("thumbhash", .string(placeholder.thumbHashText)),
    ])
  }

  private func variant(_ variant: ExportedItem.Variant, of item: ExportedItem) -> JSONText {
    let file = file(of: variant, item)
    return .object([
      ("name", .string(variant.name)), ("path", .string(path(of: variant))),
      ("width", .number(file.width)), ("height", .number(file.height)),
      ("bytes", .number(file.bytes)), ("type", .string(file.type)),
      ("sha256", .string("\(variant.object)")),
    ])
  }

  private func path(of variant: ExportedItem.Variant) -> String? {
    variant.path.map { folder + $0 }
  }

  private struct File {
    var width: Int?
    var height: Int?
    var bytes: Int?
    var type: String?
  }

  private func file(of variant: ExportedItem.Variant, _ item: ExportedItem) -> File {
    if let made = variant.made {
      return File(
        width: made.width, height: made.height, bytes: made.bytes, type: made.format.mediaType)
    }
    guard let original = item.original, original.digest == variant.object else { return File() }
    return File(
      width: original.width, height: original.height, bytes: original.bytes,
      type: original.format?.mediaType)
  }

  // MARK: CSV (RFC 4180)

  private static let columns = [
    "id", "url", "state", "error", "fresh_until", "width", "height", "color", "thumbhash", "meta",
  ]
  private static let variantColumns = ["path", "width", "height", "bytes", "type", "sha256"]

  package var csvHead: String {
    let variants = variantNames.flatMap { name in Self.variantColumns.map { "\(name).\($0)" } }
    return (Self.columns + variants).map(Self.quoted).joined(separator: ",")
  }

  package func csv(_ item: ExportedItem) -> String {
    let placeholder = item.original?.placeholder
    func text(_ number: Int?) -> String { number.map(String.init) ?? "" }
    var fields = [
      item.id.text, item.shownURL, item.state.rawValue, item.failure?.code ?? "",
      item.freshUntil.map { "\($0)" } ?? "", text(item.original?.width),
      text(item.original?.height), placeholder.map { "\($0.color)" } ?? "",
      placeholder?.thumbHashText ?? "", item.meta ?? "",
    ]
    for name in variantNames {
      guard let variant = item.variants.first(where: { $0.name == name }) else {
        fields += Self.variantColumns.map { _ in "" }
        continue
      }
      let file = file(of: variant, item)
      fields += [
        path(of: variant) ?? "", text(file.width), text(file.height), text(file.bytes),
        file.type ?? "", "\(variant.object)",
      ]
    }
    return fields.map(Self.quoted).joined(separator: ",")
  }

  private static func quoted(_ field: String) -> String {
    guard field.utf8.contains(where: { [0x22, 0x2C, 0x0A, 0x0D].contains($0) }) else {
      return field
    }
    return "\""
      + field.split(separator: "\"", omittingEmptySubsequences: false)
      .joined(separator: "\"\"") + "\""
  }
}
