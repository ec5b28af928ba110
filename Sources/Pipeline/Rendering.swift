import DecoderPool
import Hashing
import LedgerCore
import Storage
import Threading
import Vocabulary

/// Which variants of an original are there, and what had to be made for it.
struct RenderedOriginal: Sendable {
  /// With the format and size that the decoder told.
  var original: Original
  /// Everything wanted, by recipe.
  var variants: [RecipeKey: VariantRecord] = [:]
  /// Those of `variants` that are new to the ledger.
  var new: [VariantRecord] = []
  /// Files that were committed for it: the ledger may name them.
  var staged: [StagedObject] = []
  var warnings: [String] = []
  /// Why something could not be made that another try may make: no fault of the bytes.
  var passingFailure: FailureRecord?

  /// Whether a variant that the ledger names was not in the store.
  var hasLostFiles = false
  /// How many variants this claim has made; those that another had made are not among them.
  var madeCount = 0
  /// Whether others may wait for it at the desk.
  var isAtDesk = false
}

/// Makes the variants that are missing, all of one original from one decode.
struct Rendering {
  let worker: Worker
  let limits: LimitSettings
  let retriesFailed: Bool
  let desk: RenderingDesk

  /// Of one original: the rest says no more.
  private static let mostWarnings = 10

  enum Failure: Error {
    /// The bytes are no image: nothing of them is kept.
    case notAnImage(FailureRecord)
    /// The original was there when its server confirmed it, and was removed since, as by a purge.
    case originalHasGone
    case stop(RunStop)
  }

  /// - Parameter wanted: the recipes that the items ask for, each once.
  func render(
    _ bytes: WalkResult.Bytes, wanted: [RecipeKey: Recipe]
  ) async throws(Failure) -> RenderedOriginal {
    if bytes.wereReceived { CrashSeam.bodyReceived.reached() }
    var result = RenderedOriginal(original: bytes.original)
    try await lookUp(wanted, into: &result)
    if !bytes.wereReceived, result.variants.count == wanted.count { return result }
    let original = bytes.original.digest
    let made = await desk.begin(original)
    do throws(Failure) {
      try await complete(&result, made: made, bytes, wanted)
    } catch {
      desk.end(original, made: nil)
      desk.leave(original)
      throw error
    }
    desk.end(original, made: result)
    result.isAtDesk = true
    return result
  }

  private func complete(
    _ result: inout RenderedOriginal, made: RenderedOriginal?, _ bytes: WalkResult.Bytes,
    _ wanted: [RecipeKey: Recipe]
  ) async throws(Failure) {
    if let made {
      result.take(made, wanted: wanted)
    } else {
      try await lookUp(wanted, into: &result)  // of what has settled while we waited
    }
    let shared = result.staged.count
    try await decode(bytes, wanted, isMeasured: made != nil, into: &result)
    CrashSeam.variantsRendered.reached()
    do {
      try await worker.store.commit(Array(result.staged.dropFirst(shared)))
      CrashSeam.objectsDurable.reached()
    } catch {
      throw .stop(RunStop(error))
    }
  }

  /// - Parameter isMeasured: whether the original's size and placeholder are known, and its file is
  ///   there.
  private func decode(
    _ bytes: WalkResult.Bytes, _ wanted: [RecipeKey: Recipe], isMeasured: Bool,
    into result: inout RenderedOriginal
  ) async throws(Failure) {
    let missing = wanted.filter { result.variants[$0.key] == nil }.sorted {
      $0.key.key < $1.key.key
    }
    if case .received(let file) = bytes.arrival {
      defer { if isMeasured { file.discard() } }
      if !isMeasured {
        result.staged.append(
          StagedObject(file: file, digest: bytes.original.digest, bytes: bytes.original.bytes))
      }
      if !missing.isEmpty || !(isMeasured || result.isPoison) {
        try await decode(file.descriptor, missing, into: &result)
      }
    } else if !missing.isEmpty {
      // What is there in part would be taken for a picture of which nothing can be made.
      guard worker.store.contains(bytes.original.digest, bytes: bytes.original.bytes) else {
        throw .originalHasGone
      }
      do {
        let descriptor = try worker.store.open(bytes.original.digest)
        defer { withExtendedLifetime(descriptor) {} }  // the decoder reads from it until then
        try await decode(descriptor.descriptor, missing, into: &result)
      } catch StorageFailure.missing {
        throw .originalHasGone
      } catch let failure as StorageFailure {
        throw .stop(RunStop(failure))
      } catch let failure as Failure {
        throw failure
      } catch {
        throw .stop(RunStop(error))
      }
    }
  }

  /// Equal originals share their variants, whatever their URLs.
  private func lookUp(
    _ wanted: [RecipeKey: Recipe], into result: inout RenderedOriginal
  ) async throws(Failure) {
    do {
      for record in try await worker.ledger.variants(of: result.original.digest)
      where wanted[record.recipe] != nil {
        switch record.state {
        case .made(let variant):
          guard worker.store.contains(variant.digest, bytes: variant.bytes) else {
            result.hasLostFiles = true
            continue
          }
        case .failed:
          if retriesFailed { continue }
        }
        result.variants[record.recipe] = record
      }
    } catch {
      throw .stop(RunStop(error))
    }
  }

  /// - Parameter missing: may be empty: then only size and placeholder are found.
  private func decode(
    _ descriptor: Int32, _ missing: [(key: RecipeKey, value: Recipe)],
    into result: inout RenderedOriginal
  ) async throws(Failure) {
    do {
      let outputs = try missing.map { _ in try worker.store.temporaryFile() }
      let rendering = try await worker.decoders.render(
        RenderRequest(
          original: descriptor, limits: limits,
          variants: zip(missing, outputs).map {
            (recipe: $0.value, output: $1.descriptor)
          }))
      result.original.format = rendering.format
      result.original.width = rendering.width
      result.original.height = rendering.height
      result.original.placeholder = rendering.placeholder
      result.warnings = rendering.warnings
      result.original.warnings = rendering.warnings.prefix(Self.mostWarnings).map(\.shortLine)
      for (i, outcome) in rendering.variants.enumerated() {
        try await take(outcome, of: missing[i].key, from: outputs[i], into: &result)
      }
    } catch let failure as DecodeFailure {
      try remember(failure, for: missing.map(\.key), into: &result)
    } catch {
      throw .stop(RunStop(error))
    }
  }

  private func take(
    _ outcome: Result<RenderedVariant, DecodeFailure>, of recipe: RecipeKey,
    from file: TemporaryFile, into result: inout RenderedOriginal
  ) async throws(StorageFailure) {
    switch outcome {
    case .success(let variant):
      let (digest, bytes) = try await worker.store.digest(of: file.descriptor)
      result.staged.append(StagedObject(file: file, digest: digest, bytes: bytes))
      result.madeCount += 1
      result.add(
        recipe,
        .made(
          StoredVariant(
            digest: digest, bytes: bytes, format: variant.format, width: variant.width,
            height: variant.height, isCapped: variant.isCapped)))
    case .failure(let failure):
      file.discard()
      result.add(recipe, failure)
    }
  }

  private func remember(
    _ failure: DecodeFailure, for recipes: [RecipeKey], into result: inout RenderedOriginal
  ) throws(Failure) {
    if failure.disposition == .stopRun || failure.cause == .cancelled {
      throw .stop(RunStop(failure))
    }
    if failure.cause == .notAnImage { throw .notAnImage(FailureRecord(failure)) }
    for recipe in recipes { result.add(recipe, failure) }
    if recipes.isEmpty { result.passingFailure = FailureRecord(failure) }
  }
}

extension String {
  /// As much as fits a line of a report, without line breaks and other control characters.
  fileprivate var shortLine: String {
    String(
      unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : Character($0) }.prefix(200))
  }
}

extension WalkResult.Bytes {
  fileprivate var wereReceived: Bool { if case .received = arrival { true } else { false } }
}

extension RenderedOriginal {
  /// What another claim has made of the same original. It may not have settled yet: so all that the
  /// ledger has to know for it comes along.
  fileprivate mutating func take(_ made: RenderedOriginal, wanted: [RecipeKey: Recipe]) {
    original = made.original
    staged = made.staged
    new = made.new
    for (recipe, record) in made.variants where wanted[recipe] != nil { variants[recipe] = record }
  }

  /// What a decoder could not do with these bytes it will not do tomorrow either: that is remembered
  /// with the original's digest, until the bytes change. What was no fault of the bytes is not.
  fileprivate mutating func add(_ recipe: RecipeKey, _ failure: DecodeFailure) {
    guard failure.disposition == .giveUp else {
      passingFailure = FailureRecord(failure)
      return
    }
    add(recipe, .failed(FailureRecord(failure)))
  }

  /// Whether it is known that nothing can be made of the bytes.
  fileprivate var isPoison: Bool {
    let codes = variants.values.map { record -> String? in
      if case .failed(let failure) = record.state { failure.code } else { nil }
    }
    return !codes.isEmpty
      && codes.allSatisfy { $0.map(DecodeFailure.codesOfOriginals.contains) ?? false }
  }

  fileprivate mutating func add(_ recipe: RecipeKey, _ state: VariantRecord.State) {
    let record = VariantRecord(original: original.digest, recipe: recipe, state: state)
    variants[recipe] = record
    new.append(record)
  }
}
