import Vocabulary

/// A name below `public/` and what is to stand there.
package struct PublicName: Sendable, Hashable {
  package var job: String
  /// Relative to the job's folder: `thumb/sku-1.webp`.
  package var path: String
  /// Nil: the name is to go, and with it the folders above it that are then empty.
  package var object: Digest?

  package init(job: String, path: String, object: Digest?) {
    self.job = job
    self.path = path
    self.object = object
  }
}

/// A public name that was found to stay below its job's folder.
struct CheckedName {
  let publicName: PublicName
  /// The folders to walk through, the job's first.
  let folders: [String]
  /// The folders as a key.
  let key: [ExactText]
  /// The last part.
  let name: String

  /// Whoever made the name has checked it already; what is written to disk is checked here again.
  init(_ publicName: PublicName) throws(StorageFailure) {
    func refused(_ reason: String) -> StorageFailure {
      .refusedName(job: publicName.job, path: publicName.path, reason: reason)
    }
    guard JobSettings.isLegalName(publicName.job) else {
      throw refused("that is not a job's name")
    }
    let parts = publicName.path.partsBetweenSlashes
    for part in parts {
      switch part {
      case "": throw refused("it is empty, begins or ends with a slash, or holds two in a row")
      case ".", "..": throw refused("it holds the part \"\(part)\"")
      default: break
      }
      guard part.utf8.count <= 255 else { throw refused("a part of it has more than 255 bytes") }
      guard !part.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
        throw refused("it holds a control character")
      }
    }
    self.publicName = publicName
    folders = [publicName.job] + parts.dropLast()
    key = folders.map(ExactText.init)
    name = parts.last!
  }
}
