import DecoderWire
import Synchronization
import Vocabulary

/// What all decoders of a pool are: what the first one said.
final class DecoderKin: Sendable {
  private let first = Mutex<DecoderGreeting?>(nil)

  /// - Throws: where a decoder is another than those before it: what it makes would be kept under
  ///   recipes that it does not follow.
  func admit(_ greeting: DecoderGreeting) throws(DecodeFailure) {
    let expected = first.withLock { first in
      first = first ?? greeting
      return first!
    }
    guard greeting == expected else {
      throw DecodeFailure(
        .decoderUnavailable,
        "libvips or one of its encoders was replaced while this program ran: "
          + "\(expected.libvips) by \(greeting.libvips)")
    }
  }
}
