import CCoding

/// Undoes a compression piece by piece: `gzip`, `deflate`, `br` or `zstd`.
///
/// libcurl can do that too, but takes a body whose encoded form has no end for whole, as long as its
/// length is the declared one.
package protocol ContentDecoder: AnyObject {
  /// Decodes until the piece is used up or the room is full: however much a piece stands for, no more of
  /// it is in memory than the caller wants.
  ///
  /// - Parameter piece: what was taken in is cut off its front. Call again while some is left, or where
  ///   the room was filled, with an empty piece if need be.
  func decode(
    _ piece: inout UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer
  ) -> Decoded

  /// The data has ended; nothing at all counts as an empty body.
  var isAtEnd: Bool { get }
}

/// What one call of a decoder gave.
package struct Decoded {
  /// Bytes at the start of the room.
  package var count = 0
  /// What comes behind them cannot be decoded.
  package var isBroken = false
}

package enum DecoderProgress: Equatable {
  case goesOn
  /// `take` wants no more.
  case stopped
  case broken
}

extension ContentDecoder {
  /// Decodes a whole piece.
  ///
  /// - Parameter take: is given decoded bytes, valid during the call; false ends it.
  package func decode(
    _ piece: UnsafeRawBufferPointer, _ take: (UnsafeRawBufferPointer) -> Bool
  ) -> DecoderProgress {
    guard !piece.isEmpty else { return .goesOn }
    var rest = piece
    return withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 16) { room in
      while true {
        let decoded = decode(&rest, into: room)
        if decoded.count > 0,
          !take(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(room)[..<decoded.count]))
        {
          return .stopped
        }
        if decoded.isBroken { return .broken }
        if rest.isEmpty, decoded.count < room.count { return .goesOn }
      }
    }
  }
}

package enum ContentCoding: String, Sendable {
  case gzip, deflate
  case brotli = "br"
  case zstd

  package init?(name: String) {
    switch name {
    case "gzip", "x-gzip": self = .gzip
    default: self.init(rawValue: name)
    }
  }

  package func decoder() -> any ContentDecoder {
    switch self {
    case .gzip: ZlibDecoder(.gzip)
    case .deflate: ZlibDecoder(.deflate)
    case .brotli: BrotliDecoder()
    case .zstd: ZstdDecoder()
    }
  }
}

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
    _ piece: inout UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer
  ) -> Decoded {
    if let first = piece.first {
      guard open(firstByte: first), !isBetweenMembers || beginMember() else {
        return Decoded(isBroken: true)
      }
    } else if isBetweenMembers {
      return Decoded()
    }
    stream.pointee.next_in = UnsafeMutablePointer(
      mutating: piece.baseAddress?.assumingMemoryBound(to: UInt8.self))
    stream.pointee.avail_in = UInt32(piece.count)
    stream.pointee.next_out = room.baseAddress!.assumingMemoryBound(to: UInt8.self)
    stream.pointee.avail_out = UInt32(room.count)
    let result = inflate(stream, Z_NO_FLUSH)
    piece = UnsafeRawBufferPointer(rebasing: piece.suffix(Int(stream.pointee.avail_in)))
    var decoded = Decoded(count: room.count - Int(stream.pointee.avail_out))
    switch result {
    case Z_OK, Z_BUF_ERROR: break
    case Z_STREAM_END: isBetweenMembers = true
    default: decoded.isBroken = true
    }
    return decoded
  }

  private func open(firstByte: UInt8) -> Bool {
    guard !isOpen else { return true }
    let hasHeader = firstByte & 0x0F == 8 && firstByte >> 4 <= 7
    let windowBits: CInt = form == .gzip ? 15 + 16 : hasHeader ? 15 : -15
    isOpen =
      inflateInit2_(stream, windowBits, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size)) == Z_OK
    return isOpen
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
    _ piece: inout UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer
  ) -> Decoded {
    if isAtEnd, hasBegun || piece.isEmpty { return Decoded(isBroken: !piece.isEmpty) }
    hasBegun = true
    var next: UnsafePointer<UInt8>? = piece.baseAddress?.assumingMemoryBound(to: UInt8.self)
    var left = piece.count
    var out: UnsafeMutablePointer<UInt8>? = room.baseAddress!.assumingMemoryBound(to: UInt8.self)
    var free = room.count
    let result = BrotliDecoderDecompressStream(state, &left, &next, &free, &out, nil)
    piece = UnsafeRawBufferPointer(rebasing: piece.suffix(left))
    return Decoded(count: room.count - free, isBroken: result == BROTLI_DECODER_RESULT_ERROR)
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
    _ piece: inout UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer
  ) -> Decoded {
    if piece.isEmpty, isAtEnd { return Decoded() }
    var input = ZSTD_inBuffer(src: piece.baseAddress, size: piece.count, pos: 0)
    var output = ZSTD_outBuffer(dst: room.baseAddress, size: room.count, pos: 0)
    let result = ZSTD_decompressStream(context, &output, &input)
    piece = UnsafeRawBufferPointer(rebasing: piece[input.pos...])
    guard ZSTD_isError(result) == 0 else { return Decoded(count: output.pos, isBroken: true) }
    isAtEnd = result == 0
    return Decoded(count: output.pos)
  }
}
