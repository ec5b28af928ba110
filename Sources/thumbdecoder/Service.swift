import DecoderWire
import Glibc
import Imaging
import Vocabulary

/// Answers one conversation after the other until the worker is gone.
struct Service {
  let socket: PacketSocket
  /// In bytes, before the first image.
  let addressSpace: Int

  func run() -> Never {
    do {
      try send(.ready(addressSpace: addressSpace))
      while true { try converse() }
    } catch let broken as PacketSocket.Broken where broken.errorNumber == 0 {
      exit(0)
    } catch {
      StandardError.say("the worker cannot be understood: \(error)")
      exit(1)
    }
  }

  private func send(_ message: DecoderMessage) throws(PacketSocket.Broken) {
    try socket.send(message.packet)
  }

  private func converse() throws {
    let (packet, descriptor) = try socket.receive()
    guard let descriptor, case .image(let order) = try WorkerMessage(packet: packet) else {
      throw MalformedPacket()
    }
    defer { close(descriptor) }
    var recipes: [Recipe] = []
    for _ in 0..<order.outputs { recipes.append(try receiveRecipe(of: order)) }
    try answer(order, original: descriptor, recipes)
    ProcessUse.returnFreeMemory()
  }

  private func receiveRecipe(of image: ImageOrder) throws -> Recipe {
    let (packet, _) = try socket.receive()
    guard case .output(let order) = try WorkerMessage(packet: packet),
      order.number == image.number, let recipe = Recipe(canonicalText: order.recipe)
    else { throw MalformedPacket() }
    return recipe
  }

  private func answer(_ order: ImageOrder, original: Int32, _ recipes: [Recipe]) throws {
    let conversation = Conversation(socket: socket, number: order.number)
    let rendering = Rendering(
      recipes: recipes,
      limits: ImagingLimits(
        maxPixels: order.maxPixels, maxFrames: order.maxFrames, maxMemory: order.maxMemory,
        formats: order.formats),
      admit: conversation.admit, opened: conversation.opened, seen: conversation.seen,
      finished: conversation.finished)
    let warnings: [String]
    do throws(ImagingFailure) {
      warnings = try MappedFile(descriptor: original).withBytes { bytes throws(ImagingFailure) in
        try rendering.run(bytes)
      }
    } catch {
      return try send(.failed(number: order.number, Fault(error)))
    }
    try send(
      .finished(
        number: order.number, warnings: warnings, heldBytes: ProcessUse.heldBytes,
        processorMilliseconds: ProcessUse.processorMilliseconds))
  }
}

/// What is said while an image is rendered. A worker that is gone is noticed by the next `receive`.
private struct Conversation {
  let socket: PacketSocket
  let number: UInt32

  func admit(_ need: ImagingNeed) {
    send(.needs(number: number, MemoryNeed(decoding: need.decoding, output: need.output)))
    wait(for: .granted(number: number))
  }

  /// Nothing else is said meanwhile: a worker that says another thing, or is gone, needs no answer.
  private func wait(for answer: WorkerMessage) {
    guard let (packet, _) = try? socket.receive(), (try? WorkerMessage(packet: packet)) == answer
    else { exit(1) }
  }

  func opened(_ picture: OpenedPicture) {
    send(
      .opened(
        OpenedImage(
          number: number, format: picture.format, width: picture.size.width,
          height: picture.size.height, frames: picture.frames)))
  }

  func seen(_ placeholder: Placeholder) { send(.seen(number: number, placeholder)) }

  func finished(_ index: Int, _ result: Result<EncodedVariant, ImagingFailure>) {
    send(written(index, result))
    // What is written before the room is free again would be thrown away with what was there.
    wait(for: .taken(number: number))
  }

  private func written(
    _ index: Int, _ result: Result<EncodedVariant, ImagingFailure>
  ) -> DecoderMessage {
    switch result {
    case .failure(let failure):
      return .missed(number: number, index: index, Fault(failure))
    case .success(let variant):
      if let reason = write(variant.bytes, to: Wire.outputDescriptor) {
        return .missed(number: number, index: index, Fault(.unwritable, reason))
      }
      return .made(
        MadeOutput(
          number: number, index: index, format: variant.format, width: variant.size.width,
          height: variant.size.height, isCapped: variant.isCapped, bytes: variant.bytes.count))
    }
  }

  private func send(_ message: DecoderMessage) { try? socket.send(message.packet) }

  /// - Returns: why it failed, in the system's words; nil when all is written.
  private func write(_ bytes: [UInt8], to descriptor: Int32) -> String? {
    guard lseek(descriptor, 0, SEEK_SET) == 0 else { return String(cString: strerror(errno)) }
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        return String(cString: strerror(errno))
      }
    }
    return nil
  }
}

extension Fault {
  init(_ failure: ImagingFailure) {
    let kind: Kind =
      switch failure.kind {
      case .notAnImage: .notAnImage
      case .unsupportedFormat: .unsupportedFormat
      case .corrupt: .corrupt
      case .truncated: .truncated
      case .tooManyPixels: .tooManyPixels
      case .memory: .memory
      case .unsupportedSetting: .unsupportedSetting
      case .overBudget: .overBudget
      }
    self.init(kind, failure.message)
  }
}
