import Vocabulary

extension DecoderMessage {
  package var packet: [UInt8] {
    var writer = PacketWriter()
    switch self {
    case .ready(let addressSpace):
      writer.put(UInt8(1))
      writer.put(count: addressSpace)
    case .unfit(let reason):
      writer.put(UInt8(2))
      writer.put(reason)
    case .opened(let image):
      writer.put(UInt8(3))
      writer.put(image.number)
      writer.put(image.format)
      writer.put(count: image.width)
      writer.put(count: image.height)
      writer.put(count: image.frames)
    case .made(let output):
      writer.put(UInt8(4))
      writer.put(output.number)
      writer.put(count: output.index)
      writer.put(output.format)
      writer.put(count: output.width)
      writer.put(count: output.height)
      writer.put(UInt8(output.isCapped ? 1 : 0))
      writer.put(count: output.bytes)
    case .missed(let number, let index, let fault):
      writer.put(UInt8(5))
      writer.put(number)
      writer.put(count: index)
      writer.put(fault)
    case .failed(let number, let fault):
      writer.put(UInt8(6))
      writer.put(number)
      writer.put(fault)
    case .finished(let number, let warnings, let heldBytes, let processorMilliseconds):
      writer.put(UInt8(7))
      writer.put(number)
      writer.put(count: heldBytes)
      writer.put(count: processorMilliseconds)
      writer.put(UInt8(min(warnings.count, Wire.maxWarnings)))
      for warning in warnings.prefix(Wire.maxWarnings) { writer.put(warning) }
    case .seen(let number, let placeholder):
      writer.put(UInt8(8))
      writer.put(number)
      writer.put(placeholder)
    case .needs(let number, let need):
      writer.put(UInt8(9))
      writer.put(number)
      writer.put(count: need.decoding)
      writer.put(count: need.output)
    case .hello(let greeting):
      writer.put(UInt8(10))
      writer.put(greeting)
    }
    return writer.bytes
  }

  package init(packet: ArraySlice<UInt8>) throws(MalformedPacket) {
    var reader = try PacketReader(packet)
    switch try reader.get(UInt8.self) {
    case 1: self = .ready(addressSpace: try reader.count())
    case 2: self = .unfit(reason: try reader.text())
    case 3:
      self = .opened(
        OpenedImage(
          number: try reader.get(UInt32.self), format: try reader.format(),
          width: try reader.count(), height: try reader.count(), frames: try reader.count()))
    case 4:
      self = .made(
        MadeOutput(
          number: try reader.get(UInt32.self), index: try reader.count(upTo: Wire.maxOutputs - 1),
          format: try reader.format(), width: try reader.count(), height: try reader.count(),
          isCapped: try reader.get(UInt8.self) != 0, bytes: try reader.count()))
    case 5:
      self = .missed(
        number: try reader.get(UInt32.self), index: try reader.count(upTo: Wire.maxOutputs - 1),
        try reader.fault())
    case 6: self = .failed(number: try reader.get(UInt32.self), try reader.fault())
    case 7: self = try Self.finished(&reader)
    case 8: self = .seen(number: try reader.get(UInt32.self), try reader.placeholder())
    case 9:
      self = .needs(
        number: try reader.get(UInt32.self),
        MemoryNeed(decoding: try reader.count(), output: try reader.count()))
    case 10: self = .hello(try reader.greeting())
    default: throw MalformedPacket()
    }
    try reader.finish()
  }

  private static func finished(_ reader: inout PacketReader) throws(MalformedPacket) -> Self {
    let number = try reader.get(UInt32.self)
    let heldBytes = try reader.count()
    let processorMilliseconds = try reader.count()
    var warnings: [String] = []
    for _ in 0..<(try reader.get(UInt8.self)) { warnings.append(try reader.text()) }
    guard warnings.count <= Wire.maxWarnings else { throw MalformedPacket() }
    return .finished(
      number: number, warnings: warnings, heldBytes: heldBytes,
      processorMilliseconds: processorMilliseconds)
  }
}
