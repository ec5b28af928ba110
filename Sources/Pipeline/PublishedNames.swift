import Hashing
import LedgerCore
import Vocabulary

/// Spells the published names of an item after the job's template.
struct PublishedNames: Sendable {
  /// What stands for a variant's name in an original's.
  static let original = "original"

  private enum Part: Hashable {
    case text(String)
    case variant
    case id
    case ext
    case shard
  }

  let template: String
  private let parts: [Part]
  /// What follows the id, where a name of one item may be a folder of another's.
  private let afterID: ArraySlice<Part>?

  /// - Parameter template: the job's `publish.path`.
  init(template: String) {
    self.template = template
    let parts = Self.parts(of: template)
    self.parts = parts
    let places = parts.indices.filter { parts[$0] == .id }
    afterID =
      places.count == 1 && !parts.contains(.shard) ? parts[places[0]...].dropFirst() : nil
  }

  private static func parts(of template: String) -> [Part] {
    var parts: [Part] = []
    var rest = template[...]
    while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
      if open > rest.startIndex { parts.append(.text(String(rest[..<open]))) }
      switch rest[rest.index(after: open)..<close] {
      case "variant": parts.append(.variant)
      case "id": parts.append(.id)
      case "ext": parts.append(.ext)
      case "shard": parts.append(.shard)
      default: parts.append(.text(String(rest[open...close])))
      }
      rest = rest[rest.index(after: close)...]
    }
    if !rest.isEmpty { parts.append(.text(String(rest))) }
    return parts
  }

  /// The path below `public/JOB/`. `{shard}` is the first two hexadecimal digits of the id's SHA-256.
  func path(variant: String, id: ItemID, format: ImageFormat) -> String {
    spell(parts[...], variant, id, format)
  }

  private func spell(
    _ parts: ArraySlice<Part>, _ variant: String, _ id: ItemID, _ format: ImageFormat
  ) -> String {
    var path = ""
    for part in parts {
      switch part {
      case .text(let text): path += text
      case .variant: path += variant
      case .id: path += id.text
      case .ext: path += format.fileExtension
      case .shard: path += Digest(of: id.text).description.prefix(2)
      }
    }
    return path
  }

  /// How the id of another item begins that would need a name as a folder.
  ///
  /// - Returns: nil where that does not follow from the id alone, such as for a folder by `{shard}`.
  func folderOfIDs(variant: String, id: ItemID, format: ImageFormat) -> String? {
    afterID.map { id.text + spell($0, variant, id, format) + "/" }
  }

  func publication(
    of variant: String, id: ItemID, format: ImageFormat, object: Digest
  ) -> Publication {
    Publication(
      path: path(variant: variant, id: id, format: format), variant: variant, object: object,
      folderOfIDs: folderOfIDs(variant: variant, id: id, format: format))
  }
}
