import DecoderWire
import Glibc
import Vocabulary

/// One image's exchange with one decoder, every answer checked.
struct Conversation {
  /// Why it ended before its end.
  enum End: Error {
    case deadline
    case death
    /// An answer that no decoder of ours gives.
    case lie(String)
  }

  /// What the decoder says of itself; only used to decide when to replace it.
  struct Spent {
    var heldBytes: Int
    var processorMilliseconds: Int
  }

  private let number: UInt32
  private let request: RenderRequest
  private let memory: Int
  /// Where the decoder writes each variant, before the variant's file has it.
  private let rooms: [OutputRoom]
  private var opened: OpenedImage?
  private var placeholder: Placeholder?
  private var variants: [Result<RenderedVariant, DecodeFailure>?]
  private var warnings: [String] = []
  private var failure: DecodeFailure?
  private(set) var spent: Spent?

  init(number: UInt32, request: RenderRequest, memory: Int) throws(DecodeFailure) {
    self.number = number
    self.request = request
    self.memory = memory
    variants = Array(repeating: nil, count: request.variants.count)
    do throws(OutputRoom.Failure) {
      rooms = try request.variants.map { _ throws(OutputRoom.Failure) in try OutputRoom() }
    } catch {
      throw DecodeFailure(
        .outputUnwritable, "no memory for variants: \(String(cString: strerror(error.errorNumber)))"
      )
    }
  }

  /// Blocks until the decoder has answered, is dead or late.
  mutating func run(with decoder: DecoderProcess, original: Int32) throws(End) {
    let deadline = ContinuousClock.now + request.limits.decodeTimeout
    try End.ofSilence { () throws(DecoderProcess.Silence) in try ask(decoder, original) }
    var isOver = false
    while !isOver {
      let message = try End.ofSilence { () throws(DecoderProcess.Silence) in
        try decoder.receive(until: deadline)
      }
      isOver = try take(message)
    }
  }

  /// Whether the decoder has read the image's header.
  var isOpened: Bool { opened != nil }

  /// For the caller, once `run` has returned.
  func result() throws(DecodeFailure) -> Rendering {
    if let failure { throw failure }
    let opened = opened!
    return Rendering(
      format: opened.format, width: opened.width, height: opened.height, frames: opened.frames,
      placeholder: placeholder!, warnings: warnings, variants: variants.map { $0! })
  }

  private func ask(_ decoder: DecoderProcess, _ original: Int32) throws(DecoderProcess.Silence) {
    let limits = request.limits
    try decoder.send(
      .image(
        ImageOrder(
          number: number, outputs: request.variants.count, maxPixels: limits.maxPixels,
          maxFrames: limits.maxFrames, maxMemory: memory, formats: limits.formats)),
      descriptor: original)
    for ((recipe, _), room) in zip(request.variants, rooms) {
      try decoder.send(
        .output(OutputOrder(number: number, recipe: recipe.canonicalText)),
        descriptor: room.descriptor)
    }
  }

  // MARK: Answers

  /// - Returns: whether it was the last.
  private mutating func take(_ message: DecoderMessage) throws(End) -> Bool {
    switch message {
    case .opened(let image):
      try check(image)
      opened = image
      return false
    case .seen(let number, let placeholder):
      guard number == self.number, opened != nil, self.placeholder == nil else {
        throw .lie("a placeholder out of turn")
      }
      self.placeholder = placeholder
      return false
    case .made(let output):
      try check(output)
      variants[output.index] = kept(output)
      return false
    case .missed(let number, let index, let fault):
      try checkTurn(number, index)
      variants[index] = .failure(DecodeFailure(fault))
      return false
    case .failed(let number, let fault):
      guard number == self.number else { throw .lie("it speaks of another image") }
      failure = DecodeFailure(fault)
      return true
    case .finished(let number, let warnings, let heldBytes, let processorMilliseconds):
      guard number == self.number, opened != nil, placeholder != nil,
        variants.allSatisfy({ $0 != nil })
      else {
        throw .lie("it finished early")
      }
      self.warnings = warnings.map(\.printable)
      spent = Spent(heldBytes: heldBytes, processorMilliseconds: processorMilliseconds)
      return true
    case .ready, .unfit: throw .lie("it spoke out of turn")
    }
  }

  private func check(_ image: OpenedImage) throws(End) {
    let limits = request.limits
    let pixels = image.width.multipliedReportingOverflow(by: image.height)
    // Told again, with the same values, where a file is read anew.
    guard image.number == number, opened == nil || opened == image, image.width > 0,
      image.height > 0,
      !pixels.overflow, pixels.partialValue <= limits.maxPixels, image.frames > 0,
      limits.formats.contains(image.format)
    else { throw .lie("an original that the limits do not allow") }
  }

  private func checkTurn(_ number: UInt32, _ index: Int) throws(End) {
    guard number == self.number, opened != nil, variants.indices.contains(index),
      variants[index] == nil
    else { throw .lie("a variant that was not asked for") }
  }

  /// What it says of a file must be true of the file.
  private func check(_ output: MadeOutput) throws(End) {
    try checkTurn(output.number, output.index)
    let recipe = request.variants[output.index].recipe
    let formats = recipe.format.imageFormat.map { [$0] } ?? [.jpeg, .webp]
    guard formats.contains(output.format), (1...output.format.maxSide).contains(output.width),
      (1...output.format.maxSide).contains(output.height)
    else { throw .lie("a variant that is not what was asked for") }
    let written = rooms[output.index].count
    guard output.bytes > 0, written == output.bytes else {
      throw .lie("a variant of \(output.bytes) bytes in a file of \(written)")
    }
  }

  /// Takes a variant from where the decoder wrote it to its file.
  private func kept(_ output: MadeOutput) -> Result<RenderedVariant, DecodeFailure> {
    do throws(OutputRoom.Failure) {
      try rooms[output.index].copy(output.bytes, to: request.variants[output.index].output)
    } catch {
      let isFull = [ENOSPC, EDQUOT].contains(error.errorNumber)
      return .failure(
        DecodeFailure(
          isFull ? .diskFull : .outputUnwritable,
          "the variant cannot be written: \(String(cString: strerror(error.errorNumber)))"))
    }
    return .success(
      RenderedVariant(
        format: output.format, width: output.width, height: output.height,
        isCapped: output.isCapped, bytes: output.bytes))
  }
}

extension Conversation.End {
  fileprivate static func ofSilence<Result>(
    _ body: () throws(DecoderProcess.Silence) -> Result
  ) throws(Conversation.End) -> Result {
    do throws(DecoderProcess.Silence) {
      return try body()
    } catch {
      switch error {
      case .deadline: throw .deadline
      case .gone: throw .death
      case .malformed: throw .lie("a malformed packet")
      }
    }
  }
}
