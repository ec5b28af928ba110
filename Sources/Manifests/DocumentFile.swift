import Glibc
import Hashing
import Vocabulary

/// A manifest's file, opened once: every pass reads the same one, whatever takes its name meanwhile.
final class DocumentFile: Sendable {
  let path: String
  let identity: ManifestFile.Identity
  /// -1 of what is no file.
  private let descriptor: CInt
  private let text: [UInt8]

  /// - Throws: where it is missing, not readable, or no regular file.
  init(path: String) throws(ManifestFailure) {
    self.path = path
    text = []
    // Without O_NONBLOCK the opening of a named pipe would wait for a writer.
    descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      throw .unreadable(path, systemError(errno), hint: "check the manifest's path and permissions")
    }
    guard let identity = ManifestFile.Identity(ofDescriptor: descriptor) else {
      close(descriptor)
      throw .unreadable(
        path, "is not a regular file", hint: "a manifest is read twice: save it as a file")
    }
    self.identity = identity
  }

  /// A document that is no file.
  ///
  /// - Parameter path: for messages.
  init(text: String, path: String) {
    self.path = path
    descriptor = -1
    self.text = Array(text.utf8)
    identity = ManifestFile.Identity(
      size: Int64(self.text.count), modifiedNanoseconds: 0, inode: 0)
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// - Returns: how many bytes came; 0 at the end.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(ManifestFailure)
    -> Int
  {
    if descriptor < 0 {
      let rest = text[min(offset, text.count)...].prefix(buffer.count)
      buffer.copyBytes(from: rest)
      return rest.count
    }
    while true {
      let count = pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
      if count >= 0 { return count }
      guard errno == EINTR else {
        throw .unreadable(path, systemError(errno), hint: "check the disk that holds the manifest")
      }
    }
  }

  /// - Throws: where the file is another than when it was opened: its parts may not fit together.
  func checkUnchanged() throws(ManifestFailure) {
    guard descriptor < 0 || ManifestFile.Identity(ofDescriptor: descriptor) == identity else {
      throw .unreadable(
        path, "changed while it was read",
        hint: "run again; write a manifest under another name and rename it when it is complete")
    }
  }
}

extension ManifestFile.Identity {
  /// - Returns: nil for anything but a regular file.
  init?(ofDescriptor descriptor: CInt) {
    var info = stat()
    guard fstat(descriptor, &info) == 0 else { return nil }
    self.init(info)
  }

  fileprivate init?(_ info: stat) {
    guard info.st_mode & S_IFMT == S_IFREG else { return nil }
    size = Int64(info.st_size)
    modifiedNanoseconds = Int64(info.st_mtim.tv_sec) * 1_000_000_000 + Int64(info.st_mtim.tv_nsec)
    inode = UInt64(info.st_ino)
  }

  /// - Returns: nil where there is no such regular file.
  init?(ofFileAt path: String) {
    var info = stat()
    guard stat(path, &info) == 0 else { return nil }
    self.init(info)
  }
}

extension ManifestFailure {
  fileprivate static func unreadable(
    _ path: String, _ reason: String, hint: String
  ) -> ManifestFailure {
    ManifestFailure(
      source: path, problems: [Problem(place: "", message: reason)], hint: hint)
  }
}
