/// What a decoder has done and taken since it started.
struct DecoderUse {
  var images = 0
  /// After its first image.
  private var firstHeldBytes: Int?
  private var heldBytes = 0
  private var processorMilliseconds = 0

  static let mostImages = 500
  /// Bytes that it holds beyond what it held after its first image.
  private static let mostGrowth = 64 << 20
  /// Half of the CPU time that its own limit allows.
  private static let mostProcessorMilliseconds = 1_800_000

  /// What it said after an image.
  mutating func note(heldBytes: Int, processorMilliseconds: Int) {
    self.heldBytes = heldBytes
    firstHeldBytes = firstHeldBytes ?? heldBytes
    self.processorMilliseconds = processorMilliseconds
  }

  /// Old memory is where leaks and other people's pixels are: a fresh one costs a third of a second.
  var isWornOut: Bool {
    images >= Self.mostImages || heldBytes - (firstHeldBytes ?? 0) > Self.mostGrowth
      || processorMilliseconds > Self.mostProcessorMilliseconds
  }
}
