/// What a picture takes, as estimated from its header, in bytes.
package struct MemoryNeed: Sendable, Hashable {
  /// For decoding it and making its variants.
  package var decoding: Int
  /// For the largest variant's file.
  package var output: Int

  package init(decoding: Int, output: Int) {
    self.decoding = decoding
    self.output = output
  }
}
