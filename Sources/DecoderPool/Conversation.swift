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
  private let room: MemoryRoom
  private let takesAll: Bool
  /// What is set aside for the image, in bytes.
  private(set) var memory = 0
  private var deadline: ContinuousClock.Instant
  private var opened: OpenedImage?
  private var placeholder: Placeholder?
  private var variants: [Result<RenderedVariant, DecodeFailure>?]
  private var warnings: [String] = []
  private var failure: DecodeFailure?
  private(set) var spent: Spent?

  /// - Parameter takesAll: whether the image is to have all memory of the room, whatever it needs.
  init(number: UInt32, request: RenderRequest, room: MemoryRoom, takesAll: Bool) {
    self.takesAll = takesAll
    self.number = number
    self.request = request
    self.room = room
    deadline = .now + request.limits.decodeTimeout
    variants = Array(repeating: nil, count: request.variants.count)
  }

  /// Blocks until the decoder has answered, is dead or late.
  mutating func run(with decoder: DecoderProcess, original: Int32) throws(End) {
    try End.ofSilence { () throws(DecoderProcess.Silence) in try ask(decoder, original) }
    var isOver = false
    while !isOver {
      let message = try End.ofSilence { [deadline] () throws(DecoderProcess.Silence) in
        try decoder.receive(until: deadline)
      }
      isOver = try take(message, from: decoder)
    }
  }

  /// Comes last, however the conversation ended.
  mutating func giveMemoryBack() {
    if memory > 0 { room.giveBack(memory) }
    memory = 0
  }

  /// Whether the decoder has read the image's header.
  var isOpened: Bool { opened != nil }

  /// Whether it had less than there is.
  var couldHaveMore: Bool { memory > 0 && memory < room.size }

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
    try decoder.limit(memory: Self.headerMemory(of: original), output: 0)
    try decoder.send(
      .image(
        ImageOrder(
          number: number, outputs: request.variants.count, maxPixels: limits.maxPixels,
          maxFrames: limits.maxFrames, maxMemory: room.size, formats: limits.formats)),
      descriptor: original)
    for (recipe, _) in request.variants {
      try decoder.send(.output(OutputOrder(number: number, recipe: recipe.canonicalText)))
    }
  }

  /// For reading a header: the file itself is mapped, and may be copied once.
  private static func headerMemory(of original: Int32) -> Int {
    var status = stat()
    let bytes = fstat(original, &status) == 0 ? Int(status.st_size) : 0
    return MemoryShares.headerMemory + 2 * bytes
  }

  /// Waits for the memory that the image needs. That is no time of the decoder's.
  private mutating func admit(
    _ need: MemoryNeed, _ decoder: DecoderProcess
  ) throws(End) {
    let (bytes, overflow) = need.decoding.addingReportingOverflow(need.output)
    guard memory == 0, !overflow, bytes > 0, bytes <= room.size else {
      throw .lie("a need that cannot be met")
    }
    memory = takesAll ? room.size : bytes
    room.take(memory)
    try End.ofSilence { [number, memory] () throws(DecoderProcess.Silence) in
      try decoder.limit(
        memory: memory - need.output, output: need.output)
      try decoder.send(.granted(number: number))
    }
    deadline = .now + request.limits.decodeTimeout
  }

  // MARK: Answers

  /// - Returns: whether it was the last.
  private mutating func take(
    _ message: DecoderMessage, from decoder: DecoderProcess
  ) throws(End) -> Bool {
    switch message {
    case .needs(let number, let need):
      guard number == self.number else { throw .lie("it speaks of another image") }
      try admit(need, decoder)
      return false
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
      try check(output, in: decoder.room)
      variants[output.index] = kept(output, from: decoder.room)
      try freeRoom(of: decoder)
      return false
    case .missed(let number, let index, let fault):
      try checkTurn(number, index)
      variants[index] = .failure(DecodeFailure(fault))
      try freeRoom(of: decoder)
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
    case .hello, .ready, .unfit: throw .lie("it spoke out of turn")
    }
  }

  /// The decoder waits for it after each variant, also where it has written only a part of one.
  private func freeRoom(of decoder: DecoderProcess) throws(End) {
    decoder.room.empty()
    try End.ofSilence { () throws(DecoderProcess.Silence) in
      try decoder.send(.taken(number: number))
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
  private func check(_ output: MadeOutput, in room: OutputRoom) throws(End) {
    try checkTurn(output.number, output.index)
    let recipe = request.variants[output.index].recipe
    let formats = recipe.format.imageFormat.map { [$0] } ?? [.jpeg, .webp]
    guard formats.contains(output.format), (1...output.format.maxSide).contains(output.width),
      (1...output.format.maxSide).contains(output.height)
    else { throw .lie("a variant that is not what was asked for") }
    let written = room.count
    guard output.bytes > 0, written == output.bytes else {
      throw .lie("a variant of \(output.bytes) bytes in a file of \(written)")
    }
  }

  /// Takes a variant from where the decoder wrote it to its file.
  private func kept(
    _ output: MadeOutput, from room: OutputRoom
  ) -> Result<RenderedVariant, DecodeFailure> {
    do throws(OutputRoom.Failure) {
      try room.copy(output.bytes, to: request.variants[output.index].output)
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
