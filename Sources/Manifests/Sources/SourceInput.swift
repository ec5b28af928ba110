import Decompression
import Glibc
import Hashing
import Vocabulary

/// The bytes of a file or a pipe, a piece at a time, decompressed where they are gzip or Zstandard.
///
/// Holds two pieces, whatever a compressed one stands for. Blocks; a pipe that brings nothing is looked
/// at five times a second, so that it can be given up.
final class SourceInput {
  private static let pieceBytes = 64 << 10
  /// What is decompressed without a question; beyond, it must not be more than `mostRatio` times what it
  /// was made of. Lists of URLs come to a tenth of that.
  private static let freeBytes = 64 << 20
  private static let mostRatio = 250

  private let descriptor: CInt
  private let ownsDescriptor: Bool
  private let shown: String
  private let isCancelled: @Sendable () -> Bool
  private let raw = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceBytes, alignment: 16)
  private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceBytes, alignment: 16)
  private let hash = SHA256()
  private var decoder: (any ContentDecoder)?
  /// Of `raw`: what the decoder has not taken.
  private var rest = UnsafeRawBufferPointer(start: nil, count: 0)
  private var wasFull = false
  private var rawBytes = 0
  private var decodedBytes = 0
  /// Of a regular file, before its first byte was read; nil of a pipe.
  let identity: ManifestFile.Identity?

  /// - Parameter isCancelled: asked between pieces, and while a pipe brings nothing.
  init(
    path: String?, shown: String, isCancelled: @escaping @Sendable () -> Bool
  ) throws(SourceFailure) {
    self.shown = shown
    self.isCancelled = isCancelled
    ownsDescriptor = path != nil
    if let path {
      // Without O_NONBLOCK the opening of a named pipe would wait for a writer.
      descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
      guard descriptor >= 0 else {
        throw SourceFailure(
          shown, systemError(errno), hint: "check the source's path and permissions")
      }
    } else {
      descriptor = STDIN_FILENO
    }
    identity = ManifestFile.Identity(ofDescriptor: descriptor)
  }

  deinit {
    raw.deallocate()
    room.deallocate()
    if ownsDescriptor { close(descriptor) }
  }

  /// Whether the next piece has to be waited for.
  var hasPaused: Bool { rest.isEmpty && !wasFull && identity == nil && !hasInput(within: 0) }

  /// Of all raw bytes; when all were read.
  func digest() -> Digest { hash.finish() }

  /// - Returns: lent until the next call; empty at the end.
  func next() throws(SourceFailure) -> UnsafeRawBufferPointer {
    if rawBytes == 0 { try begin() }
    guard decoder != nil else {
      let piece = rest.isEmpty ? try read(most: Self.pieceBytes) : rest
      rest = UnsafeRawBufferPointer(start: nil, count: 0)
      return piece
    }
    return try decoded()
  }

  /// Reads enough to know what it is.
  private func begin() throws(SourceFailure) {
    var count = 0
    while count < 4 {
      let more = try read(into: UnsafeMutableRawBufferPointer(rebasing: raw[count...]))
      if more == 0 { break }
      count += more
    }
    rest = UnsafeRawBufferPointer(rebasing: raw[..<count])
    if rest.starts(with: [0x1F, 0x8B]) {
      decoder = ContentCoding.gzip.decoder()
    } else if rest.starts(with: [0x28, 0xB5, 0x2F, 0xFD]) {
      decoder = ContentCoding.zstd.decoder()
    }
  }

  private func decoded() throws(SourceFailure) -> UnsafeRawBufferPointer {
    while true {
      if rest.isEmpty, !wasFull {
        rest = try read(most: Self.pieceBytes)
        if rest.isEmpty {
          guard decoder!.isAtEnd else {
            throw SourceFailure(shown, "its compressed data ends too early")
          }
          return rest
        }
      }
      let step = decoder!.decode(&rest, into: room)
      decodedBytes += step.count
      guard !step.isBroken else { throw SourceFailure(shown, "its compressed data is damaged") }
      guard decodedBytes <= max(Self.freeBytes, Self.mostRatio * rawBytes) else {
        throw SourceFailure(
          shown, "it decompresses to over \(Self.mostRatio) times its size",
          hint: "that is no list of pictures; if it is, decompress it first")
      }
      wasFull = step.count == room.count
      if step.count > 0 { return UnsafeRawBufferPointer(rebasing: room[..<step.count]) }
    }
  }

  private func read(most: Int) throws(SourceFailure) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: raw[..<(try read(into: raw))])
  }

  /// - Returns: how many bytes came; 0 at the end, where a file is seen to be the same as before.
  private func read(into buffer: UnsafeMutableRawBufferPointer) throws(SourceFailure) -> Int {
    while true {
      if isCancelled() { throw SourceFailure(shown, "its reading was given up", hint: "") }
      if identity == nil, !hasInput(within: 200) { continue }
      let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
      if count > 0 {
        hash.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        rawBytes += count
        return count
      }
      if count == 0 {
        guard identity == ManifestFile.Identity(ofDescriptor: descriptor) else {
          throw SourceFailure(
            shown, "it changed while it was read",
            hint: "write it under another name and rename it when it is complete")
        }
        return 0
      }
      guard errno == EINTR || errno == EAGAIN else {
        throw SourceFailure(shown, systemError(errno), hint: "check the disk that holds it")
      }
    }
  }

  private func hasInput(within milliseconds: CInt) -> Bool {
    var look = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&look, 1, milliseconds) > 0
  }
}

func systemError(_ number: CInt) -> String { String(cString: strerror(number)) }
