import Vocabulary

/// What tells that a manifest is the one that was read before.
package struct ManifestIdentity: Sendable, Hashable {
  package var path: String
  package var size: Int64
  package var modifiedNanoseconds: Int64
  package var inode: UInt64
  package var digest: Digest
  /// In the order of their reading, each behind the one that lists it.
  package var sources: [SourceIdentity]

  package init(
    path: String, size: Int64, modifiedNanoseconds: Int64, inode: UInt64, digest: Digest,
    sources: [SourceIdentity] = []
  ) {
    self.path = path
    self.size = size
    self.modifiedNanoseconds = modifiedNanoseconds
    self.inode = inode
    self.digest = digest
    self.sources = sources
  }
}

/// What tells that a source of a manifest is the one that was read before.
package struct SourceIdentity: Sendable, Hashable {
  /// An absolute path, or a URL with every secret.
  package var address: String
  /// Of a file, like those of a manifest; 0 of what came over the network.
  package var size: Int64
  package var modifiedNanoseconds: Int64
  package var inode: UInt64
  /// Of its bytes as they are, compressed or not.
  package var digest: Digest

  package init(
    address: String, size: Int64 = 0, modifiedNanoseconds: Int64 = 0, inode: UInt64 = 0,
    digest: Digest
  ) {
    self.address = address
    self.size = size
    self.modifiedNanoseconds = modifiedNanoseconds
    self.inode = inode
    self.digest = digest
  }
}
