import Glibc
import Hashing
import Vocabulary

/// `sources/`: what the sources of manifests that stand at URLs have sent last, for the day when the server
/// says that nothing has changed, or nothing at all.
///
/// `KEY` is a note that names the body's digest and length, and holds what else it takes to ask again;
/// `KEY.DIGEST` is the body. The note is renamed into place when the body stands, so that the two fit
/// together after a crash. The folder appears with the first of them; only this user may read what it holds.
struct SourceFolder: Sendable {
  static let name = "sources"
  private static let mostNoteBytes = 64 << 10

  let root: RootLayout
  let temporary: TemporaryFolder

  private func open() throws(StorageFailure) -> Folder {
    let root = try Folder(opening: root.root)
    _ = try root.makeSubfolder(Self.name)
    return try Folder(opening: self.root.sources)
  }

  func find(_ key: EntryKey) -> KeptSource? {
    guard let folder = try? Folder(opening: root.sources), let note = note(key, in: folder),
      let status = folder.status(of: "\(key).\(note.digest)"), Int(status.st_size) == note.bytes
    else { return nil }
    return KeptSource(path: path(key, note.digest), digest: note.digest, record: note.record)
  }

  /// - Parameter record: nil: it may be read now, and is to be forgotten then.
  func keep(
    _ source: StagedObject, record: [UInt8]?, for key: EntryKey
  ) throws(StorageFailure) -> KeptSource {
    let folder = try open()
    let before = note(key, in: folder)
    try source.file.move(to: folder, as: "\(key).\(source.digest)")
    if let record {
      let file = try TemporaryFile(in: temporary)
      let text = Array("\(source.digest) \(source.bytes)\n".utf8) + record
      var failure: StorageFailure?
      text.withUnsafeBytes { bytes in
        do throws(StorageFailure) { try file.write(bytes) } catch { failure = error }
      }
      if let failure { throw failure }
      try file.move(to: folder, as: "\(key)")
    } else {
      unlinkat(folder.descriptor, "\(key)", 0)
    }
    try folder.sync()
    if let before, before.digest != source.digest {
      unlinkat(folder.descriptor, "\(key).\(before.digest)", 0)
    }
    return KeptSource(path: path(key, source.digest), digest: source.digest, record: record ?? [])
  }

  func forget(_ key: EntryKey, _ digest: Digest) {
    guard let folder = try? Folder(opening: root.sources) else { return }
    unlinkat(folder.descriptor, "\(key).\(digest)", 0)
  }

  /// - Parameter keys: nil is all that there are.
  /// - Returns: of how many keys something was kept.
  func forget(_ keys: Set<EntryKey>?) throws(StorageFailure) -> Int {
    guard let folder = try? Folder(opening: root.sources) else { return 0 }
    var forgotten: Set<EntryKey> = []
    for name in try folder.names() {
      guard let key = name.split(separator: ".").first.flatMap({ EntryKey(hex: $0) }),
        keys?.contains(key) ?? true
      else { continue }
      unlinkat(folder.descriptor, name, 0)
      forgotten.insert(key)
    }
    if !forgotten.isEmpty { try folder.sync() }
    return forgotten.count
  }

  /// Deletes what was written before a time, of keys that nobody needs, and bodies that no note names.
  func sweep(keeping needed: Set<EntryKey>, before: Timestamp) throws(StorageFailure) {
    guard let folder = try? Folder(opening: root.sources) else { return }
    for name in try folder.names() {
      let parts = name.split(separator: ".")
      guard let key = parts.first.flatMap({ EntryKey(hex: $0) }),
        let status = folder.status(of: name),
        status.st_mtim.tv_sec < before.milliseconds / 1000
      else { continue }
      let isNamed = parts.count == 1 || note(key, in: folder).map { "\($0.digest)" } == parts[1]
      if !needed.contains(key) || !isNamed { unlinkat(folder.descriptor, name, 0) }
    }
  }

  private func path(_ key: EntryKey, _ digest: Digest) -> String {
    "\(root.sources)/\(key).\(digest)"
  }

  /// Nil where there is none, or it is no note of ours: then the source is asked for anew.
  private func note(
    _ key: EntryKey, in folder: Folder
  ) -> (digest: Digest, bytes: Int, record: [UInt8])? {
    let descriptor = openat(folder.descriptor, "\(key)", O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { return nil }
    let file = OwnedDescriptor(owning: descriptor)
    var text = [UInt8](repeating: 0, count: Self.mostNoteBytes)
    let count = text.withUnsafeMutableBytes { room in
      retryingInterrupts { read(file.descriptor, room.baseAddress, room.count) }
    }
    guard count > 0, let end = text[..<count].firstIndex(of: UInt8(ascii: "\n")) else { return nil }
    let words = String(decoding: text[..<end], as: UTF8.self).split(separator: " ")
    guard words.count == 2, let digest = Digest(hex: words[0]), let bytes = Int(words[1]) else {
      return nil
    }
    return (digest, bytes, Array(text[(end + 1)..<count]))
  }
}

/// What a manifest's source has sent last.
package struct KeptSource: Sendable {
  /// Of a file that nobody changes; it may be replaced by another.
  package let path: String
  package let digest: Digest
  /// As it was given.
  package let record: [UInt8]
}

extension ObjectStore {
  /// What is kept of a manifest's source; nil where nothing is.
  package func keptSource(_ key: EntryKey) async throws(StorageFailure) -> KeptSource? {
    let sources = sources
    return try await onThread(named: "store-source") { () throws(StorageFailure) in
      sources.find(key)
    }
  }

  /// Keeps a source in place of what was kept of it. It is durable when this returns.
  ///
  /// - Parameter record: what it takes to ask again; nil: it may not be kept, only read until
  ///   `forgetSource`.
  package func keepSource(
    _ source: StagedObject, record: [UInt8]?, for key: EntryKey
  ) async throws(StorageFailure) -> KeptSource {
    let sources = sources
    return try await onThread(named: "store-source") { () throws(StorageFailure) in
      try sources.keep(source, record: record, for: key)
    }
  }

  package func forgetSource(_ key: EntryKey, _ digest: Digest) async throws(StorageFailure) {
    let sources = sources
    try await onThread(named: "store-source") { () throws(StorageFailure) in
      sources.forget(key, digest)
    }
  }

  /// Deletes all that was kept of sources. Who reads one at this moment reads on.
  ///
  /// - Parameter keys: nil is all that there are.
  /// - Returns: of how many something was kept.
  package func forgetSources(_ keys: Set<EntryKey>?) async throws(StorageFailure) -> Int {
    let sources = sources
    return try await onThread(named: "store-source") { () throws(StorageFailure) in
      try sources.forget(keys)
    }
  }

  /// Deletes what was kept of sources before a time and nobody needs any more.
  package func sweepSources(
    keeping needed: Set<EntryKey>, before: Timestamp
  ) async throws(StorageFailure) {
    let sources = sources
    try await onThread(named: "store-source") { () throws(StorageFailure) in
      try sources.sweep(keeping: needed, before: before)
    }
  }

  private var sources: SourceFolder { SourceFolder(root: root, temporary: temporary) }
}
