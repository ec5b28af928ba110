/// What a decoder says of itself before anything else.
package struct DecoderGreeting: Sendable, Hashable {
  /// Its `Recipe.processingVersion`: another one would make other bytes than recipes say.
  package var processing: Int
  /// libvips' version: `8.14.1`.
  package var libvips: String
  /// What it can decode at all; what a job allows is less.
  package var reads: Set<ImageFormat>
  package var encoders: EncoderVersions

  package init(
    processing: Int, libvips: String, reads: Set<ImageFormat>, encoders: EncoderVersions
  ) {
    self.processing = processing
    self.libvips = libvips
    self.reads = reads
    self.encoders = encoders
  }

  package var writes: Set<ImageFormat> { Set(encoders.byFormat.keys) }
}
