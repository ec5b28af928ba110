import Vocabulary

/// One original and what is to be made of it.
package struct RenderRequest: Sendable {
  /// An open descriptor, at any offset; borrowed until `render` returns. The file must not change.
  package var original: Int32
  package var limits: LimitSettings
  /// Each output is a writable descriptor of an empty file, borrowed likewise.
  package var variants: [(recipe: Recipe, output: Int32)]

  package init(
    original: Int32, limits: LimitSettings, variants: [(recipe: Recipe, output: Int32)]
  ) {
    self.original = original
    self.limits = limits
    self.variants = variants
  }
}

/// What was made of an original.
package struct Rendering: Sendable {
  package var format: ImageFormat
  /// Upright, in pixels.
  package var width: Int
  package var height: Int
  /// Of an animation; 1 for everything else.
  package var frames: Int
  /// Of an animation's first frame.
  package var placeholder: Placeholder
  /// What is odd about the original, for people.
  package var warnings: [String]
  /// In the order asked. One that failed leaves its output in any state.
  package var variants: [Result<RenderedVariant, DecodeFailure>]
}

/// A variant's file as it now is: its size was checked, nothing is synced.
package struct RenderedVariant: Sendable, Hashable {
  package var format: ImageFormat
  /// In pixels; of one frame.
  package var width: Int
  package var height: Int
  /// Whether `cover` found fewer pixels than it was to make.
  package var isCapped: Bool
  package var bytes: Int
}
