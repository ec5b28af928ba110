import Glibc
import Synchronization
import Vocabulary

/// A file in `tmp/` that may become an object.
///
/// It disappears when nobody holds it any more, unless it was committed. Its descriptor stays open until
/// then: after the commit it may still be read, but never written.
package final class TemporaryFile: Sendable {
  private enum Fate { case undecided, committed, discarded, kept }

  /// Open for reading and writing.
  package let descriptor: Int32
  let name: String
  private let home: TemporaryFolder
  private let fate = Mutex(Fate.undecided)
  /// The object that took this file's place, with its lock.
  private let lock = Mutex<OwnedDescriptor?>(nil)
  /// What its body may still take of the disk; nil for files that are written elsewhere.
  private let promise = Mutex<SpacePromise?>(nil)
  /// Up to where its bytes are right, should nobody finish it.
  private let note: Mutex<BeginningNoteFile?>

  init(in home: TemporaryFolder) throws(StorageFailure) {
    self.home = home
    name = home.nextName()
    descriptor = openat(
      home.folder.descriptor, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else {
      throw StorageFailure(errno: errno, "make", home.folder.path + "/" + name)
    }
    note = Mutex(nil)
    // The umask may be strict, and a web server is another user.
    fchmod(descriptor, 0o644)
  }

  /// Takes over one that another store has begun.
  init(
    named name: String, descriptor taken: OwnedDescriptor, in home: TemporaryFolder,
    note: BeginningNoteFile
  ) {
    self.home = home
    self.name = name
    descriptor = dup(taken.descriptor)
    self.note = Mutex(note)
  }

  deinit {
    discard()
    close(descriptor)
  }

  /// For messages.
  var path: String { home.folder.path + "/" + name }
  /// Where `name` is looked up.
  var folder: Folder { home.folder }

  /// Appends; a file that was only written to by this has all bytes or the call throws.
  package func write(_ bytes: UnsafeRawBufferPointer) throws(StorageFailure) {
    if let promise = promise.withLock({ $0 }) { try promise.use(bytes.count) }
    var rest = bytes[...]
    while !rest.isEmpty {
      let part = UnsafeRawBufferPointer(rebasing: rest)
      let written = retryingInterrupts { Glibc.write(descriptor, part.baseAddress, part.count) }
      guard written >= 0 else { throw StorageFailure(errno: errno, "write", path) }
      rest = rest.dropFirst(written)
    }
  }

  /// Notes up to where its bytes are right, so that they can be found under a key even if this process is
  /// killed. Writes some bytes to a small file; may be called on any thread.
  ///
  /// - Parameters:
  ///   - digest: SHA-256 of the first `bytes` bytes.
  ///   - record: what else it takes to go on; written once, with the first note.
  package func note(_ bytes: Int, _ digest: Digest, for key: EntryKey, record: () -> [UInt8]) {
    note.withLock { note in
      if note == nil {
        note = BeginningNoteFile(of: name, in: home.folder, for: key, record: record())
      }
      note?.mark(bytes, digest)
    }
  }

  /// Leaves the file to whoever asks for the key it was noted under; it must not be written any more.
  /// Without a note it does nothing, and the file goes.
  func keep(for key: EntryKey, in folder: BeginningFolder) {
    guard let noteName = note.withLock({ $0?.name }), decide(.kept) else { return }
    folder.put(name, noteName, for: key, from: home.folder)
  }

  /// - Returns: false where it was decided before.
  private func decide(_ new: Fate) -> Bool {
    fate.withLock { fate in
      guard fate == .undecided else { return false }
      fate = new
      return true
    }
  }

  /// Takes its name away; the bytes go when the descriptor is closed. Does nothing after a commit.
  package func discard() {
    guard decide(.discarded) else { return }
    unlinkat(home.folder.descriptor, name, 0)
    note.withLock { $0?.remove() }
  }

  /// What it writes comes out of this from now on.
  func draw(on promise: SpacePromise) { self.promise.withLock { $0 = promise } }

  /// Holds the lock of an equal object as long as this file lives.
  func keep(_ lock: OwnedDescriptor) { self.lock.withLock { $0 = lock } }

  /// The name in `tmp/` is no longer needed: the object has its own.
  func becomeCommitted() {
    fate.withLock { $0 = .committed }
    unlinkat(home.folder.descriptor, name, 0)
    note.withLock { $0?.remove() }
  }
}

/// A written file with the name that it is to get.
package struct StagedObject: Sendable {
  package var file: TemporaryFile
  /// Of all its bytes.
  package var digest: Digest
  /// One or more.
  package var bytes: Int

  package init(file: TemporaryFile, digest: Digest, bytes: Int) {
    self.file = file
    self.digest = digest
    self.bytes = bytes
  }
}
