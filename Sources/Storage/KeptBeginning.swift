import Glibc
import Hashing
import Vocabulary

/// The beginning of a body that an earlier transfer left, looked through and owned by whoever has it.
// Unchecked: made on one thread and given away; only its receiver feeds the hash.
package final class KeptBeginning: @unchecked Sendable {
  /// Ends with the last byte that is certain, and takes those that follow.
  package let file: TemporaryFile
  package let bytes: Int
  /// Was fed those bytes.
  package let hash: SHA256
  /// As it was noted.
  package let record: [UInt8]

  /// Reads the file against its note, and cuts both behind the last mark whose digest is right.
  ///
  /// - Returns: nil where no byte is certain.
  init?(_ file: TemporaryFile, note: BeginningNote, file noteFile: OwnedDescriptor) {
    let good = Self.lastRightMark(of: note, file.descriptor)
    guard let good, let hash = Self.hash(of: good, file.descriptor),
      ftruncate(file.descriptor, off_t(good.bytes)) == 0,
      lseek(file.descriptor, 0, SEEK_END) == off_t(good.bytes),
      ftruncate(noteFile.descriptor, off_t(good.noteBytes)) == 0
    else { return nil }
    self.file = file
    self.hash = hash
    bytes = good.bytes
    record = note.record
  }

  private static func lastRightMark(
    of note: BeginningNote, _ descriptor: Int32
  ) -> BeginningNote.Mark? {
    let hash = SHA256()
    var last: BeginningNote.Mark?
    for mark in note.marks {
      guard hash.read(descriptor, from: last?.bytes ?? 0, to: mark.bytes),
        hash.digestSoFar() == mark.digest
      else { break }
      last = mark
    }
    return last
  }

  private static func hash(of mark: BeginningNote.Mark, _ descriptor: Int32) -> SHA256? {
    let hash = SHA256()
    return hash.read(descriptor, from: 0, to: mark.bytes) ? hash : nil
  }
}

extension SHA256 {
  /// - Returns: false where the file is shorter, or cannot be read.
  fileprivate func read(_ descriptor: Int32, from start: Int, to end: Int) -> Bool {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 128 << 10, alignment: 16)
    defer { buffer.deallocate() }
    var offset = start
    while offset < end {
      let count = retryingInterrupts {
        pread(descriptor, buffer.baseAddress, min(buffer.count, end - offset), off_t(offset))
      }
      guard count > 0 else { return false }
      update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      offset += count
    }
    return true
  }
}

extension TemporaryFolder {
  /// Takes over what was kept for a key. Reads all of it.
  ///
  /// - Returns: nil where there is none, or none that is right; what is wrong is deleted.
  func takeBeginning(_ key: EntryKey, from kept: BeginningFolder) -> KeptBeginning? {
    while let name = kept.take(key, to: folder, newName: nextName) {
      if let beginning = openBeginning(name, key) { return beginning }
      for left in [name, "\(name).\(key)"] { unlinkat(folder.descriptor, left, 0) }
    }
    return nil
  }

  private func openBeginning(_ name: String, _ key: EntryKey) -> KeptBeginning? {
    let noteName = "\(name).\(key)"
    guard let noteFile = folder.openRegularFile(noteName, O_RDWR | O_APPEND),
      let note = noteFile.contents(most: 4 << 20).flatMap(BeginningNote.init),
      let body = folder.openRegularFile(name, O_RDWR)
    else { return nil }
    let file = TemporaryFile(
      named: name, descriptor: body, in: self,
      note: BeginningNoteFile(name: noteName, in: folder, descriptor: noteFile))
    return KeptBeginning(file, note: note, file: noteFile)
  }
}

extension Folder {
  /// Never through a symbolic link, and never one that would have to be waited for.
  fileprivate func openRegularFile(_ name: String, _ flags: CInt) -> OwnedDescriptor? {
    let opened = openat(descriptor, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard opened >= 0 else { return nil }
    let file = OwnedDescriptor(owning: opened)
    var status = stat()
    return fstat(opened, &status) == 0 && status.isRegularFile ? file : nil
  }
}

extension OwnedDescriptor {
  /// - Returns: nil where it is longer, or cannot be read.
  fileprivate func contents(most: Int) -> [UInt8]? {
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_size <= most else { return nil }
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
    let count = retryingInterrupts { pread(descriptor, &bytes, bytes.count, 0) }
    return count == bytes.count ? bytes : nil
  }
}
