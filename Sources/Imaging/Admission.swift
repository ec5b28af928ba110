import Vocabulary

/// Asks for an image's memory before it is decoded, once however often its file is read.
final class Admission {
  private let limits: ImagingLimits
  private let admit: (ImagingNeed) -> Void
  private var isAdmitted = false

  init(limits: ImagingLimits, admit: @escaping (ImagingNeed) -> Void) {
    self.limits = limits
    self.admit = admit
  }

  /// - Throws: where it would never be granted.
  func admit(_ estimate: MemoryEstimate) throws(ImagingFailure) {
    guard !isAdmitted else { return }
    let need = estimate.need
    guard need.decoding + need.output <= limits.maxMemory else {
      throw ImagingFailure(
        .memory,
        "decoding \(estimate.size) pixels needs about \(ByteSizeText.format(need.decoding)); "
          + "there are \(ByteSizeText.format(limits.maxMemory)) for all pictures")
    }
    admit(need)
    isAdmitted = true
  }
}
