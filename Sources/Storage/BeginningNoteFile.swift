import Glibc
import Vocabulary

/// The note of a temporary file, open for more marks. Its name is that of the file, a dot and the key
/// under which it is to be found.
final class BeginningNoteFile: Sendable {
  let name: String
  private let descriptor: OwnedDescriptor
  private let folder: Folder

  /// Writes a new one; nil where the disk will not have it: then the beginning is lost, and no more.
  init?(of file: String, in folder: Folder, for key: EntryKey, record: [UInt8]) {
    name = "\(file).\(key)"
    self.folder = folder
    let descriptor = openat(
      folder.descriptor, name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return nil }
    self.descriptor = OwnedDescriptor(owning: descriptor)
    guard write(BeginningNote.text(of: record)) else {
      remove()
      return nil
    }
  }

  /// Goes on with one that was taken over.
  init(name: String, in folder: Folder, descriptor: OwnedDescriptor) {
    self.name = name
    self.folder = folder
    self.descriptor = descriptor
  }

  /// A mark that was not written is one that the reader does not believe in.
  func mark(_ bytes: Int, _ digest: Digest) {
    _ = write(BeginningNote.text(ofMark: bytes, digest))
  }

  private func write(_ text: [UInt8]) -> Bool {
    text.withUnsafeBytes { bytes in
      retryingInterrupts {
        Glibc.write(descriptor.descriptor, bytes.baseAddress, bytes.count)
      } == bytes.count
    }
  }

  func remove() { unlinkat(folder.descriptor, name, 0) }
}
