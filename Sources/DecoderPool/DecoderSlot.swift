import DecoderWire
import Glibc
import Vocabulary

/// One thread's place for a decoder: keeps one alive, replaces it, and blames it for what it had.
final class DecoderSlot {
  private let launch: DecoderLaunch
  private let room: MemoryRoom
  private let kin: DecoderKin
  private var decoder: DecoderProcess?
  private var use = DecoderUse()

  /// Bytes of address space that a decoder may hold on to between images: stacks of threads that are
  /// kept, and little else.
  private static let mostGrowth = 32 << 20

  /// Tries in a row before no decoder is held to be possible.
  private static let starts = 3

  /// - Parameters:
  ///   - room: what all slots share.
  ///   - kin: likewise.
  init(launch: DecoderLaunch, room: MemoryRoom, kin: DecoderKin) {
    self.launch = launch
    self.room = room
    self.kin = kin
  }

  func end() {
    _ = decoder?.end()
    decoder = nil
  }

  /// Blocks until a decoder has said what it is, which is long before it is ready.
  func greeting() -> Result<DecoderGreeting, DecodeFailure> {
    Result { () throws(DecodeFailure) in try greetedDecoder().greeting }
  }

  /// Blocks until a decoder is confined.
  func prove() -> Result<Void, DecodeFailure> {
    Result { () throws(DecodeFailure) in _ = try livingDecoder() }
  }

  /// Blocks until the request is done.
  func serve(_ request: RenderRequest) -> Result<Rendering, DecodeFailure> {
    do throws(DecodeFailure) {
      let original = try ReadOnlyOriginal(request.original)
      defer { original.close() }
      return .success(try render(request, original.descriptor))
    } catch {
      return .failure(error)
    }
  }

  /// A conversation has room for so many outputs: a request with more takes several.
  private func render(
    _ request: RenderRequest, _ original: Int32
  ) throws(DecodeFailure) -> Rendering {
    var whole: Rendering?
    var rest = request.variants[...]
    repeat {
      var part = request
      part.variants = Array(rest.prefix(Wire.maxOutputs))
      rest = rest.dropFirst(Wire.maxOutputs)
      let rendering = try converse(part, original)
      whole?.variants += rendering.variants
      whole = whole ?? rendering
    } while !rest.isEmpty
    return whole!
  }

  private func converse(
    _ request: RenderRequest, _ original: Int32
  ) throws(DecodeFailure) -> Rendering {
    var (rendering, couldHaveMore) = try converse(request, original, takesAll: false)
    let short = rendering.variants.indices.filter { rendering.variants[$0].lacksMemory }
    guard couldHaveMore, !short.isEmpty else { return rendering }
    // Those once more, with all memory to themselves.
    var again = request
    again.variants = short.map { request.variants[$0] }
    if let (second, _) = try? converse(again, original, takesAll: true) {
      for (place, variant) in zip(short, second.variants) { rendering.variants[place] = variant }
    }
    return rendering
  }

  /// - Returns: also whether there was more memory than it had.
  private func converse(
    _ request: RenderRequest, _ original: Int32, takesAll: Bool
  ) throws(DecodeFailure) -> (Rendering, couldHaveMore: Bool) {
    var mayTryAgain = true
    var takesAll = takesAll
    while true {
      let decoder = try livingDecoder()
      var conversation = Conversation(
        number: UInt32(use.images), request: request, room: room, takesAll: takesAll)
      use.images += 1
      defer { conversation.giveMemoryBack() }
      do throws(Conversation.End) {
        try conversation.run(with: decoder, original: original)
      } catch {
        let failure = failure(of: error, request, memory: conversation.memory)
        // It was dead already, or was killed before it looked: that was not the image's doing.
        let isInnocent = failure.cause == .decoderKilled && !conversation.isOpened
        guard mayTryAgain && isInnocent || mayTakeAll(after: failure, conversation) else {
          throw failure
        }
        try request.emptyOutputs()
        mayTryAgain = mayTryAgain && !isInnocent
        takesAll = !isInnocent
        continue
      }
      if let spent = conversation.spent {
        use.note(
          heldBytes: spent.heldBytes, processorMilliseconds: spent.processorMilliseconds)
      }
      if use.isWornOut || decoder.growth > Self.mostGrowth { end() }
      do throws(DecodeFailure) {
        return (try conversation.result(), conversation.couldHaveMore)
      } catch {
        guard mayTakeAll(after: error, conversation) else { throw error }
        try request.emptyOutputs()
        takesAll = true
      }
    }
  }

  /// An estimate may be too low: such a picture is tried once more, with all memory to itself.
  private func mayTakeAll(after failure: DecodeFailure, _ conversation: Conversation) -> Bool {
    failure.cause == .decoderMemory && conversation.couldHaveMore
  }

  private func livingDecoder() throws(DecodeFailure) -> DecoderProcess {
    try insisting { slot throws(DecodeFailure) in
      let decoder = try slot.greetedDecoderOnce()
      do throws(DecodeFailure) {
        try decoder.becomeReady()
      } catch {
        slot.decoder = nil  // it has been ended
        throw error
      }
      return decoder
    }
  }

  private func greetedDecoder() throws(DecodeFailure) -> DecoderProcess {
    try insisting { slot throws(DecodeFailure) in try slot.greetedDecoderOnce() }
  }

  private func insisting(
    _ start: (DecoderSlot) throws(DecodeFailure) -> DecoderProcess
  ) throws(DecodeFailure) -> DecoderProcess {
    for _ in 1..<Self.starts {
      // The last try's failure is the one to tell.
      if let decoder = try? start(self) { return decoder }
    }
    return try start(self)
  }

  private func greetedDecoderOnce() throws(DecodeFailure) -> DecoderProcess {
    if let decoder, decoder.isAlive { return decoder }
    end()
    use = DecoderUse()
    let new = try DecoderProcess(launch)
    do throws(DecodeFailure) {
      try kin.admit(new.greeting)
    } catch {
      _ = new.end()
      throw error
    }
    decoder = new
    return new
  }

  // MARK: Blame

  private func failure(
    of end: Conversation.End, _ request: RenderRequest, memory: Int
  ) -> DecodeFailure {
    defer { decoder = nil }
    switch end {
    case .deadline:
      _ = decoder?.end()
      return DecodeFailure(
        .decoderTimeout,
        "decoding took longer than \(DurationText.format(request.limits.decodeTimeout))")
    case .lie(let what):
      _ = decoder?.end()
      return DecodeFailure(.decoderMisbehaved, "the decoder's answer is wrong: \(what)")
    case .death:
      // Its socket closes a moment before it can be reaped.
      return failure(of: decoder!.end(grace: .seconds(1)), memory: memory)
    }
  }

  /// - Parameter memory: what was set aside for the image.
  private func failure(of death: DecoderProcess.Death, memory: Int) -> DecodeFailure {
    let said = death.said.isEmpty ? "" : "; it said: \(death.said)"
    if death.wasKilledByUs {
      return DecodeFailure(.decoderCrashed, "the decoder fell silent\(said)")
    }
    if death.isForMemory {
      return DecodeFailure(
        .decoderMemory,
        "decoding needs more than the \(ByteSizeText.format(memory)) that were set aside for it\(said)"
      )
    }
    if death.signal == 0 {
      return DecodeFailure(
        .decoderCrashed, "the decoder ended with status \(death.exitCode)\(said)")
    }
    let fromOutside = [SIGKILL, SIGTERM, SIGINT, SIGHUP].contains(death.signal)
    return DecodeFailure(
      fromOutside ? .decoderKilled : .decoderCrashed,
      "the decoder was ended by signal \(death.signal) (\(String(cString: strsignal(death.signal))))"
        + said)
  }
}

extension DecoderProcess.Death {
  /// Whether it gave up for want of memory: by GLib's way, or by those of Swift, Rust and C++, which abort
  /// and leave nothing but words.
  fileprivate var isForMemory: Bool {
    if signal == 0 { return exitCode == Wire.exitOutOfMemory }
    let words = ["failed to allocate", "memory allocation of", "std::bad_alloc"]
    return signal == SIGABRT && words.contains(where: said.contains)
  }
}

/// The original's file, by a descriptor that cannot write to it: a decoder that was taken over must
/// not change what is stored.
private struct ReadOnlyOriginal {
  let descriptor: Int32
  private let isOwned: Bool

  init(_ borrowed: Int32) throws(DecodeFailure) {
    let flags = fcntl(borrowed, F_GETFL)
    isOwned = flags & O_ACCMODE != O_RDONLY
    descriptor = isOwned ? open("/proc/self/fd/\(borrowed)", O_RDONLY | O_CLOEXEC) : borrowed
    guard flags >= 0, descriptor >= 0 else {
      throw DecodeFailure(
        .originalUnreadable, "the original cannot be read: \(String(cString: strerror(errno)))")
    }
  }

  func close() { if isOwned { Glibc.close(descriptor) } }
}

extension RenderRequest {
  /// Of variants that were made before another took the decoder with it.
  fileprivate func emptyOutputs() throws(DecodeFailure) {
    for (_, output) in variants {
      guard ftruncate(output, 0) == 0, lseek(output, 0, SEEK_SET) == 0 else {
        throw DecodeFailure(
          .outputUnwritable,
          "a variant's file cannot be emptied: \(String(cString: strerror(errno)))")
      }
    }
  }
}

extension Result<RenderedVariant, DecodeFailure> {
  fileprivate var lacksMemory: Bool {
    if case .failure(let failure) = self { failure.cause == .decoderMemory } else { false }
  }
}
