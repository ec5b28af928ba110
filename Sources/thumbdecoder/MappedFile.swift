import Glibc
import Imaging

/// An original as memory, without a copy and whatever the descriptor's offset.
///
/// Nobody changes an original once it is written, so that the mapping never loses its ground.
struct MappedFile {
  let descriptor: Int32

  func withBytes<Result>(
    _ body: (UnsafeRawBufferPointer) throws(ImagingFailure) -> Result
  ) throws(ImagingFailure) -> Result {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      throw ImagingFailure(.corrupt, "the original cannot be read: \(reason)")
    }
    let count = Int(status.st_size)
    guard count > 0 else { return try body(UnsafeRawBufferPointer(start: nil, count: 0)) }
    guard let start = mmap(nil, count, PROT_READ, MAP_PRIVATE, descriptor, 0), start != MAP_FAILED
    else { throw ImagingFailure(.memory, "the original cannot be mapped: \(reason)") }
    defer { munmap(start, count) }
    return try body(UnsafeRawBufferPointer(start: start, count: count))
  }

  private var reason: String { String(cString: strerror(errno)) }
}
