import Glibc
import TestSupport
import Testing
import Vocabulary

@testable import DecoderWire

@Suite struct `A packet` {
  static let fromWorker: [WorkerMessage] = [
    .image(
      ImageOrder(
        number: 7, outputs: 3, maxPixels: 100_000_000, maxFrames: 512, maxMemory: 1 << 30,
        formats: ImageFormat.allowedByDefault)),
    .output(OutputOrder(number: 7, recipe: "p1;w=200;h=-")), .granted(number: 7),
    .taken(number: 8),
  ]

  static let fromDecoder: [DecoderMessage] = [
    .hello(
      DecoderGreeting(
        processing: 7, libvips: "8.14.1", reads: [.jpeg, .bmp],
        encoders: EncoderVersions([.jpeg: "vips-8.14.1+jpeg-62.3.0", .gif: "vips-8.14.1"]))),
    .needs(number: 3, MemoryNeed(decoding: 1 << 30, output: 5)),
    .ready(addressSpace: 7), .unfit(reason: "no filter"),
    .opened(OpenedImage(number: 1, format: .heic, width: 4032, height: 3024, frames: 1)),
    .seen(number: 2, Placeholder(color: .white, thumbHash: [1, 2, 3, 4, 5])),
    .made(
      MadeOutput(
        number: 1, index: 2, format: .webp, width: 9, height: 8, isCapped: true, bytes: 12_345)),
    .missed(number: 1, index: 0, Fault(.overBudget, "grün")),
    .failed(number: .max, Fault(.notAnImage, "")),
    .finished(number: 3, warnings: ["a", "b"], heldBytes: 5, processorMilliseconds: 6),
  ]

  @Test(arguments: fromWorker)
  func `brings the worker's message over`(_ message: WorkerMessage) throws {
    #expect(try WorkerMessage(packet: message.packet[...]) == message)
  }

  @Test(arguments: fromDecoder)
  func `brings the decoder's message over`(_ message: DecoderMessage) throws {
    #expect(try DecoderMessage(packet: message.packet[...]) == message)
  }

  @Test func `is refused when it is cut, longer, or of another version`() {
    for packet in Self.fromDecoder.map(\.packet) {
      for length in 0..<packet.count {
        #expect(throws: MalformedPacket.self) {
          try DecoderMessage(packet: packet.prefix(length))
        }
      }
      #expect(throws: MalformedPacket.self) { try DecoderMessage(packet: (packet + [0])[...]) }
      var other = packet
      other[0] += 1
      #expect(throws: MalformedPacket.self) { try DecoderMessage(packet: other[...]) }
    }
  }

  @Test func `never brings a number that is out of bounds`() {
    var made = PacketWriter()
    made.put(UInt8(4))
    made.put(UInt32(1))
    made.put(count: Wire.maxOutputs)
    made.put(ImageFormat.jpeg)
    for _ in 0..<2 { made.put(count: 1) }
    made.put(UInt8(0))
    made.put(count: 1)
    #expect(throws: MalformedPacket.self) { try DecoderMessage(packet: made.bytes[...]) }
    var negative = PacketWriter()
    negative.put(UInt8(3))
    negative.put(UInt32(1))
    negative.put(ImageFormat.jpeg)
    for _ in 0..<3 { negative.put(Int64(-1)) }
    #expect(throws: MalformedPacket.self) { try DecoderMessage(packet: negative.bytes[...]) }
    for length in [0, 4, 26, 255] {
      let long = DecoderMessage.seen(
        number: 1,
        Placeholder(color: .white, thumbHash: [UInt8](repeating: 0, count: length)))
      #expect(throws: MalformedPacket.self) { try DecoderMessage(packet: long.packet[...]) }
    }
  }

  @Test func `holds any text, cut at a character`() throws {
    let long = String(repeating: "ü", count: 5000)
    let message = DecoderMessage.unfit(reason: long)
    guard case .unfit(let reason) = try DecoderMessage(packet: message.packet[...]) else {
      Issue.record("another message")
      return
    }
    #expect(reason.utf8.count <= Wire.maxText)
    #expect(long.hasPrefix(reason) && reason.count > 400)
  }

  @Test func `is not how a variant reaches its file: what is written later does not`() throws {
    let room = try OutputRoom()
    let file = MemoryFile()
    #expect(room.descriptor > Wire.outputDescriptor)
    let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    #expect(write(room.descriptor, bytes, bytes.count) == bytes.count)
    #expect(room.count == bytes.count)
    try room.copy(bytes.count, to: file.descriptor)
    pwrite(room.descriptor, [1, 2, 3], 3, 0)
    #expect(file.bytes == bytes)
    #expect(throws: OutputRoom.Failure(errorNumber: EPIPE)) {
      try room.copy(bytes.count + 1, to: file.descriptor)
    }
    room.empty()
    #expect(room.count == 0)
    withExtendedLifetime(file) {}
    #expect(fcntl(room.descriptor, F_GETFD) & FD_CLOEXEC != 0)
  }

  @Test func `crosses a socket with its descriptor`() throws {
    var pair: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &pair) == 0)
    let (ours, theirs) = (PacketSocket(descriptor: pair[0]), PacketSocket(descriptor: pair[1]))
    try ours.send([1, 2, 3], descriptor: 0)
    let (packet, descriptor) = try theirs.receive()
    #expect(Array(packet) == [1, 2, 3])
    let passed = try #require(descriptor)
    #expect(fcntl(passed, F_GETFD) & FD_CLOEXEC != 0)
    close(passed)
    close(pair[0])
    #expect(throws: PacketSocket.Broken(errorNumber: 0)) { try theirs.receive() }
    close(pair[1])
  }
}
