import Glibc

/// Where everything of a root stands.
package struct RootLayout: Sendable, Hashable {
  package let root: String

  /// - Parameter root: a path, absolute or of the working folder; it need not exist yet.
  package init(root: String) {
    var root = Substring(root)
    while root.count > 1, root.hasSuffix("/") { root.removeLast() }
    self.root = String(root)
  }

  /// Everything known; its own files beside it (`-wal`, `-shm`) begin with the same name.
  package var ledger: String { root + "/ledger.sqlite" }
  /// Originals and variants by the digest of their bytes.
  package var objects: String { root + "/objects" }
  /// What is being written.
  package var temporary: String { root + "/tmp" }
  /// Damaged objects that `verify --repair` has taken out of the store.
  package var quarantine: String { root + "/quarantine" }
  /// What manifests' sources at URLs sent last.
  package var sources: String { root + "/sources" }
  /// What a web server may serve as it is.
  package var published: String { root + "/public" }

  /// Makes the folders that are missing, readable by everybody (a web server is another user), and
  /// their names durable. Blocks for as long as the disk takes.
  package func create() throws(StorageFailure) {
    try createRoot()
    for path in [objects, temporary, published] { try Folder.create(path) }
  }

  /// The root alone, with the folders above it.
  package func createRoot() throws(StorageFailure) { try Folder.create(root) }
}
