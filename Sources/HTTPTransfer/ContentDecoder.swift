import CCoding
import Vocabulary

/// Undoes a content coding piece by piece: `gzip`, `deflate`, `br` or `zstd`.
///
/// libcurl can do that too, but takes a body whose encoded form has no end for whole, as long as its
/// length is the declared one.
protocol ContentDecoder: AnyObject {
  /// - Parameter take: is given decoded bytes, valid during the call; false ends it.
  func decode(
    _ piece: UnsafeRawBufferPointer, _ take: (UnsafeRawBufferPointer) -> Bool
  ) -> DecoderProgress

  /// The data has ended; nothing at all counts as an empty body.
  var isAtEnd: Bool { get }
}

enum DecoderProgress: Equatable {
  case goesOn
  /// `take` wants no more.
  case stopped
  case broken
}

enum ContentCoding: String {
  case gzip, deflate
  case brotli = "br"
  case zstd

  init?(name: String) {
    switch name {
    case "gzip", "x-gzip": self = .gzip
    default: self.init(rawValue: name)
    }
  }

  func decoder() -> any ContentDecoder {
    switch self {
    case .gzip: ZlibDecoder(.gzip)
    case .deflate: ZlibDecoder(.deflate)
    case .brotli: BrotliDecoder()
    case .zstd: ZstdDecoder()
    }
  }
}

/// Room for what one call of a decoder gives.
private let outputBytes = 64 << 10

/// `gzip`, of several members too (RFC 1952 §2.2), and `deflate`, with the zlib header that it should
/// have (RFC 9110 §8.4.1.2) and without.
private final class ZlibDecoder: ContentDecoder {
  enum Form { case gzip, deflate }

  private let form: Form
  // On the heap: zlib keeps its address.
  private let stream: UnsafeMutablePointer<z_stream>
  private var isOpen = false
  private var isBetweenMembers = true

  init(_ form: Form) {
    self.form = form
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
  }

  deinit {
    if isOpen { inflateEnd(stream) }
    stream.deallocate()
  }

  var isAtEnd: Bool { isBetweenMembers }

  func decode(
    _ piece: UnsafeRawBufferPointer, _ take: (UnsafeRawBufferPointer) -> Bool
  ) -> DecoderProgress {
    guard !piece.isEmpty else { return .goesOn }
    guard open(firstByte: piece[0]) else { return .broken }
    stream.pointee.next_in = UnsafeMutablePointer(
      mutating: piece.baseAddress!.assumingMemoryBound(to: UInt8.self))
    stream.pointee.avail_in = UInt32(piece.count)
    return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: outputBytes) { room in
      inflateAll(into: room, take)
    }
  }

  private func open(firstByte: UInt8) -> Bool {
    guard !isOpen else { return true }
    let hasHeader = firstByte & 0x0F == 8 && firstByte >> 4 <= 7
    let windowBits: CInt = form == .gzip ? 15 + 16 : hasHeader ? 15 : -15
    isOpen =
      inflateInit2_(stream, windowBits, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size)) == Z_OK
    return isOpen
  }

  private func inflateAll(
    into room: UnsafeMutableBufferPointer<UInt8>, _ take: (UnsafeRawBufferPointer) -> Bool
  ) -> DecoderProgress {
    repeat {
      if isBetweenMembers, !beginMember() { return .broken }
      stream.pointee.next_out = room.baseAddress
      stream.pointee.avail_out = UInt32(room.count)
      let result = inflate(stream, Z_NO_FLUSH)
      let count = room.count - Int(stream.pointee.avail_out)
      if count > 0, !take(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(room)[..<count]))
      {
        return .stopped
      }
      switch result {
      case Z_OK, Z_BUF_ERROR: break
      case Z_STREAM_END: isBetweenMembers = true
      default: return .broken
      }
    } while stream.pointee.avail_in > 0 || stream.pointee.avail_out == 0 && !isBetweenMembers
    return .goesOn
  }

  /// - Returns: false where nothing may follow.
  private func beginMember() -> Bool {
    guard stream.pointee.total_in > 0 else {
      isBetweenMembers = false
      return true
    }
    guard form == .gzip, inflateReset(stream) == Z_OK else { return false }
    isBetweenMembers = false
    return true
  }
}

private final class BrotliDecoder: ContentDecoder {
  private let state = BrotliDecoderCreateInstance(nil, nil, nil)
  private var hasBegun = false

  deinit { BrotliDecoderDestroyInstance(state) }

  var isAtEnd: Bool { !hasBegun || BrotliDecoderIsFinished(state) != 0 }

  func decode(
    _ piece: UnsafeRawBufferPointer, _ take: (UnsafeRawBufferPointer) -> Bool
  ) -> DecoderProgress {
    guard !piece.isEmpty else { return .goesOn }
    guard !(hasBegun && isAtEnd) else { return .broken }
    hasBegun = true
    var next: UnsafePointer<UInt8>? = piece.baseAddress!.assumingMemoryBound(to: UInt8.self)
    var left = piece.count
    return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: outputBytes) { room in
      while true {
        var out = room.baseAddress
        var free = room.count
        let result = BrotliDecoderDecompressStream(state, &left, &next, &free, &out, nil)
        let decoded = UnsafeRawBufferPointer(room)[..<(room.count - free)]
        if !decoded.isEmpty, !take(UnsafeRawBufferPointer(rebasing: decoded)) { return .stopped }
        switch result {
        case BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT: continue
        case BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT: return .goesOn
        case BROTLI_DECODER_RESULT_SUCCESS: return left == 0 ? .goesOn : .broken
        default: return .broken
        }
      }
    }
  }
}

/// Frames one after another; with a window of at most 8 MiB (RFC 8878 §3.1.1.1.2), since it is memory
/// that a stranger asks for.
private final class ZstdDecoder: ContentDecoder {
  private let context = ZSTD_createDCtx()
  private(set) var isAtEnd = true

  init() { ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, 23) }

  deinit { ZSTD_freeDCtx(context) }

  func decode(
    _ piece: UnsafeRawBufferPointer, _ take: (UnsafeRawBufferPointer) -> Bool
  ) -> DecoderProgress {
    guard !piece.isEmpty else { return .goesOn }
    var input = ZSTD_inBuffer(src: piece.baseAddress, size: piece.count, pos: 0)
    return withUnsafeTemporaryAllocation(byteCount: outputBytes, alignment: 1) { room in
      var isFull = false
      while input.pos < input.size || isFull {
        var output = ZSTD_outBuffer(dst: room.baseAddress, size: room.count, pos: 0)
        let result = ZSTD_decompressStream(context, &output, &input)
        guard ZSTD_isError(result) == 0 else { return .broken }
        isAtEnd = result == 0
        isFull = output.pos == output.size && !isAtEnd
        let decoded = UnsafeRawBufferPointer(room)[..<output.pos]
        if !decoded.isEmpty, !take(UnsafeRawBufferPointer(rebasing: decoded)) { return .stopped }
      }
      return .goesOn
    }
  }
}
