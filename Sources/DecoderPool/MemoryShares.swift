/// How `limits.memory` is shared out: a fixed part to each decoder, the rest to whatever is decoded.
struct MemoryShares {
  /// Of one decoder: libvips, its threads and its codecs' tables once they are warm, and what reading
  /// a picture's header takes before it is known what the picture needs.
  static let ownMemory = 48 << 20
  static let headerMemory = 16 << 20

  private static let perDecoder = ownMemory + headerMemory

  /// How many decoders there can be: at least half of the memory is for pictures.
  let decoders: Int
  /// Bytes for all pictures that are decoded at once.
  let room: Int

  /// - Parameters:
  ///   - wanted: 1 or more.
  ///   - memory: `limits.memory`, in bytes; the least that a manifest may say is one decoder's and as
  ///     much again.
  init(decoders wanted: Int, memory: Int) {
    decoders = max(1, min(wanted, memory / (2 * Self.perDecoder)))
    room = max(memory - decoders * Self.perDecoder, Self.perDecoder)
  }
}
