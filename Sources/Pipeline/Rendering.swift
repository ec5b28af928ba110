import DecoderPool
import Hashing
import LedgerCore
import Storage
import Vocabulary

/// Which variants of an original are there, and what had to be made for it.
struct RenderedOriginal: Sendable {
  /// With the format and size that the decoder told.
  var original: Original
  /// Everything wanted, by recipe.
  var variants: [RecipeKey: VariantRecord] = [:]
  /// Those of `variants` that are new to the ledger.
  var new: [VariantRecord] = []
  /// Files that are to be committed before the ledger may name them.
  var staged: [StagedObject] = []
  var warnings: [String] = []
  /// Why something could not be made that another try may make: no fault of the bytes.
  var passingFailure: FailureRecord?

  var madeCount: Int {
    new.count {
      if case .made = $0.state { true } else { false }
    }
  }
}

/// Makes the variants that are missing, all of one original from one decode.
struct Rendering {
  let worker: Worker
  let limits: LimitSettings
  let retriesFailed: Bool

  enum Failure: Error {
    /// The bytes are no image: nothing of them is kept.
    case notAnImage(FailureRecord)
    case stop(RunStop)
  }

  /// - Parameter wanted: the recipes that the items ask for, each once.
  func render(
    _ bytes: WalkResult.Bytes, wanted: [RecipeKey: Recipe]
  ) async throws(Failure) -> RenderedOriginal {
    var result = RenderedOriginal(original: bytes.original)
    try await lookUp(wanted, into: &result)
    let missing = wanted.filter { result.variants[$0.key] == nil }.sorted {
      $0.key.key < $1.key.key
    }
    if case .received(let file) = bytes.arrival {
      result.staged.append(
        StagedObject(file: file, digest: bytes.original.digest, bytes: bytes.original.bytes))
      try await decode(file.descriptor, missing, into: &result)
    } else if !missing.isEmpty {
      do {
        let descriptor = try worker.store.open(bytes.original.digest)
        defer { withExtendedLifetime(descriptor) {} }  // the decoder reads from it until then
        try await decode(descriptor.descriptor, missing, into: &result)
      } catch let failure as StorageFailure {
        throw .stop(RunStop(failure))
      } catch let failure as Failure {
        throw failure
      } catch {
        throw .stop(RunStop(error))
      }
    }
    return result
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
          guard worker.store.contains(variant.digest, bytes: variant.bytes) else { continue }
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

extension RenderedOriginal {
  /// What a decoder could not do with these bytes it will not do tomorrow either: that is remembered
  /// with the original's digest, until the bytes change. What was no fault of the bytes is not.
  fileprivate mutating func add(_ recipe: RecipeKey, _ failure: DecodeFailure) {
    guard failure.disposition == .giveUp else {
      passingFailure = FailureRecord(failure)
      return
    }
    add(recipe, .failed(FailureRecord(failure)))
  }

  fileprivate mutating func add(_ recipe: RecipeKey, _ state: VariantRecord.State) {
    let record = VariantRecord(original: original.digest, recipe: recipe, state: state)
    variants[recipe] = record
    new.append(record)
  }
}
