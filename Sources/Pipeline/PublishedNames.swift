import Hashing
import LedgerCore
import Vocabulary

/// Spells the published names of an item after the job's template.
struct PublishedNames {
  /// What stands for a variant's name in an original's.
  static let original = "original"

  let template: String

  /// The path below `public/JOB/`. `{shard}` is the first two hexadecimal digits of the id's SHA-256.
  func path(variant: String, id: ItemID, format: ImageFormat) -> String {
    var path = ""
    var rest = template[...]
    while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
      path += rest[..<open]
      switch rest[rest.index(after: open)..<close] {
      case "variant": path += variant
      case "id": path += id.text
      case "ext": path += format.fileExtension
      case "shard": path += Digest(of: id.text).description.prefix(2)
      default: path += rest[open...close]
      }
      rest = rest[rest.index(after: close)...]
    }
    return path + rest
  }

  /// How the id of another item begins that would need a name as a folder.
  ///
  /// - Returns: nil where that does not follow from the id alone, such as for a folder by `{shard}`.
  func folderOfIDs(variant: String, id: ItemID, format: ImageFormat) -> String? {
    let parts = template.split(separator: "{id}", omittingEmptySubsequences: false)
    guard parts.count == 2, !template.contains("{shard}") else { return nil }
    let end = PublishedNames(template: String(parts[1]))
    return id.text + end.path(variant: variant, id: id, format: format) + "/"
  }

  func publication(
    of variant: String, id: ItemID, format: ImageFormat, object: Digest
  ) -> Publication {
    Publication(
      path: path(variant: variant, id: id, format: format), variant: variant, object: object,
      folderOfIDs: folderOfIDs(variant: variant, id: id, format: format))
  }
}

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
