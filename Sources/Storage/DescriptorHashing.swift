import Glibc
import Hashing
import Vocabulary

/// The SHA-256 and the length of a file's bytes.
struct HashedFile: Sendable {
  let digest: Digest
  let bytes: Int

  /// Reads the whole file from its start and leaves the descriptor's offset where it is: another process
  /// may share it.
  init(of descriptor: Int32) throws(StorageFailure) {
    let hash = SHA256()
    var total = 0
    try forEachChunk(of: descriptor, path: "descriptor \(descriptor)") { bytes in
      hash.update(bytes)
      total += bytes.count
    }
    digest = hash.finish()
    bytes = total
  }
}

/// Reads a file from its start to its end, 128 KiB at a time.
func forEachChunk(
  of descriptor: Int32, path: String,
  _ body: (UnsafeRawBufferPointer) throws(StorageFailure) -> Void
) throws(StorageFailure) {
  let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 128 << 10, alignment: 16)
  defer { buffer.deallocate() }
  var offset = 0
  while true {
    let count = retryingInterrupts {
      pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
    }
    guard count >= 0 else { throw StorageFailure(errno: errno, "read", path) }
    if count == 0 { return }
    try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    offset += count
  }
}
