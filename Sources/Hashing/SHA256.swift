// Hashing: SHA-256 by libcrypto, the one digest of the project: of URLs, recipes and bodies.

import CCrypto
import Vocabulary

/// A running SHA-256.
///
/// One context is reused over many messages, which halves the cost of a short one. Not Sendable: it
/// belongs to whoever feeds it.
package final class SHA256 {
  private let context: OpaquePointer
  /// Fetched once per process: a look-up of the algorithm by name costs more than hashing a URL.
  // Never changed after its creation, and libcrypto counts its references atomically.
  private nonisolated(unsafe) static let algorithm = EVP_MD_fetch(nil, "SHA256", nil)!

  package init() {
    context = EVP_MD_CTX_new()!
    reset()
  }

  deinit { EVP_MD_CTX_free(context) }

  private func reset() {
    precondition(EVP_DigestInit_ex2(context, Self.algorithm, nil) == 1, "libcrypto refuses SHA-256")
  }

  package func update(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count > 0 else { return }
    precondition(EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1)
  }

  /// Feeds the 32 bytes of another message's digest.
  package func update(_ digest: Digest) {
    let words = digest.words
    let bytes = (
      words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, words.3.bigEndian
    )
    withUnsafeBytes(of: bytes) { update($0) }
  }

  /// The digest of what was fed so far; the message goes on.
  package func digestSoFar() -> Digest {
    let copy = SHA256()
    precondition(EVP_MD_CTX_copy_ex(copy.context, context) == 1)
    return copy.finish()
  }

  /// The digest of all that was fed since the last call; the next message starts empty.
  package func finish() -> Digest {
    withUnsafeTemporaryAllocation(of: UInt64.self, capacity: 4) { out in
      precondition(EVP_DigestFinal_ex(context, out.baseAddress, nil) == 1)
      reset()
      return Digest(
        words: (out[0].bigEndian, out[1].bigEndian, out[2].bigEndian, out[3].bigEndian))
    }
  }

  package func digest(of text: some StringProtocol) -> Digest {
    var text = String(text)
    text.withUTF8 { update(UnsafeRawBufferPointer($0)) }
    return finish()
  }
}

extension Digest {
  /// The SHA-256 of a text's UTF-8. For many texts keep one `SHA256`.
  package init(of text: some StringProtocol) { self = SHA256().digest(of: text) }
}

extension EntryKey {
  package init(_ url: ItemURL, using hash: SHA256 = SHA256()) {
    self.init(hash.digest(of: url.unredactedText))
  }
}

extension RecipeKey {
  /// - Parameter limits: the job's: what another allows, or refuses, is not its word.
  package init(_ recipe: Recipe, under limits: LimitSettings) {
    self.init(Digest(of: recipe.canonicalText + limits.shapingText))
  }
}
