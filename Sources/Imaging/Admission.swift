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

  /// Those of an estimate's recipes that alone would take more than there ever is.
  private(set) var unaffordable: Set<Recipe> = []

  /// May be called again when more is known: what is refused is refused by what was said last.
  ///
  /// - Parameter estimate: of all recipes; those that alone can never be afforded are left out, unless
  ///   none can.
  /// - Throws: where it would never be granted.
  func admit(_ estimate: MemoryEstimate) throws(ImagingFailure) {
    let need = affordable(estimate).need
    guard isAffordable(need) else {
      throw ImagingFailure(
        .memory,
        "decoding \(estimate.size) pixels needs about \(ByteSizeText.format(need.decoding)); "
          + "there are \(ByteSizeText.format(limits.maxMemory)) for all pictures")
    }
    guard !isAdmitted else { return }
    admit(need)
    isAdmitted = true
  }

  private func affordable(_ estimate: MemoryEstimate) -> MemoryEstimate {
    guard !isAffordable(estimate.need) else { return estimate }
    let possible = estimate.recipes.filter { isAffordable(estimate.making([$0]).need) }
    guard !possible.isEmpty else { return estimate }
    unaffordable = Set(estimate.recipes).subtracting(possible)
    return estimate.making(possible)
  }

  private func isAffordable(_ need: ImagingNeed) -> Bool {
    need.decoding + need.output <= limits.maxMemory
  }
}
