import CUnix
import Glibc

/// Memory that a decoder writes one variant after the other into, as a file without a name.
///
/// A decoder that was taken over writes to it whenever it likes: that must not reach a file that has
/// been hashed. So it never has the file itself. It is emptied after each variant, and how large it may
/// become is a limit of the decoder's.
package final class OutputRoom: Sendable {
  /// An error of the system.
  package struct Failure: Error, Sendable, Equatable {
    package var errorNumber: Int32
  }

  package let descriptor: Int32

  package init() throws(Failure) {
    let file = tw_memory_file("variant")
    guard file >= 0 else { throw Failure(errorNumber: errno) }
    defer { close(file) }
    // Above what a decoder inherits, so that giving it its descriptors never overwrites this one.
    descriptor = fcntl(file, F_DUPFD_CLOEXEC, Wire.outputDescriptor + 1)
    guard descriptor >= 0 else { throw Failure(errorNumber: errno) }
  }

  deinit { close(descriptor) }

  /// How much was written into it.
  package var count: Int {
    var status = stat()
    return fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0
  }

  /// Appends what is in it to a file.
  ///
  /// - Throws: where the file takes no more; EPIPE where there are no longer so many bytes in it.
  package func copy(_ count: Int, to file: Int32) throws(Failure) {
    var chunk = [UInt8](repeating: 0, count: min(count, 128 << 10))
    var done = 0
    while done < count {
      let got = pread(descriptor, &chunk, min(chunk.count, count - done), off_t(done))
      guard got > 0 else { throw Failure(errorNumber: got == 0 ? EPIPE : errno) }
      try write(chunk[..<got], to: file)
      done += got
    }
  }

  /// Gives its memory back.
  package func empty() { ftruncate(descriptor, 0) }

  private func write(_ bytes: ArraySlice<UInt8>, to file: Int32) throws(Failure) {
    var rest = bytes
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        throw Failure(errorNumber: errno)
      }
    }
  }
}
